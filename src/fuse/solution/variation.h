// Makespans of a schedule when durations vary.
#pragma once

#include <cstdint>

#include "parallel/cancellation.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Variation of durations. The duration of each op is multiplied by an independent uniform factor in [1-x, 1+x], with x
/// in thousandths (50: 5%). Transfers and optimizer steps do not vary. The factor depends only on the seed, the number
/// of the draw and the op's label, so all solvers see the same draws.
struct VariationOptions {
  int thousandths = 50;
  int draws = 1000;
  std::uint64_t seed = 1;
  int threads = 1;
  const parallel::Cancellation* cancellation = nullptr;
};

/// Makespans over the draws with a fixed order, in thousandths of a tick, as nearest-rank percentiles. Values are
/// capped at 2^61 thousandths of a tick (26 days if a tick is 1 ns).
struct Variation {
  std::int64_t median_thousandths = 0;
  std::int64_t percentile_95_thousandths = 0;
};

/// Evaluates `order` with varied durations of `graph`. A factor is uniform among the multiples of a millionth in its
/// range, and a varied duration is rounded half up to a thousandth of a tick. A canceled run counts the draws done so
/// far. All values are 0 without any draw. REQUIRES: the order does not deadlock; 1 <= draws; 0 <= thousandths <= 1000.
Variation vary_durations(const pipeline::OpGraph& graph, const pipeline::Order& order, const VariationOptions& options);

}  // namespace dovetail::fuse
