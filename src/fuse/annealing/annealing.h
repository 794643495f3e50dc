// Simulated annealing of RLHFuse (NSDI 2025, algorithms 1 to 3) as implemented in FlexFusion: the baseline for other
// searches.
#pragma once

#include <optional>

#include "fuse/annealing/annealing_state.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// One cooling schedule: the temperature starts at `start_temperature` and is multiplied by `cooling` after each
/// iteration.
struct AnnealingPass {
  double start_temperature = 0;  ///< in ticks for a latency pass, in units of activation for a memory pass
  double cooling = 0;            ///< factor per iteration, just below 1
  std::int64_t iterations = 0;   ///< iterations per run; 0: the pass is skipped
  AnnealingMove move = AnnealingMove::adjacent_swap;
  int runs = 1;  ///< number of runs of the pass, each from the same start
};

/// Parameters of both passes. The latency pass starts from the greedy schedule. Each run of the memory pass starts from
/// the result of the latency pass.
struct AnnealingParameters {
  AnnealingPass latency;
  AnnealingPass memory;
};

/// Returns the parameters of FlexFusion's parallel_driver if `problem` equals one of the bundled instances exp0 to
/// exp11, otherwise nullopt.
std::optional<AnnealingParameters> published_parameters(const pipeline::Problem& problem);

/// Returns parameters whose passes take `iterations` in total: three fifths for the latency pass, the rest for one run
/// of the memory pass, but each at least one. The start temperature is the longest backward in the latency pass and the
/// largest activation in the memory pass.
AnnealingParameters fitted_parameters(const pipeline::Problem& problem, std::int64_t iterations);

/// Runs `options.chains` chains. Chain i uses random stream (seed, i). All chains run the latency pass. In each run of
/// the memory pass, only the chains whose makespan equals the overall best take part. They start from their results of
/// the latency pass, as FlexFusion's workers do. The latency pass ends early once the best chain meets the makespan
/// bound. A run of the memory pass ends early once the best chain meets both the makespan bound and the peak bound. The
/// iterations, time limit and cancellation of `options` end all passes. REQUIRES: why_not_annealed(problem) returns
/// nullopt.
Solution anneal(const pipeline::Problem& problem, const AnnealingParameters& parameters, const SolveOptions& options);

/// Solvers "annealing", with fitted parameters, and "annealing-published", with published ones.
Answer solve_annealing(const pipeline::Problem& problem, const SolveOptions& options);
Answer solve_annealing_published(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
