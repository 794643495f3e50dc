// Among schedules that are equally good, the one that loses least when durations vary.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/search/walk_phases.h"
#include "parallel/cancellation.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// What a varied schedule is worth: the less the better. In thousandths of a tick: (100 - percent)% of its makespan and
/// percent% of the 95th percentile of its makespans under 5% variation; with 0 percent the percentile alone, for
/// schedules of equal makespan.
struct SteadinessMeasure {
  int percent = 0;
  int draws = 100;
  std::uint64_t seed = 1;
};
std::int64_t steadiness(const pipeline::OpGraph& graph, const pipeline::Order& order, std::int64_t makespan,
                        const SteadinessMeasure& measure);

/// Walks from the chain's best for `samples` samples of `iterations` proposals each, by swaps that keep the makespan
/// within `deadline` and the levels within `peak` and `capacity` ([device], or empty). A sample that scores better
/// (makespan no longer and peak no higher than the best's, where percent is 0) becomes the best; after each that does
/// not, the walk goes back to the best.
void walk_steadily(Chain& chain, const pipeline::OpGraph& graph, std::int64_t deadline, std::int64_t peak,
                   const std::vector<std::int64_t>& capacity, const SteadinessMeasure& measure, int samples,
                   std::int64_t iterations);

}  // namespace dovetail::fuse
