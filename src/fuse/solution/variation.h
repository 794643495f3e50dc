// Makespans of a schedule when durations vary.
#pragma once

#include <cstdint>

#include "parallel/cancellation.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Variation of durations. The duration of each F, B, I and W is multiplied by an independent uniform factor between
/// 1-x and 1+x. Transfers and optimizer steps do not vary. The factor depends only on the seed, the number of the draw
/// and the op's label, so an op has the same factors in all schedules.
struct VariationOptions {
  int thousandths = 50;  ///< x in thousandths: 50 means 5%
  int draws = 1000;
  std::uint64_t seed = 1;
  int threads = 1;
  const parallel::Cancellation* cancellation = nullptr;
};

/// Nearest-rank percentiles of a schedule's makespan over all draws. Every draw keeps the order of ops. Values are
/// capped at 2^61 thousandths of a tick (26 days if a tick is 1 ns).
struct Variation {
  std::int64_t median_thousandths = 0;
  std::int64_t percentile_95_thousandths = 0;
};

/// Evaluates `order` with varied durations of `graph`. A factor is uniform among the multiples of a millionth in its
/// range, and a varied duration is rounded half up to a thousandth of a tick. A canceled run returns the percentiles of
/// the draws done so far, or 0 if none was done. REQUIRES: the order does not deadlock, draws is at least 1, and
/// thousandths is from 0 to 1000.
Variation vary_durations(const pipeline::OpGraph& graph, const pipeline::Order& order, const VariationOptions& options);

}  // namespace dovetail::fuse
