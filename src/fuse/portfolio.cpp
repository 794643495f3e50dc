#include "fuse/portfolio.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fuse/constructions.h"

namespace dovetail::fuse {
namespace {

using pipeline::Problem;
using pipeline::StoppedBy;

bool is_cancelled(const SolveOptions& options) { return options.cancellation && options.cancellation->requested(); }

/// Takes `answer` where it is a better schedule of the problem itself.
void improve(std::optional<Solution>& best, Answer answer, const SolveOptions& options) {
  auto* solution = std::get_if<Solution>(&answer);
  if (!solution || solution->other_layout) return;
  if (!best || is_better(*solution, *best, options.memory_cap)) best = std::move(*solution);
}

bool bounds_met(const Solution& best, const Bounds& bounds, const SolveOptions& options) {
  return best.evaluation.makespan == bounds.makespan &&
         best.evaluation.peak_activation == peak_activation_bound(best.problem, best.evaluation.makespan) &&
         pipeline::find_excess(best.problem, best.evaluation, options.memory_cap).empty();
}

/// What the searches may still use of the time that was allowed when `begin` was now.
SolveOptions with_time_left(const SolveOptions& options, std::chrono::steady_clock::time_point begin) {
  SolveOptions rest = options;
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.time_limit_seconds) rest.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - spent);
  return rest;
}

}  // namespace

Answer solve_auto(const Problem& problem, const SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Solution> best;
  improve(best, solve_one_at_a_time(problem, options), options);
  DOVETAIL_ASSERT(best.has_value());  // it applies to everything
  for (const Solver& solver : solvers())
    if (!solver.searches && solver.in_compare && !is_cancelled(options)) improve(best, solver.solve(problem, options), options);
  const Bounds bounds = bounds_of(problem);
  for (const Solver& solver : solvers()) {
    if (!solver.searches || !solver.in_compare) continue;
    if (is_cancelled(options) || bounds_met(*best, bounds, options)) break;
    Answer answer = solver.solve(problem, with_time_left(options, begin));
    const auto* found = std::get_if<Solution>(&answer);
    if (!found) continue;
    // What is answered depends on the search, whoever found the best: its record lets the run be repeated.
    const pipeline::SolverRecord record = found->solver;
    const auto stopped_by = found->stopped_by;
    improve(best, std::move(answer), options);
    best->solver = record;
    best->solver.name = "auto";
    best->stopped_by = bounds_met(*best, bounds, options) ? StoppedBy::bound : stopped_by;
  }
  return std::move(*best);
}

}  // namespace dovetail::fuse
