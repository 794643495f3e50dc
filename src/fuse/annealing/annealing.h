// The simulated annealing of RLHFuse (NSDI 2025, algorithms 1 to 3) as FlexFusion runs it: the baseline of later
// searches.
#pragma once

#include <optional>

#include "fuse/annealing/annealing_state.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// One cooling: the temperature starts high and is multiplied by `cooling` at each iteration.
struct AnnealingPass {
  double start_temperature = 0;  ///< of the latency pass in ticks, of the memory pass in the unit of activation
  double cooling = 0;            ///< just below 1
  std::int64_t iterations = 0;   ///< of one run; 0: no such pass
  AnnealingMove move = AnnealingMove::adjacent_swap;
  int runs = 1;  ///< how often the pass starts anew
};

/// A latency pass from the greedy schedule, then `memory.runs` memory passes from what it found.
struct AnnealingParameters {
  AnnealingPass latency;
  AnnealingPass memory;
};

/// The parameters of FlexFusion's parallel_driver for the bundled instance that `problem` equals, if it is one of the
/// twelve.
std::optional<AnnealingParameters> published_parameters(const pipeline::Problem& problem);

/// Parameters whose coolings take `iterations` in all: three fifths latency, the rest one memory pass. Temperatures
/// follow the problem's durations and activations.
AnnealingParameters fitted_parameters(const pipeline::Problem& problem, std::int64_t iterations);

/// Runs `options.chains` chains, chain i drawing from stream (seed, i). All do their latency pass. Before each
/// memory run those whose makespan is not the best of all drop out, and the others start again from what their latency
/// pass found, as FlexFusion's workers do. A pass ends early when a chain has met the bound that it works towards.
/// REQUIRES: !why_not_annealed(problem).
Solution anneal(const pipeline::Problem& problem, const AnnealingParameters& parameters, const SolveOptions& options);

/// Solver entries: with fitted and with published parameters.
Answer solve_annealing(const pipeline::Problem& problem, const SolveOptions& options);
Answer solve_annealing_published(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
