#include "answer/schedules/comparison.h"
#include "answer/schedules/solved_json.h"
#include "answer/words/figures.h"

namespace dovetail::answer {
namespace {

Json row_json(const ComparisonAnswer& answer, const ComparedSolver& row) {
  const fuse::Solved& solved = row.solved;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  Json object{{"solver", row.solver}, {"made_by", solver_json(solved.solution.solver)}};
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (!solved.excess.empty()) object["excess"] = excess_json(solved.excess);
  object["makespan"] = json_time(evaluation.makespan, unit);
  object["bound"] = json_time(solved.bounds.makespan, unit);
  object["gap"] = json_ratio(gap(evaluation.makespan, solved.bounds.makespan));
  const auto faster = answer.speed_up(row);
  object["speed_up"] = faster ? json_ratio(*faster) : Json(nullptr);
  object["peak_activation"] = json_memory(evaluation.peak_activation);
  object["bubbles"] = json_ratio(pipeline::bubble_rate(evaluation));
  object["longest_device_span"] = json_time(pipeline::max_device_span(evaluation), unit);
  object["varied"] = Json::array();
  for (std::size_t i = 0; i < variations.size(); ++i)
    object["varied"].push_back(variation_json(variations[i], row.varied[i], unit));
  return object;
}

}  // namespace

std::string to_json(const ComparisonAnswer& answer) {
  const base::TimeUnit unit = answer.asked.named.problem.time_unit;
  Json object{
      {"format", "dovetail/compare@1"}, {"problem", answer.asked.named.name}, {"time_unit", base::name_of(unit)}};
  add_asked(answer.asked, object);
  add_bounds(answer.asked, object);
  object["baseline"] = Json(nullptr);
  if (answer.baseline)
    object["baseline"] = Json{{"solver", answer.baseline_name}, {"makespan", json_time(*answer.baseline, unit)}};
  object["draws"] = answer.draws;
  object["rows"] = Json::array();
  object["not_applicable"] = Json::array();
  object["interrupted"] = !answer.complete;
  Json seconds = Json::object();
  for (const ComparedSolver& row : answer.rows) {
    object["rows"].push_back(row_json(answer, row));
    seconds[row.solver] = json_seconds(row.solved.seconds);
  }
  for (const Refusal& refusal : answer.refusals)
    object["not_applicable"].push_back({{"solver", refusal.solver}, {"why", refusal.why}});
  object["timing"] = Json{{"seconds", seconds}};
  return json_text(object);
}

}  // namespace dovetail::answer
