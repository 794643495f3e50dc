// What a chain of the search does with its walk: shorten the makespan, or lower the peak at a deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "fuse/annealing/cooling.h"
#include "fuse/search/swap_walk.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Chains side by side in memory run on different cores: what one core writes all the time must not be where another
/// reads.
inline constexpr std::size_t apart = 128;

inline constexpr std::int64_t no_score = std::numeric_limits<std::int64_t>::max();

/// A candidate, its best so far, and its own random numbers.
struct alignas(apart) Chain {
  SwapWalk walk;
  base::Random random;
  pipeline::Order best;
  std::int64_t best_makespan = 0;
  std::int64_t best_peak = 0;
  std::int64_t best_score = no_score;  ///< steadiness (steady_walk.h), where it was measured
};

/// A chain at `order`, which is its best so far.
Chain chain_from(const pipeline::OpGraph& graph, const pipeline::Order& order, std::uint64_t seed,
                 std::uint64_t stream);
/// Takes what the walk is at now as the best so far.
void record(Chain& chain);
/// Goes on from `order`, which becomes its best.
void restart(Chain& chain, const pipeline::Order& order);

/// The state of a descent of the makespan; its temperature is in ticks.
struct alignas(apart) MakespanDescent {
  Cooling cooling;
  bool prompt = true;  ///< only by swaps that leave no device waiting for the op that goes first (SwapWalk::is_prompt)
  /// Ticks that a millionth of a level beyond a capacity costs, and the factor of each step. At 0 no swap goes beyond a
  /// capacity.
  double price = 0;
  double price_factor = 1;
};

/// Anneals the makespan by uniform random swaps of unlike neighbours: what is not longer is taken, what is longer by a
/// chance that falls with the temperature. No device goes beyond its `capacity` ([device], millionths) where it is not
/// beyond it already; or it does so at a price, and only what fits becomes the chain's best. Does `iterations`
/// proposals, or fewer where the makespan comes down to `target`.
void shorten(Chain& chain, MakespanDescent& descent, std::int64_t iterations, std::int64_t target,
             const std::vector<std::int64_t>& capacity);

/// The state of a descent of the peak at a deadline. The energy is the sum, over the ops of each device, of what their
/// levels exceed the cap; a swap changes one term. The cap is lowered by `step` whenever the energy is small for the
/// temperature (in millionths).
struct alignas(apart) PeakDescent {
  Cooling cooling;
  std::int64_t deadline;
  std::int64_t step;
  std::vector<std::int64_t> capacity;  ///< [device] levels beyond it are never allowed where they are not there already
  bool prompt = false;  ///< only by swaps that leave no device waiting for the op that goes first (SwapWalk::is_prompt)
  std::int64_t cap = 0;
  double energy = 0;  ///< exact below 2^53; of larger activations the sum could leave 64 bits
};

/// A descent from where the chain is. REQUIRES: its makespan is within the deadline.
PeakDescent descent_from(const Chain& chain, const Cooling& cooling, std::int64_t deadline, std::int64_t step,
                         const std::vector<std::int64_t>& capacity);

/// Does `iterations` proposals of the descent, never beyond its deadline, or fewer where the peak comes down to
/// `target`.
void lower_peak(Chain& chain, PeakDescent& descent, std::int64_t iterations, std::int64_t target);

/// Does `iterations` prompt random swaps that keep the makespan within `deadline` and each device's levels within
/// `limit` ([device]).
void wander(Chain& chain, std::int64_t iterations, std::int64_t deadline, const std::vector<std::int64_t>& limit);

}  // namespace dovetail::fuse
