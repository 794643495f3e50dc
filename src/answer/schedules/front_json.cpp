#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "answer/schedules/front.h"
#include "answer/schedules/solved_json.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::answer {
namespace {

/// JSON of one schedule, for the report and for the file.
Json point_json(const FrontSchedule& schedule, base::TimeUnit unit) {
  return {{"makespan", json_time(schedule.evaluation().makespan, unit)},
          {"peak_activation", json_memory(schedule.evaluation().peak_activation)},
          {"bounds", Json{{"makespan", json_time(schedule.makespan_bound, unit)},
                          {"peak_activation", json_memory(schedule.peak_bound)}}},
          {"optimal", Json{{"makespan", schedule.shortest()}, {"peak_activation", schedule.lowest()}}}};
}

/// Members that the report and the file share. The schedules come last.
Json front_json(std::string_view format, const FrontAnswer& front) {
  const base::TimeUnit unit = front.asked.named.problem.time_unit;
  const fuse::Solution& first = front.schedules.front().solved.solution;
  Json object{{"format", format},
              {"problem", front.asked.named.name},
              {"time_unit", base::name_of(unit)},
              {"solver", solver_json(first.solver)}};
  if (first.stopped_by) object["stopped_by"] = pipeline::name_of(*first.stopped_by);
  add_bounds(front.asked, object);
  object["peak_bound"] = Json::array();
  for (const fuse::PeakBoundStep& step : front.peak_bound)
    object["peak_bound"].push_back(
        {{"makespan", json_time(step.makespan, unit)}, {"peak_activation", json_memory(step.peak)}});
  object["constructions"] = Json::array();
  for (const ReferenceSchedule& reference : front.references) {
    object["constructions"].push_back({{"solver", reference.solver},
                                       {"makespan", json_time(reference.makespan, unit)},
                                       {"peak_activation", json_memory(reference.peak)},
                                       {"fits", reference.fits}});
  }
  return object;
}

}  // namespace

std::string to_json(const FrontAnswer& answer) {
  if (answer.impossible) return impossible_json(answer.asked, *answer.impossible);
  const pipeline::Problem& problem = answer.asked.named.problem;
  Json object = front_json("dovetail/pareto-report@1", answer);
  object["front"] = Json::array();
  for (const FrontSchedule& schedule : answer.schedules)
    object["front"].push_back(point_json(schedule, problem.time_unit));
  if (const auto& excess = answer.schedules.front().solved.excess; !excess.empty()) add_excess(problem, excess, object);
  object["written"] = answer.written;
  add_timing(answer.seconds, answer.iterations_per_second, object);
  return json_text(object);
}

std::string front_file(const FrontAnswer& answer) {
  const auto open_object = [](const Json& object) {
    std::string text = json_text(object, -1);
    text.pop_back();
    return text;
  };
  std::string text = open_object(front_json("dovetail/pareto@1", answer)) + ",\n\"front\": [";
  std::string_view separator = "\n";
  for (const FrontSchedule& schedule : answer.schedules) {
    text += fmt::format("{}{},\n\"schedule\": {}}}", std::exchange(separator, ",\n"),
                        open_object(point_json(schedule, answer.asked.named.problem.time_unit)),
                        pipeline::schedule_to_json(schedule.solved.schedule));
  }
  return text + "]}\n";
}

}  // namespace dovetail::answer
