#include "answer/schedules/front.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "answer/schedules/search.h"
#include "base/stopwatch.h"
#include "fuse/solver.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::answer {
namespace {

/// Number of steps of the peak bound's curve, over the range of makespans.
constexpr int bound_resolution = 512;

/// Runs the constructions for comparison, in at most a quarter of the time limit. The search constructs its own start.
std::vector<ReferenceSchedule> reference_schedules(const pipeline::Problem& problem, fuse::SolveOptions options) {
  constexpr double share_of_time = 0.25;
  if (options.time_limit_seconds) *options.time_limit_seconds *= share_of_time;
  const parallel::Cancellation in_share(options.cancellation, options.time_limit_seconds);
  std::vector<ReferenceSchedule> references;
  for (const fuse::Solver& solver : fuse::direct_solvers()) {
    if (fuse::are_quick(problem) ? parallel::is_requested(options.cancellation) : in_share.requested()) break;
    const fuse::Answer answer = solver.solve(problem, options);
    const auto* solution = std::get_if<fuse::Solution>(&answer);
    if (solution == nullptr || solution->other_layout) continue;
    references.push_back({std::string(solver.name), solution->evaluation.makespan, solution->evaluation.peak_activation,
                          pipeline::find_excess(problem, solution->evaluation, options.memory_cap).empty(),
                          solver.is_baseline});
  }
  return references;
}

/// Adds bounds to a schedule of the front. Spends less effort on each proof than for a single schedule.
FrontSchedule with_bounds(fuse::Solution solution, const fuse::Bounds& bounds, const fuse::SolveOptions& options,
                          std::size_t schedules) {
  constexpr std::int64_t work_of_all = 20'000'000;
  const fuse::PointBounds proven = fuse::point_bounds(
      solution, bounds,
      {.work = work_of_all / static_cast<std::int64_t>(schedules), .cancellation = options.cancellation});
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  pipeline::Claims& claims = schedule.claims;
  claims.bound_makespan = std::max(bounds.makespan, solution.proven_makespan.value_or(base::Ticks(0)));
  claims.bound_peak_activation = proven.peak;
  claims.optimal_makespan = solution.evaluation.makespan == *claims.bound_makespan;
  claims.optimal_peak_activation = solution.evaluation.peak_activation == proven.peak;
  claims.solver = solution.solver;
  claims.stopped_by = solution.stopped_by;
  fuse::Solved solved{std::move(solution), bounds, std::move(schedule), {}, 0};
  solved.excess = pipeline::find_excess(solved.solution.problem, solved.solution.evaluation, options.memory_cap);
  if (solved.excess.empty()) DOVETAIL_ASSERT(!pipeline::validate(solved.schedule).has_value());
  return {std::move(solved), proven.makespan, proven.peak};
}

/// Bound on the peak as a function of the makespan, over the makespans of the front.
std::vector<fuse::PeakBoundStep> bound_curve(const FrontAnswer& front, const Callbacks& callbacks) {
  const base::Ticks from = front.question.bounds.makespan;
  base::Ticks to = from;
  for (const FrontSchedule& schedule : front.schedules) to = std::max(to, schedule.evaluation().makespan);
  const int resolution = parallel::is_requested(callbacks.cancellation) ? 1 : bound_resolution;
  std::vector<fuse::PeakBoundStep> curve = fuse::peak_bound_curve(front.question.named.problem, from, to, resolution);
  for (const FrontSchedule& schedule : front.schedules) {
    fuse::raise_curve(curve, schedule.evaluation().makespan, schedule.peak_bound);
    // A makespan below the bound needs a larger peak.
    if (schedule.makespan_bound > from)
      fuse::raise_curve(curve, schedule.makespan_bound - base::Ticks(1), schedule.evaluation().peak_activation);
  }
  return curve;
}

/// Searches, and sets the schedules of the answer.
base::Status search(const FrontRequest& request, const fuse::Solution* start, const Callbacks& callbacks,
                    FrontAnswer& front) {
  const auto begin = std::chrono::steady_clock::now();
  const ScheduleQuestion& question = front.question;
  const pipeline::Problem& problem = question.named.problem;
  const parallel::Cancellation stop(callbacks.cancellation, with_grace_period(question.options.time_limit_seconds));
  SearchProgress progress(callbacks, problem, question.bounds.makespan);
  DOVETAIL_TRY(fuse::SolveOptions options, options_of_search(question, {start, request.exchange, &stop, &progress}));
  front.references = reference_schedules(problem, options);
  if (options.time_limit_seconds)
    *options.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
  std::vector<fuse::Solution> solutions = fuse::solve_pareto(problem, options);
  notify_work(callbacks, "proving bounds");
  for (fuse::Solution& solution : solutions) {
    if (stop.ended_by() == parallel::EndedBy::time && !solution.lost_process)
      solution.stopped_by = pipeline::StoppedBy::time;
    front.schedules.push_back(with_bounds(std::move(solution), question.bounds, options, solutions.size()));
  }
  front.iterations_per_second = progress.iterations_per_second();
  if (request.peak_bound) front.peak_bound = bound_curve(front, callbacks);
  front.seconds = base::seconds_since(begin);
  return {};
}

Outcome outcome_of(const FrontAnswer& front) {
  if (front.impossible) return Outcome::infeasible;
  const fuse::Solved& first = front.schedules.front().solved;
  if (!first.excess.empty()) return Outcome::infeasible;
  return first.solution.stopped_by == pipeline::StoppedBy::interrupt ? Outcome::interrupted : Outcome::done;
}

}  // namespace

base::Result<FrontRequest> front_of(const ScheduleRequest& request) {
  DOVETAIL_ASSERT(request.objective == Objective::pareto);
  if (request.deadline)
    return base::bad_input("--objective pareto and --deadline cannot be combined: a front covers all makespans");
  if (request.robustness_percent > 0)
    return base::bad_input(
        "--objective pareto and --robust cannot be combined: a front trades makespan for peak activation");
  if (request.solver != default_solver().name)
    return base::bad_input(fmt::format("--objective pareto uses several solvers; the only accepted --solver is {}",
                                       default_solver().name));
  return FrontRequest{
      .problem = request.problem, .from = request.from, .search = request.search, .exchange = request.exchange};
}

base::Result<FrontAnswer> answer_to(const FrontRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(SearchInput input, read_search_input(request.problem, request.from, request.exchange,
                                                    request.search.budget.chains, callbacks));
  FrontAnswer answer;
  answer.question.options = solve_options(request.search);
  if (request.exchange && !request.search.budget.threads) answer.question.options.threads = 1;
  answer.question.named = std::move(input.named);
  answer.question.bounds = fuse::bounds_of(answer.question.named.problem);
  answer.impossible = find_impossible(answer.question);
  if (!answer.impossible) DOVETAIL_CHECK(search(request, input.start ? &*input.start : nullptr, callbacks, answer));
  answer.outcome = outcome_of(answer);
  return answer;
}

}  // namespace dovetail::answer
