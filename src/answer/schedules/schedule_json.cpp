#include "answer/schedules/schedule.h"
#include "answer/schedules/solved_json.h"

namespace dovetail::answer {
namespace {

Json bounds_json(const ScheduleAnswer& answer) {
  const pipeline::Claims& claims = answer.solved->schedule.claims;
  const base::TimeUnit unit = answer.solved->schedule.problem.time_unit;
  const ScheduleRemarks& remarks = answer.remarks;
  Json bounds{{"makespan", claims.bound_makespan ? json_time(*claims.bound_makespan, unit) : Json(nullptr)},
              {"peak_activation", json_memory(claims.bound_peak_activation)}};
  if (answer.asked.options.deadline) bounds["peak_activation_at_deadline"] = json_memory(remarks.peak_at_deadline);
  if (remarks.makespan_at_peak) bounds["makespan_at_peak"] = json_time(*remarks.makespan_at_peak, unit);
  return bounds;
}

/// Adds the costs of the schedule.
void add_figures(const ScheduleAnswer& answer, Json& object) {
  const fuse::Solved& solved = *answer.solved;
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  object["makespan"] = json_time(evaluation.makespan, unit);
  object["peak_activation"] = json_memory(evaluation.peak_activation);
  object["bounds"] = bounds_json(answer);
  object["optimal"] = Json{{"makespan", claims.optimal_makespan.value_or(false)},
                           {"peak_activation", claims.optimal_peak_activation.value_or(false)}};
  object["bubbles"] = json_ratio(pipeline::bubble_rate(evaluation));
  object["peak_activation_by_device"] = Json::array();
  for (const pipeline::DeviceUse& use : evaluation.devices)
    object["peak_activation_by_device"].push_back(json_memory(use.peak));
  if (answer.remarks.varied)
    object["varied"] = variation_json(fuse::VariationOptions{}.thousandths, *answer.remarks.varied, unit);
}

}  // namespace

std::string to_json(const ScheduleAnswer& answer) {
  const Asked& asked = answer.asked;
  if (answer.impossible) return impossible_json(asked, *answer.impossible);
  const fuse::Solved& solved = *answer.solved;
  Json object{{"format", "dovetail/schedule-report@1"},
              {"problem", asked.named.name},
              {"time_unit", base::name_of(solved.schedule.problem.time_unit)},
              {"solver", solver_json(solved.solution.solver)}};
  add_asked(asked, object);
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (asked.options.deadline) object["meets_deadline"] = asked.is_met_by(solved.solution);
  add_figures(answer, object);
  if (!solved.excess.empty()) add_excess(solved.solution.problem, solved.excess, object);
  object["written"] = answer.written;
  add_timing(solved.seconds, answer.iterations_per_second, object);
  return json_text(object);
}

}  // namespace dovetail::answer
