// Chains of the search and the phases of their walks: shorten the makespan, lower the peak at a deadline, and find the
// most robust of equally good schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "fuse/annealing/cooling.h"
#include "fuse/search/swap_walk.h"
#include "parallel/cancellation.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Alignment that keeps chains on separate cache lines, because adjacent chains run on different cores.
inline constexpr std::size_t apart = 128;

/// Chain::best_score of a schedule that was not rated.
inline constexpr std::int64_t no_score = std::numeric_limits<std::int64_t>::max();

/// A walk, its best schedule so far, and its random number stream.
struct alignas(apart) Chain {
  SwapWalk walk;
  base::Random random;
  pipeline::Order best;
  std::int64_t best_makespan = 0;
  std::int64_t best_peak = 0;
  std::int64_t best_score = no_score;  ///< robustness() of `best`, or no_score
};

/// Returns a chain at `order`, which is its best so far.
Chain chain_from(const pipeline::OpGraph& graph, const pipeline::Order& order, std::uint64_t seed,
                 std::uint64_t stream);
/// Records the current state of the walk as the best so far.
void record(Chain& chain);
/// Continues from `order`, which becomes the chain's best.
void restart(Chain& chain, const pipeline::Order& order);

/// State of a descent of the makespan. The temperature is in ticks.
struct alignas(apart) MakespanDescent {
  Cooling cooling;
  bool prompt = true;  ///< whether only prompt swaps are made (SwapWalk::is_prompt)

  /// Cost in ticks of each millionth by which a memory level exceeds a capacity. 0: no swap exceeds a capacity.
  double price = 0;
  double price_factor = 1;  ///< factor by which the price is multiplied at each step of the cooling
};

/// Anneals the makespan by uniform random swaps of adjacent ops that are not alike. Swaps that make a cycle, or that
/// are not prompt if descent.prompt is set, are rejected. Any other swap is accepted if it does not increase the
/// makespan, and otherwise with a probability that falls with the temperature.
///
/// `capacity` ([device], in millionths of the memory unit) is empty if memory is unlimited. If descent.price is 0,
/// swaps that raise a memory level to more than the capacity are rejected, too. Otherwise, the price of the excess that
/// a swap adds counts like an increase of the makespan, and only schedules that fit become the chain's best. Does
/// `iterations` proposals, or fewer if the makespan reaches `target`.
void shorten(Chain& chain, MakespanDescent& descent, std::int64_t iterations, std::int64_t target,
             const std::vector<std::int64_t>& capacity);

/// State of a descent of the peak at a deadline. The energy is the sum over all ops of the amount by which their memory
/// levels exceed the cap; a swap changes one term. The cap is lowered by `step` whenever the energy is small compared
/// with the temperature. Except the deadline, all are in millionths of the memory unit.
struct alignas(apart) PeakDescent {
  Cooling cooling;
  std::int64_t deadline;
  std::int64_t step;
  std::vector<std::int64_t> capacity;  ///< [device] levels never exceed it unless they already do; empty: no limits
  bool prompt = false;                 ///< whether only prompt swaps are made, as in MakespanDescent
  std::int64_t cap = 0;                ///< memory level above which an op adds to the energy
  double energy = 0;  ///< exact below 2^53; with larger activations an integer sum could exceed 64 bits
};

/// Returns a descent from the chain's current state. REQUIRES: the makespan of that state is within `deadline`.
PeakDescent descent_from(const Chain& chain, const Cooling& cooling, std::int64_t deadline, std::int64_t step,
                         const std::vector<std::int64_t>& capacity);

/// Does `iterations` proposals of the descent, or fewer if the peak reaches `target`. The makespan never exceeds the
/// deadline of the descent.
void lower_peak(Chain& chain, PeakDescent& descent, std::int64_t iterations, std::int64_t target);

/// Proposes `iterations` random swaps. Makes those that are prompt and keep the makespan within `deadline` and the
/// memory levels of each device within `limit` ([device]).
void wander(Chain& chain, std::int64_t iterations, std::int64_t deadline, const std::vector<std::int64_t>& limit);

/// Parameters of robustness().
struct RobustnessMeasure {
  int percent = 0;         ///< weight of the 95th percentile; 0: it alone is the rating
  int draws = 100;         ///< number of random draws of all durations
  std::uint64_t seed = 1;  ///< seed of the draws
};
/// Returns the rating of a schedule under varying durations, in thousandths of a tick; lower is better. It is
/// (100 - percent)% of `makespan` plus percent% of the 95th percentile of the makespans when durations vary by up to
/// 5%. With percent 0 it is the percentile alone, which compares schedules of equal makespan.
std::int64_t robustness(const pipeline::OpGraph& graph, const pipeline::Order& order, std::int64_t makespan,
                        const RobustnessMeasure& measure);

/// Walks from the chain's best for `samples` samples of `iterations` proposals each. Swaps keep the makespan within
/// `deadline` and the levels within `peak` and `capacity` ([device], or empty). The schedule after a sample becomes the
/// chain's best if its rating is better and, for measure.percent 0, its makespan is not longer. Otherwise the walk
/// returns to the best.
void walk_for_robustness(Chain& chain, const pipeline::OpGraph& graph, std::int64_t deadline, std::int64_t peak,
                         const std::vector<std::int64_t>& capacity, const RobustnessMeasure& measure, int samples,
                         std::int64_t iterations);

}  // namespace dovetail::fuse
