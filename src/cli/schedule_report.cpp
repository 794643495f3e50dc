#include "cli/schedule_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/question/json.h"
#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "cli/interrupt.h"
#include "fuse/pareto.h"
#include "fuse/solution/variation.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

/// The problem, and how many ops the schedule has: a backward that is split in it counts as two.
std::string problem_line(const NamedProblem& named, const pipeline::Schedule& schedule) {
  std::size_t ops = 0;
  for (const auto& rows : schedule.devices) ops += rows.size();
  const auto number = [](std::size_t count, std::string_view noun) { return answer::counted(static_cast<std::int64_t>(count), noun); };
  return fmt::format("{}: {}, {}, {}, {}\n", named.name, answer::counted(named.problem.devices, "device"),
                     number(named.problem.models.size(), "model"), number(pipeline::pipelines_of(named.problem).size(), "pipeline"),
                     number(ops, "op"));
}

/// "optimal", or how far the value is from its bound.
template <class Amount>
std::string distance(Amount value, std::optional<Amount> bound, std::optional<bool> optimal) {
  if (!bound) return "no bound is proven";
  if (optimal.value_or(false)) return "optimal";
  return answer::gap_text(answer::gap(value, *bound));
}

/// What the makespan and the peak are, beside their bounds.
std::string figures(const Solved& solved) {
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const auto bound_text = [](const auto& bound, auto format) { return bound ? "bound " + format(*bound) : std::string(); };
  std::string solver = describe(solved.solution.solver);
  if (solved.solution.stopped_by) solver += fmt::format(", stopped by {}", pipeline::name_of(*solved.solution.stopped_by));
  const std::vector<std::vector<std::string>> rows{
      {"makespan", answer::time_with_unit(evaluation.makespan, unit),
       bound_text(claims.bound_makespan, [unit](base::Ticks time) { return base::format_time(time, unit); }),
       distance(evaluation.makespan, claims.bound_makespan, claims.optimal_makespan)},
      {"peak activation", base::format_memory(evaluation.peak_activation), bound_text(claims.bound_peak_activation, base::format_memory),
       distance(evaluation.peak_activation, claims.bound_peak_activation, claims.optimal_peak_activation)},
      {"bubbles", answer::percent(pipeline::bubble_rate(evaluation)), "", ""}};
  std::string text = fmt::format("solver: {}\n", solver);
  if (solved.solution.other_layout) text += fmt::format("another layout: {}\n", *solved.solution.other_layout);
  for (const auto& row : rows) {
    text += fmt::format("{:<15}  {:>16}  {:<16} {}", row[0], row[1], row[2], row[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

/// What each device holds and may hold, where anything is limited.
std::string device_table(const Solved& solved, std::optional<base::Memory> cap) {
  const pipeline::Problem& problem = solved.solution.problem;
  if (!problem.capacity && !cap) return {};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t device = 0; device < solved.solution.evaluation.devices.size(); ++device) {
    const base::Memory held = problem.resident[device] + solved.solution.evaluation.devices[device].peak;
    base::Memory limit = cap.value_or(base::Memory::max());
    if (problem.capacity) limit = std::min(limit, (*problem.capacity)[device]);
    rows.push_back({fmt::format("{}", device), base::format_memory(problem.resident[device]),
                    base::format_memory(solved.solution.evaluation.devices[device].peak), base::format_memory(held),
                    base::format_memory(limit), base::format_memory(limit - held)});
  }
  return "\n" + report::render_table({{"device"}, {"resident"}, {"peak activation"}, {"held"}, {"capacity"}, {"free"}}, rows);
}

/// What is proven, or measured, of what was asked for, beyond the bounds of the two figures.
struct Remarks {
  std::optional<base::Memory> peak_at_deadline;  ///< no schedule that ends by the deadline has less; absent where none is proven to exist
  std::optional<base::Ticks> makespan_at_peak;   ///< no schedule with at most this peak is shorter
  std::optional<fuse::Variation> varied;         ///< the makespan when durations vary as --robust weighs it
};

std::optional<base::Memory> peak_at_deadline(const Request& request, const Solved& solved) {
  fuse::BoundOptions proof{.cancellation = &stop_on_interrupt()};
  if (meets_deadline(request, solved.solution)) proof.known_peak = solved.solution.evaluation.peak_activation;
  const base::Memory peak = fuse::peak_activation_bound(solved.solution.problem, *request.options.deadline, proof);
  return peak == base::Memory::max() ? std::nullopt : std::optional(peak);
}

Remarks remarks_of(const Request& request, const Solved& solved) {
  Remarks remarks;
  if (request.options.deadline) {
    remarks.peak_at_deadline = peak_at_deadline(request, solved);
  } else if (request.options.objective == fuse::Objective::memory) {
    remarks.makespan_at_peak = fuse::point_bounds(solved.solution, solved.bounds, {.cancellation = &stop_on_interrupt()}).makespan;
  }
  if (request.options.robustness_percent > 0) {
    fuse::VariationOptions options;
    options.seed = request.options.seed;
    options.threads = request.options.threads;
    options.cancellation = &stop_on_interrupt();
    remarks.varied = fuse::vary_durations(solved.solution.graph, solved.solution.order, options);
  }
  return remarks;
}

std::string remarks_text(const Request& request, const Remarks& remarks) {
  const base::TimeUnit unit = request.named.problem.time_unit;
  std::string text;
  if (remarks.peak_at_deadline)
    text += fmt::format("by the deadline of {}: no schedule has a peak below {}\n", answer::time_with_unit(*request.options.deadline, unit),
                        base::format_memory(*remarks.peak_at_deadline));
  if (remarks.makespan_at_peak)
    text += fmt::format("at this peak: no schedule is shorter than {}\n", answer::time_with_unit(*remarks.makespan_at_peak, unit));
  if (remarks.varied)
    text += fmt::format("when ops last 5% less to 5% more: makespan {} (median), {} (95th percentile)\n",
                        answer::format_thousandths_rounded(remarks.varied->median_thousandths, unit),
                        answer::format_thousandths_rounded(remarks.varied->percentile_95_thousandths, unit));
  return text;
}

answer::Json bounds_json(const Request& request, const Solved& solved, const Remarks& remarks) {
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  answer::Json bounds{{"makespan", claims.bound_makespan ? answer::json_time(*claims.bound_makespan, unit) : answer::Json(nullptr)},
                      {"peak_activation", answer::json_memory(claims.bound_peak_activation)}};
  if (request.options.deadline) bounds["peak_activation_at_deadline"] = answer::json_memory(remarks.peak_at_deadline);
  if (remarks.makespan_at_peak) bounds["makespan_at_peak"] = answer::json_time(*remarks.makespan_at_peak, unit);
  return bounds;
}

answer::Json variation_json(const fuse::Variation& variation, base::TimeUnit unit) {
  return {{"by", 0.05},
          {"median", answer::json_number(answer::format_thousandths(variation.median_thousandths, unit))},
          {"percentile_95", answer::json_number(answer::format_thousandths(variation.percentile_95_thousandths, unit))}};
}

answer::Json min_capacity_json(const pipeline::Problem& problem) {
  answer::Json list = answer::Json::array();
  for (const base::Memory capacity : min_capacities(problem)) list.push_back(answer::json_memory(capacity));
  return list;
}

}  // namespace

bool meets_deadline(const Request& request, const fuse::Solution& solution) {
  return !request.options.deadline || solution.evaluation.makespan <= *request.options.deadline;
}

std::string report_text(const Request& request, const Run& run, const std::vector<std::string>& written) {
  const Solved& solved = run.solved;
  std::string text = problem_line(request.named, solved.schedule) + figures(solved) + remarks_text(request, remarks_of(request, solved)) +
                     device_table(solved, request.options.memory_cap);
  for (const std::string& path : written) text += fmt::format("written: {}\n", path);
  return text + fmt::format("took: {:.1f} s\n", solved.seconds);
}

answer::Json report_json(const Request& request, const Run& run, const std::vector<std::string>& written) {
  const Solved& solved = run.solved;
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const Remarks remarks = remarks_of(request, solved);
  answer::Json object{{"format", "dovetail/schedule-report@1"},
                      {"problem", request.named.name},
                      {"time_unit", base::name_of(unit)},
                      {"solver", to_json(solved.solution.solver)}};
  add_request(object, request.options, unit);
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (request.options.deadline) object["meets_deadline"] = meets_deadline(request, solved.solution);
  object["makespan"] = answer::json_time(evaluation.makespan, unit);
  object["peak_activation"] = answer::json_memory(evaluation.peak_activation);
  object["bounds"] = bounds_json(request, solved, remarks);
  object["optimal"] = answer::Json{{"makespan", claims.optimal_makespan.value_or(false)},
                                   {"peak_activation", claims.optimal_peak_activation.value_or(false)}};
  object["bubbles"] = answer::json_ratio(pipeline::bubble_rate(evaluation));
  object["peak_activation_by_device"] = answer::Json::array();
  for (const pipeline::DeviceUse& use : evaluation.devices) object["peak_activation_by_device"].push_back(answer::json_memory(use.peak));
  if (remarks.varied) object["varied"] = variation_json(*remarks.varied, unit);
  if (!solved.excess.empty()) {
    object["excess"] = excess_json(solved.excess);
    object["smallest_capacity"] = min_capacity_json(solved.solution.problem);
  }
  object["written"] = written;
  object["timing"] = answer::Json{{"seconds", answer::json_seconds(solved.seconds)}};
  if (run.iterations_per_second > 0) object["timing"]["iterations_per_second"] = answer::json_ratio(run.iterations_per_second);
  return object;
}

std::string infeasible_text(const Request& request, const Solved& solved) {
  if (!solved.excess.empty())
    return fmt::format("dovetail: no schedule that {} found fits the memory; the one with the least excess:\n{}{}", request.solver->name,
                       excess_table(solved.excess), min_capacity_text(solved.solution.problem));
  const base::TimeUnit unit = request.named.problem.time_unit;
  return fmt::format(
      "dovetail: no schedule that {} found ends by the deadline of {}; the shortest takes {} (no schedule is shorter than {})\n",
      request.solver->name, answer::time_with_unit(*request.options.deadline, unit),
      base::format_time(solved.solution.evaluation.makespan, unit), base::format_time(solved.bounds.makespan, unit));
}

std::optional<Impossible> find_impossible(const Request& request) {
  const pipeline::Problem& problem = request.named.problem;
  const auto excess = fuse::find_impossible(problem, request.options.memory_cap);
  const bool is_late = request.options.deadline && *request.options.deadline < request.bounds.makespan;
  if (excess.empty() && !is_late) return std::nullopt;
  Impossible impossible;
  answer::Json& object = impossible.json;
  object = {{"format", "dovetail/schedule-report@1"}, {"problem", request.named.name}, {"time_unit", base::name_of(problem.time_unit)}};
  add_request(object, request.options, problem.time_unit);
  object["fits"] = excess.empty();
  if (request.options.deadline) object["meets_deadline"] = !is_late;
  object["impossible"] = true;
  if (!excess.empty()) {
    object["excess"] = excess_json(excess);
    object["smallest_capacity"] = min_capacity_json(problem);
    impossible.text += fmt::format("dovetail: {}:\n{}{}", impossible_message, excess_table(excess), min_capacity_text(problem));
  }
  object["written"] = answer::Json::array();
  if (is_late)
    impossible.text += fmt::format("dovetail: no schedule ends by the deadline of {}: none is shorter than {}\n",
                                   answer::time_with_unit(*request.options.deadline, problem.time_unit),
                                   base::format_time(request.bounds.makespan, problem.time_unit));
  return impossible;
}

}  // namespace dovetail::cli
