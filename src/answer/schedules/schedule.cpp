#include "answer/schedules/schedule.h"

#include <fmt/core.h>

#include <utility>

#include "answer/schedules/search.h"
#include "fuse/pareto.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::answer {
namespace {

base::Result<const fuse::Solver*> usable_solver(const ScheduleRequest& request) {
  if (request.objective == Objective::pareto)
    return base::bad_input("objective pareto yields a front, not a schedule; accepted: makespan, memory");
  DOVETAIL_TRY(const fuse::Solver* const solver, solver_named(request.solver));
  if (request.exchange && !solver->is_shared)
    return base::bad_input(
        fmt::format("--mpi distributes search chains, but solver '{}' has none; use search or auto", request.solver));
  if (request.from && !solver->searches)
    return base::bad_input(
        fmt::format("--from needs a solver that searches; '{}' constructs its schedule by rule", request.solver));
  return solver;
}

base::Result<fuse::SolveOptions> options_for(const ScheduleRequest& request, base::TimeUnit unit) {
  fuse::SolveOptions options = solve_options(request.search);
  options.objective = request.objective == Objective::memory ? fuse::Objective::memory : fuse::Objective::makespan;
  options.robustness_percent = request.robustness_percent;
  if (request.exchange && !request.search.budget.threads) options.threads = 1;
  DOVETAIL_TRY(options.deadline, deadline_of(request.deadline, unit));
  return options;
}

/// The best schedule so far. Of the bounds, it has only the makespan's. It has no reason why the search stopped.
/// REQUIRES: it is valid.
pipeline::Schedule schedule_so_far(const fuse::Solution& solution, const fuse::Bounds& bounds) {
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  schedule.claims.bound_makespan = bounds.makespan;
  schedule.claims.optimal_makespan = solution.evaluation.makespan == bounds.makespan;
  schedule.claims.solver = solution.solver;
  DOVETAIL_ASSERT(!pipeline::validate(schedule).has_value());
  return schedule;
}

/// Searches, and sets the schedule of the answer.
base::Status solve(const ScheduleRequest& request, const fuse::Solver& solver, const fuse::Solution* start,
                   const Watch& watch, ScheduleAnswer& answer) {
  const Asked& asked = answer.asked;
  const pipeline::Problem& problem = asked.named.problem;
  const parallel::Cancellation stop(watch.cancellation, with_patience(asked.options.time_limit_seconds));
  SearchProgress progress(watch, problem, asked.bounds.makespan);
  DOVETAIL_TRY(fuse::SolveOptions options, options_of_search(asked, {start, request.exchange, &stop, &progress}));
  if (request.on_better)
    options.on_better = [&](const fuse::Solution& solution) {
      const bool fits = pipeline::find_excess(problem, solution.evaluation, options.memory_cap).empty();
      if (fits && asked.is_met_by(solution)) request.on_better(schedule_so_far(solution, asked.bounds));
    };
  DOVETAIL_TRY(answer.solved, fuse::run_solver(solver, problem, asked.bounds, options));
  answer.iterations_per_second = progress.iterations_per_second();
  return {};
}

std::optional<base::Memory> peak_at_deadline(const Asked& asked, const fuse::Solution& solution, const Watch& watch) {
  fuse::BoundOptions proof{.cancellation = watch.cancellation};
  if (asked.is_met_by(solution)) proof.known_peak = solution.evaluation.peak_activation;
  const base::Memory peak = fuse::peak_activation_bound(solution.problem, *asked.options.deadline, proof);
  return peak == base::Memory::max() ? std::nullopt : std::optional(peak);
}

ScheduleRemarks remarks_of(const Asked& asked, const fuse::Solved& solved, const Watch& watch) {
  ScheduleRemarks remarks;
  if (asked.options.deadline) {
    remarks.peak_at_deadline = peak_at_deadline(asked, solved.solution, watch);
  } else if (asked.options.objective == fuse::Objective::memory) {
    remarks.makespan_at_peak =
        fuse::point_bounds(solved.solution, solved.bounds, {.cancellation = watch.cancellation}).makespan;
  }
  if (asked.options.robustness_percent > 0) {
    fuse::VariationOptions options;
    options.seed = asked.options.seed;
    options.threads = asked.options.threads;
    options.cancellation = watch.cancellation;
    remarks.varied = fuse::vary_durations(solved.solution.graph, solved.solution.order, options);
  }
  return remarks;
}

Outcome outcome_of(const Asked& asked, const fuse::Solved& solved, const Watch& watch) {
  if (!solved.excess.empty() || !asked.is_met_by(solved.solution)) return Outcome::infeasible;
  if (solved.solution.stopped_by == pipeline::StoppedBy::interrupt) return Outcome::interrupted;
  return unless_interrupted(watch, Outcome::done);
}

}  // namespace

base::Result<ScheduleAnswer> ask(const ScheduleRequest& request, const Watch& watch) {
  DOVETAIL_TRY(const fuse::Solver* const solver, usable_solver(request));
  DOVETAIL_TRY(SearchInput input,
               read_search_input(request.problem, request.from, request.exchange, request.search.budget.chains, watch));
  ScheduleAnswer answer;
  answer.solver = request.solver;
  DOVETAIL_TRY(answer.asked.options, options_for(request, input.named.problem.time_unit));
  answer.asked.named = std::move(input.named);
  answer.asked.bounds = fuse::bounds_of(answer.asked.named.problem);
  answer.impossible = find_impossible(answer.asked);
  if (answer.impossible) {
    answer.outcome = Outcome::infeasible;
    return answer;
  }
  DOVETAIL_CHECK(solve(request, *solver, input.start ? &*input.start : nullptr, watch, answer));
  answer.remarks = remarks_of(answer.asked, *answer.solved, watch);
  answer.outcome = outcome_of(answer.asked, *answer.solved, watch);
  return answer;
}

}  // namespace dovetail::answer
