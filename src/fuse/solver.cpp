#include "fuse/solver.h"

#include <algorithm>
#include <tuple>

#include "fuse/annealing.h"
#include "fuse/constructions.h"
#include "fuse/exact.h"
#include "fuse/pattern.h"
#include "fuse/portfolio.h"
#include "fuse/search.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;

constexpr Solver registry[] = {
    {.name = "gpipe", .summary = "all forwards, then all backwards; models one after the other", .solve = solve_gpipe},
    {.name = "1f1b", .summary = "one forward, one backward; models one after the other", .is_baseline = true, .solve = solve_1f1b},
    {.name = "1f1b+", .summary = "1f1b with half the stages and twice the replicas (another layout)", .solve = solve_1f1b_plus},
    {.name = "interleaved-1f1b", .summary = "1f1b over stages that go round their devices several times", .solve = solve_interleaved_1f1b},
    {.name = "zb-h1", .summary = "zero bubble for split backwards, within the memory of 1f1b", .solve = solve_zb_h1},
    {.name = "zb-h2", .summary = "zero bubble for split backwards, with up to twice that memory", .solve = solve_zb_h2},
    {.name = "zb-v", .summary = "zero bubble for split backwards and stages in a V", .solve = solve_zb_v},
    {.name = "one-at-a-time", .summary = "one micro-batch at a time: the least memory of all", .solve = solve_one_at_a_time},
    {.name = "chimera", .summary = "two equal pipelines in opposite directions, merged", .solve = solve_chimera},
    {.name = "fused-1f1b", .summary = "1f1b of all models at once, without waiting", .solve = solve_fused_1f1b},
    {.name = "greedy", .summary = "the greedy of RLHFuse: earliest start first, the first model before the others", .solve = solve_greedy},
    {.name = "list", .summary = "list scheduling, the best of a grid of priorities and in-flight caps", .solve = solve_list},
    {.name = "pattern", .summary = "a warm-up, a pattern that repeats, a drain: for many micro-batches", .solve = solve_pattern},
    {.name = "annealing",
     .summary = "the simulated annealing of RLHFuse, its cooling fitted to the iterations",
     .searches = true,
     .solve = solve_annealing},
    {.name = "annealing-published",
     .summary = "the same with the parameters and iterations of its published experiment (minutes)",
     .in_compare = false,
     .searches = true,
     .solve = solve_annealing_published},
    {.name = "exact",
     .summary = "the proven optimum of small problems, by branch and bound",
     .in_compare = false,
     .searches = true,
     .solve = solve_exact},
    {.name = "search",
     .summary = "walks among schedules: least makespan, then least peak at it",
     .searches = true,
     .is_shared = true,
     .solve = solve_search},
    {.name = "auto",
     .summary = "the best of all that apply",
     .in_compare = false,
     .searches = true,
     .is_shared = true,
     .solve = solve_auto},
};

/// The sum over devices of what does not fit, or the most that can be held.
Memory total_excess(const Solution& solution, std::optional<Memory> cap) {
  Memory total;
  for (const auto& device : pipeline::find_excess(solution.problem, solution.evaluation, cap)) {
    const Memory excess = device.peak - device.capacity;
    total = excess > Memory::max() - total ? Memory::max() : total + excess;
  }
  return total;
}

}  // namespace

std::span<const Solver> solvers() { return registry; }

const Solver* find_solver(std::string_view name) {
  const auto found = std::find_if(std::begin(registry), std::end(registry), [name](const Solver& solver) { return solver.name == name; });
  return found == std::end(registry) ? nullptr : found;
}

bool is_better(const Solution& a, const Solution& b, const SolveOptions& options) {
  const auto key = [&options](const Solution& solution) {
    const Memory excess = total_excess(solution, options.memory_cap);
    const auto [makespan, peak] = std::pair(solution.evaluation.makespan, solution.evaluation.peak_activation);
    if (options.objective == Objective::memory && !options.deadline) return std::tuple(excess, peak.count(), makespan.count(), makespan);
    return std::tuple(excess, std::max(makespan, options.deadline.value_or(Ticks(0))).count(), peak.count(), makespan);
  };
  return key(a) < key(b);
}

pipeline::Schedule to_schedule(const Solution& solution, const Bounds& bounds) {
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  BoundOptions proof;
  proof.known_peak = solution.evaluation.peak_activation;
  const Memory peak_bound =
      std::max(peak_activation_bound(solution.problem, solution.evaluation.makespan, proof), solution.proven_peak.value_or(Memory(0)));
  const Ticks makespan_bound = std::max(bounds.makespan, solution.proven_makespan.value_or(Ticks(0)));
  pipeline::Claims& claims = schedule.claims;
  claims.bound_makespan = makespan_bound;
  claims.bound_peak_activation = peak_bound;
  claims.optimal_makespan = solution.evaluation.makespan == makespan_bound;
  claims.optimal_peak_activation = solution.evaluation.peak_activation == peak_bound;
  claims.solver = solution.solver;
  claims.stopped_by = solution.stopped_by;
  return schedule;
}

}  // namespace dovetail::fuse
