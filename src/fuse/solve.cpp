#include "fuse/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <variant>

#include "base/enum_names.h"
#include "base/stopwatch.h"
#include "fuse/solver.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::fuse {
namespace {

using base::Error;
using base::Failure;
using base::Memory;
using base::Result;
using pipeline::CapacityExcess;
using pipeline::Problem;

Error infeasible(std::string message) { return {Failure::infeasible, {}, 0, 0, std::move(message)}; }

Error no_solver(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Solver& solver : solvers()) names.push_back(solver.name);
  return base::bad_input(fmt::format("unknown solver '{}'{} (available: {})", name, base::did_you_mean(name, names),
                                     fmt::join(names, ", ")));
}

}  // namespace

std::optional<std::string> find_fault(const SolveOptions& options, const Problem& problem) {
  if (options.chains < 1) return fmt::format("chains must be at least 1, got {}", options.chains);
  if (options.threads < 1) return fmt::format("threads must be at least 1, got {}", options.threads);
  if (options.iterations && *options.iterations < 1)
    return fmt::format("iterations must be at least 1, got {}", *options.iterations);
  if (options.iterations_alone && *options.iterations_alone < 1)
    return fmt::format("iterations_alone must be at least 1, got {}", *options.iterations_alone);
  if (options.time_limit_seconds && !(*options.time_limit_seconds > 0 && std::isfinite(*options.time_limit_seconds)))
    return "time_limit_seconds must be a finite number above 0; omit it for no limit";
  if (options.robustness_percent < 0 || options.robustness_percent > 100)
    return fmt::format("robustness_percent must be from 0 to 100, got {}", options.robustness_percent);
  if (options.deadline && options.deadline->count() < 1)
    return fmt::format("deadline must be at least 1, got {}", options.deadline->count());
  if (options.memory_cap && options.memory_cap->count() < 0) return "memory_cap must not be negative";
  if (options.start && options.start->problem != problem) return "start must be a schedule of the same problem";
  if (options.exchange &&
      (options.exchange->ranks < 1 || options.exchange->rank < 0 || options.exchange->rank >= options.exchange->ranks))
    return fmt::format("exchange.rank must be from 0 to exchange.ranks - 1, got rank {} of {}", options.exchange->rank,
                       options.exchange->ranks);
  if (options.exchange && !options.exchange->all_gather) return "exchange.all_gather must be set";
  return std::nullopt;
}

std::string describe_excess(const std::vector<CapacityExcess>& excess) {
  constexpr std::size_t most = 8;
  std::vector<CapacityExcess> worst = excess;
  std::sort(worst.begin(), worst.end(), [](const CapacityExcess& a, const CapacityExcess& b) {
    return std::pair(b.peak - b.capacity, a.device) < std::pair(a.peak - a.capacity, b.device);
  });
  if (worst.size() > most) worst.resize(most);
  std::string text;
  for (const CapacityExcess& device : worst)
    text += fmt::format("{}device {} holds {} but may hold only {} ({} too much)", text.empty() ? "" : "; ",
                        device.device.value, base::format_memory(device.peak), base::format_memory(device.capacity),
                        base::format_memory(device.peak - device.capacity));
  if (excess.size() > most) text += fmt::format("; {} more", excess.size() - most);
  return text;
}

Solved assess(Solution solution, const Bounds& problem_bounds, const SolveOptions& options) {
  Solved solved{std::move(solution), problem_bounds, {}, {}, 0};
  if (solved.solution.other_layout) solved.bounds = bounds_of(solved.solution.problem);
  solved.schedule =
      to_schedule(solved.solution, solved.bounds, {.work = options.proof_work, .cancellation = options.cancellation});
  // Proofs may hold only within the cap, so the file's problem must include it: its claims must be true of that
  // problem.
  solved.schedule.problem = pipeline::with_cap(std::move(solved.schedule.problem), options.memory_cap);
  solved.excess = pipeline::find_excess(solved.solution.problem, solved.solution.evaluation, options.memory_cap);
  // A schedule that does not fit is never written. Every other one must be valid.
  if (solved.excess.empty()) DOVETAIL_ASSERT(!pipeline::validate(solved.schedule).has_value());
  return solved;
}

namespace {

/// Replaces `solution` by options.start if that is better: constructions and some searches ignore the start. The record
/// of the search is kept because it reproduces the run. If robustness has a weight, a longer schedule may be better.
void keep_better_start(const Solver& solver, Solution& solution, const SolveOptions& options) {
  if (!options.start || solution.other_layout || !is_better(*options.start, solution, options)) return;
  const bool fits = pipeline::find_excess(solution.problem, solution.evaluation, options.memory_cap).empty();
  if (solver.is_weighing && options.robustness_percent > 0 && fits) return;
  Solution start = *options.start;
  if (solution.stopped_by) {
    start.solver = std::move(solution.solver);
    start.stopped_by = solution.stopped_by;
    start.lost_process = std::move(solution.lost_process);
  }
  solution = std::move(start);
}

}  // namespace

Result<Solved> run_solver(const Solver& solver, const Problem& problem, const Bounds& bounds,
                          const SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Answer answer = solver.solve(problem, options);
  const double seconds = base::seconds_since(begin);
  const auto ended_by = parallel::ended_by(options.cancellation);
  if (const auto* not_applicable = std::get_if<NotApplicable>(&answer)) {
    if (ended_by) return parallel::stopped_before("a schedule was found", *ended_by);
    return base::bad_input(
        fmt::format("solver '{}' is not applicable to this problem: {}", solver.name, not_applicable->why));
  }
  Solution solution = std::move(std::get<Solution>(answer));
  // Solvers report only an interrupt, whether a time limit or the user requested it.
  const bool is_cut_short = ended_by && (!solution.stopped_by || solution.stopped_by == pipeline::StoppedBy::interrupt);
  if (is_cut_short && !solution.lost_process)
    solution.stopped_by =
        *ended_by == parallel::EndedBy::time ? pipeline::StoppedBy::time : pipeline::StoppedBy::interrupt;
  keep_better_start(solver, solution, options);
  Solved solved = assess(std::move(solution), bounds, options);
  solved.seconds = seconds;
  return solved;
}

Result<Solution> to_solution(const pipeline::Schedule& schedule) {
  if (const auto violation = pipeline::validate(schedule); violation && violation->rule != pipeline::Rule::capacity)
    return Error{Failure::invalid, {}, 0, 0, fmt::format("{}: {}", name_of(violation->rule), violation->message)};
  pipeline::LoweredSchedule lowered = pipeline::evaluate(schedule);
  Solution solution{schedule.problem, {}, std::move(lowered.lowering.graph), std::move(lowered.order), {}, {}, {}};
  solution.solver.name = schedule.claims.solver ? schedule.claims.solver->name : "file";
  auto earliest = pipeline::evaluate(solution.graph, solution.order);
  // Ops of zero duration that share an instant may have no valid order by start time. Then the given times are kept.
  solution.evaluation = earliest.ok() ? std::move(*earliest) : std::move(lowered.evaluation);
  return solution;
}

Result<Solved> solve(const Problem& problem, std::string_view solver_name, const SolveOptions& options) {
  if (const auto fault = pipeline::find_fault(problem)) return base::bad_input("invalid problem: " + *fault);
  if (const auto fault = find_fault(options, problem)) return base::bad_input("invalid solver options: " + *fault);
  const Solver* const solver = find_solver(solver_name);
  if (!solver) return no_solver(solver_name);
  if (const auto impossible = find_impossible(problem, options.memory_cap); !impossible.empty())
    return infeasible("no schedule fits in memory: resident memory plus a single micro-batch exceeds the capacity: " +
                      describe_excess(impossible));
  DOVETAIL_TRY(Solved solved, run_solver(*solver, problem, bounds_of(problem), options));
  if (solved.excess.empty()) return solved;
  if (solved.solution.lost_process) return *solved.solution.lost_process;
  return infeasible(fmt::format("no schedule found by {} fits in memory; in the one with the least excess, {}",
                                solver->name, describe_excess(solved.excess)));
}

}  // namespace dovetail::fuse
