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

/// Returns the best schedule so far, with the makespan's bound only and without a reason why the search stopped.
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
                   const Callbacks& callbacks, ScheduleAnswer& answer) {
  const ScheduleQuestion& question = answer.question;
  const pipeline::Problem& problem = question.named.problem;
  const parallel::Cancellation stop(callbacks.cancellation, with_grace_period(question.options.time_limit_seconds));
  SearchProgress progress(callbacks, problem, question.bounds.makespan);
  DOVETAIL_TRY(fuse::SolveOptions options, options_of_search(question, {start, request.exchange, &stop, &progress}));
  if (request.on_better)
    options.on_better = [&](const fuse::Solution& solution) {
      const bool fits = pipeline::find_excess(problem, solution.evaluation, options.memory_cap).empty();
      if (fits && question.is_met_by(solution)) request.on_better(schedule_so_far(solution, question.bounds));
    };
  DOVETAIL_TRY(answer.solved, fuse::run_solver(solver, problem, question.bounds, options));
  answer.iterations_per_second = progress.iterations_per_second();
  return {};
}

std::optional<base::Memory> peak_at_deadline(const ScheduleQuestion& question, const fuse::Solution& solution,
                                             const Callbacks& callbacks) {
  fuse::BoundOptions proof{.cancellation = callbacks.cancellation};
  if (question.is_met_by(solution)) proof.known_peak = solution.evaluation.peak_activation;
  const base::Memory peak = fuse::peak_activation_bound(solution.problem, *question.options.deadline, proof);
  return peak == base::Memory::max() ? std::nullopt : std::optional(peak);
}

ScheduleRemarks remarks_of(const ScheduleQuestion& question, const fuse::Solved& solved, const Callbacks& callbacks) {
  ScheduleRemarks remarks;
  if (question.options.deadline) {
    remarks.peak_at_deadline = peak_at_deadline(question, solved.solution, callbacks);
  } else if (question.options.objective == fuse::Objective::memory) {
    remarks.makespan_at_peak =
        fuse::point_bounds(solved.solution, solved.bounds, {.cancellation = callbacks.cancellation}).makespan;
  }
  if (question.options.robustness_percent > 0) {
    fuse::VariationOptions options;
    options.seed = question.options.seed;
    options.threads = question.options.threads;
    options.cancellation = callbacks.cancellation;
    remarks.varied = fuse::vary_durations(solved.solution.graph, solved.solution.order, options);
  }
  return remarks;
}

Outcome outcome_of(const ScheduleQuestion& question, const fuse::Solved& solved, const Callbacks& callbacks) {
  if (!solved.excess.empty() || !question.is_met_by(solved.solution)) return Outcome::infeasible;
  if (solved.solution.stopped_by == pipeline::StoppedBy::interrupt) return Outcome::interrupted;
  return unless_interrupted(callbacks, Outcome::done);
}

}  // namespace

base::Result<ScheduleAnswer> answer_to(const ScheduleRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(const fuse::Solver* const solver, usable_solver(request));
  DOVETAIL_TRY(SearchInput input, read_search_input(request.problem, request.from, request.exchange,
                                                    request.search.budget.chains, callbacks));
  ScheduleAnswer answer;
  answer.solver = request.solver;
  DOVETAIL_TRY(answer.question.options, options_for(request, input.named.problem.time_unit));
  answer.question.named = std::move(input.named);
  answer.question.bounds = fuse::bounds_of(answer.question.named.problem);
  answer.impossible = find_impossible(answer.question);
  if (answer.impossible) {
    answer.outcome = Outcome::infeasible;
    return answer;
  }
  DOVETAIL_CHECK(solve(request, *solver, input.start ? &*input.start : nullptr, callbacks, answer));
  answer.remarks = remarks_of(answer.question, *answer.solved, callbacks);
  answer.outcome = outcome_of(answer.question, *answer.solved, callbacks);
  return answer;
}

}  // namespace dovetail::answer
