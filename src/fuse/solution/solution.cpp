#include "fuse/solution/solution.h"

#include <algorithm>
#include <utility>

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;

/// Returns the sum of the excess over all devices, saturated at the maximum.
Memory total_excess(const Solution& solution, std::optional<Memory> cap) {
  Memory total;
  for (const auto& device : pipeline::find_excess(solution.problem, solution.evaluation, cap)) {
    const Memory excess = device.peak - device.capacity;
    total = excess > Memory::max() - total ? Memory::max() : total + excess;
  }
  return total;
}

}  // namespace

double limit_seconds_left(const SolveOptions& options, double estimate, double seconds) {
  if (!options.time_limit_seconds) return estimate;
  return std::min(estimate, std::max(0.0, *options.time_limit_seconds - seconds));
}

Rank rank_of(Memory excess, Ticks makespan, Memory peak, const SolveOptions& options) {
  if (options.objective == Objective::memory && !options.deadline)
    return {excess.count(), peak.count(), makespan.count(), 0};
  return {excess.count(), std::max(makespan, options.deadline.value_or(Ticks(0))).count(), peak.count(),
          makespan.count()};
}

bool is_better(const Solution& a, const Solution& b, const SolveOptions& options) {
  const auto rank = [&options](const Solution& solution) {
    return rank_of(total_excess(solution, options.memory_cap), solution.evaluation.makespan,
                   solution.evaluation.peak_activation, options);
  };
  return rank(a) < rank(b);
}

pipeline::Schedule to_schedule(const Solution& solution, const Bounds& bounds, BoundOptions proof) {
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  proof.known_peak = solution.evaluation.peak_activation;
  const Memory peak_bound = std::max(peak_activation_bound(solution.problem, solution.evaluation.makespan, proof),
                                     solution.proven_peak.value_or(Memory(0)));
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
