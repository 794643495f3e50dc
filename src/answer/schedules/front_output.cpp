#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "answer/schedules/front.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/solved_json.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
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
  const base::TimeUnit unit = front.question.named.problem.time_unit;
  const fuse::Solution& first = front.schedules.front().solved.solution;
  Json object{{"format", format},
              {"problem", front.question.named.name},
              {"time_unit", base::name_of(unit)},
              {"solver", solver_json(first.solver)}};
  if (first.stopped_by) object["stopped_by"] = pipeline::name_of(*first.stopped_by);
  add_bounds(front.question, object);
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

std::string proven_text(const FrontSchedule& schedule) {
  if (schedule.shortest() && schedule.lowest()) return "both";
  if (schedule.shortest()) return "makespan";
  return schedule.lowest() ? "peak" : "";
}

/// "+30 (+23.3%)".
template <class Amount, class Format>
std::string step_text(Amount from, Amount to, Format format) {
  return fmt::format("{} ({})", change_text(from, to, format), change_share_text(from, to));
}

Table front_table(const FrontAnswer& front) {
  const base::TimeUnit unit = front.question.named.problem.time_unit;
  const auto format_time = [unit](base::Ticks time) { return base::format_time(time, unit); };
  Table table{{{"#"},
               {"makespan"},
               {"bound"},
               {"peak"},
               {"bound"},
               {"makespan change"},
               {"peak change"},
               {"optimal", Align::left}},
              {}};
  for (std::size_t i = 0; i < front.schedules.size(); ++i) {
    const FrontSchedule& schedule = front.schedules[i];
    const pipeline::Evaluation& evaluation = schedule.evaluation();
    std::vector<std::string> row{fmt::format("{}", i + 1),
                                 format_time(evaluation.makespan),
                                 format_time(schedule.makespan_bound),
                                 base::format_memory(evaluation.peak_activation),
                                 base::format_memory(schedule.peak_bound),
                                 "",
                                 "",
                                 proven_text(schedule)};
    if (i > 0) {
      const pipeline::Evaluation& before = front.schedules[i - 1].evaluation();
      row[5] = step_text(before.makespan, evaluation.makespan, format_time);
      row[6] = step_text(before.peak_activation, evaluation.peak_activation, base::format_memory);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Range of the front's schedules that dominate the construction, as "2 to 5". They are always consecutive.
std::string beaten_by(const FrontAnswer& front, const ReferenceSchedule& reference) {
  std::size_t first = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < front.schedules.size(); ++i) {
    const pipeline::Evaluation& evaluation = front.schedules[i].evaluation();
    const bool as_good = evaluation.makespan <= reference.makespan && evaluation.peak_activation <= reference.peak;
    if (!as_good || (evaluation.makespan == reference.makespan && evaluation.peak_activation == reference.peak))
      continue;
    if (first == 0) first = i + 1;
    last = i + 1;
  }
  if (first == 0) return "";
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

Sections reference_table(const FrontAnswer& front) {
  if (front.references.empty()) return {};
  const base::TimeUnit unit = front.question.named.problem.time_unit;
  Table table{{{"construction", Align::left}, {"makespan"}, {"peak"}, {"dominated by", Align::left}, {"", Align::left}},
              {}};
  for (const ReferenceSchedule& reference : front.references) {
    table.rows.push_back({reference.solver, base::format_time(reference.makespan, unit),
                          base::format_memory(reference.peak), beaten_by(front, reference),
                          reference.fits ? "" : "does not fit"});
  }
  return Sections("\n") + std::move(table);
}

}  // namespace

std::string to_json(const FrontAnswer& answer) {
  if (answer.impossible) return impossible_json(answer.question, *answer.impossible);
  const pipeline::Problem& problem = answer.question.named.problem;
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
                        open_object(point_json(schedule, answer.question.named.problem.time_unit)),
                        pipeline::schedule_to_json(schedule.solved.schedule));
  }
  return text + "]}\n";
}

Sections sections(const FrontAnswer& answer) {
  const ScheduleQuestion& question = answer.question;
  if (answer.impossible) return impossible_sections(question, *answer.impossible);
  const fuse::Solved& first = answer.schedules.front().solved;
  if (!first.excess.empty())
    return Sections("none of the schedules found fits in memory; the closest one:\n") + excess_table(first.excess) +
           min_capacity_sections(question.named.problem);
  const auto count = static_cast<std::int64_t>(answer.schedules.size());
  const std::string head =
      fmt::format("{}: Pareto front of {}, from shortest makespan to lowest peak activation found\nsolver: {}\n\n",
                  question.named.name, counted(count, "schedule"), describe_solver(first.solution));
  std::string end = fmt::format("\nbounds: makespan {}, peak activation {} (for any schedule)\n",
                                time_with_unit(question.bounds.makespan, question.named.problem.time_unit),
                                base::format_memory(question.bounds.peak_activation));
  for (const std::string& path : answer.written) end += fmt::format("written: {}\n", path);
  end += fmt::format("took: {:.1f} s\n", answer.seconds);
  return head + front_table(answer) + reference_table(answer) + end;
}

}  // namespace dovetail::answer
