#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "answer/schedules/schedule.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/solved_json.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"

namespace dovetail::answer {
namespace {

Json bounds_json(const ScheduleAnswer& answer) {
  const pipeline::Claims& claims = answer.solved->schedule.claims;
  const base::TimeUnit unit = answer.solved->schedule.problem.time_unit;
  const ScheduleRemarks& remarks = answer.remarks;
  Json bounds{{"makespan", claims.bound_makespan ? json_time(*claims.bound_makespan, unit) : Json(nullptr)},
              {"peak_activation", json_memory(claims.bound_peak_activation)}};
  if (answer.question.options.deadline) bounds["peak_activation_at_deadline"] = json_memory(remarks.peak_at_deadline);
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

/// Names the problem and counts the ops of the schedule; a split backward counts as two.
std::string problem_line(const NamedProblem& named, const pipeline::Schedule& schedule) {
  std::size_t ops = 0;
  for (const auto& rows : schedule.devices) ops += rows.size();
  const auto number = [](std::size_t count, std::string_view noun) {
    return counted(static_cast<std::int64_t>(count), noun);
  };
  return fmt::format("{}: {}, {}, {}, {}\n", named.name, counted(named.problem.devices, "device"),
                     number(named.problem.models.size(), "model"),
                     number(pipeline::pipelines_of(named.problem).size(), "pipeline"), number(ops, "op"));
}

/// "optimal", or the distance of the value from its bound.
template <class Amount>
std::string distance(Amount value, std::optional<Amount> bound, std::optional<bool> optimal) {
  if (!bound) return "no proven bound";
  if (optimal.value_or(false)) return "optimal";
  return gap_text(gap(value, *bound));
}

/// Makespan, peak and bubbles, with their bounds.
std::string figures(const fuse::Solved& solved) {
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const auto bound_text = [](const auto& bound, auto format) {
    return bound ? "bound " + format(*bound) : std::string();
  };
  const std::vector<std::vector<std::string>> rows{
      {"makespan", time_with_unit(evaluation.makespan, unit),
       bound_text(claims.bound_makespan, [unit](base::Ticks time) { return base::format_time(time, unit); }),
       distance(evaluation.makespan, claims.bound_makespan, claims.optimal_makespan)},
      {"peak activation", base::format_memory(evaluation.peak_activation),
       bound_text(claims.bound_peak_activation, base::format_memory),
       distance(evaluation.peak_activation, claims.bound_peak_activation, claims.optimal_peak_activation)},
      {"bubbles", percent(pipeline::bubble_rate(evaluation)), "", ""}};
  std::string text = fmt::format("solver: {}\n", describe_solver(solved.solution));
  if (solved.solution.other_layout) text += fmt::format("different layout: {}\n", *solved.solution.other_layout);
  for (const auto& row : rows) {
    text += fmt::format("{:<15}  {:>16}  {:<16} {}", row[0], row[1], row[2], row[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

/// Memory of each device, if there is any limit.
Sections device_table(const fuse::Solved& solved, std::optional<base::Memory> cap) {
  const pipeline::Problem& problem = solved.solution.problem;
  if (!problem.capacity && !cap) return {};
  Table table{{{"device"}, {"resident"}, {"peak activation"}, {"peak memory"}, {"capacity"}, {"free"}}, {}};
  for (std::size_t device = 0; device < solved.solution.evaluation.devices.size(); ++device) {
    const base::Memory held = problem.resident[device] + solved.solution.evaluation.devices[device].peak;
    base::Memory limit = cap.value_or(base::Memory::max());
    if (problem.capacity) limit = std::min(limit, (*problem.capacity)[device]);
    table.rows.push_back({fmt::format("{}", device), base::format_memory(problem.resident[device]),
                          base::format_memory(solved.solution.evaluation.devices[device].peak),
                          base::format_memory(held), base::format_memory(limit), base::format_memory(limit - held)});
  }
  return Sections("\n") + std::move(table);
}

std::string remarks_text(const ScheduleQuestion& question, const ScheduleRemarks& remarks) {
  const base::TimeUnit unit = question.named.problem.time_unit;
  std::string text;
  if (remarks.peak_at_deadline)
    text +=
        fmt::format("lower bound on the peak for a makespan of at most {}: {}\n",
                    time_with_unit(*question.options.deadline, unit), base::format_memory(*remarks.peak_at_deadline));
  if (remarks.makespan_at_peak)
    text +=
        fmt::format("lower bound on the makespan at this peak: {}\n", time_with_unit(*remarks.makespan_at_peak, unit));
  if (remarks.varied)
    text += fmt::format("durations varied by up to 5%: makespan {} (median), {} (95th percentile)\n",
                        format_thousandths_rounded(remarks.varied->median_thousandths, unit),
                        format_thousandths_rounded(remarks.varied->percentile_95_thousandths, unit));
  return text;
}

/// Explains why the schedule does not fit or misses the deadline.
Sections infeasible_sections(const ScheduleAnswer& answer) {
  const fuse::Solved& solved = *answer.solved;
  if (!solved.excess.empty())
    return fmt::format("no schedule found by {} fits in memory; the closest one:\n", answer.solver) +
           excess_table(solved.excess) + min_capacity_sections(solved.solution.problem);
  const base::TimeUnit unit = answer.question.named.problem.time_unit;
  return fmt::format("no schedule found by {} meets the deadline of {}; the shortest takes {} (lower bound {})\n",
                     answer.solver, time_with_unit(*answer.question.options.deadline, unit),
                     base::format_time(solved.solution.evaluation.makespan, unit),
                     base::format_time(solved.bounds.makespan, unit));
}

}  // namespace

std::string to_json(const ScheduleAnswer& answer) {
  const ScheduleQuestion& question = answer.question;
  if (answer.impossible) return impossible_json(question, *answer.impossible);
  const fuse::Solved& solved = *answer.solved;
  Json object{{"format", "dovetail/schedule-report@1"},
              {"problem", question.named.name},
              {"time_unit", base::name_of(solved.schedule.problem.time_unit)},
              {"solver", solver_json(solved.solution.solver)}};
  add_question(question, object);
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (question.options.deadline) object["meets_deadline"] = question.is_met_by(solved.solution);
  add_figures(answer, object);
  if (!solved.excess.empty()) add_excess(solved.solution.problem, solved.excess, object);
  object["written"] = answer.written;
  add_timing(solved.seconds, answer.iterations_per_second, object);
  return json_text(object);
}

Sections sections(const ScheduleAnswer& answer) {
  if (answer.impossible) return impossible_sections(answer.question, *answer.impossible);
  if (answer.outcome == Outcome::infeasible) return infeasible_sections(answer);
  const fuse::Solved& solved = *answer.solved;
  std::string end;
  for (const std::string& path : answer.written) end += fmt::format("written: {}\n", path);
  end += fmt::format("took: {:.1f} s\n", solved.seconds);
  return problem_line(answer.question.named, solved.schedule) + figures(solved) +
         remarks_text(answer.question, answer.remarks) + device_table(solved, answer.question.options.memory_cap) + end;
}

}  // namespace dovetail::answer
