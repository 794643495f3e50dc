// What a schedule is worth when ops do not last as long as planned.
#pragma once

#include <cstdint>

#include "parallel/cancellation.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// How durations vary: each op's times an independent uniform factor in [1-x, 1+x], x in thousandths (50: 5%).
/// Transfers and optimizer steps are not varied. A draw's factor of an op depends only on the seed, the draw's number
/// and the op's label: all solvers meet the same draws.
struct VariationOptions {
  int thousandths = 50;
  int draws = 1000;
  std::uint64_t seed = 1;
  int threads = 1;
  const parallel::Cancellation* cancellation = nullptr;
};

/// Makespans over the draws with the order kept, in thousandths of a tick. Nearest-rank percentiles.
/// A makespan beyond 2^61 thousandths of a tick (26 days, in ns) is given as that much.
struct Variation {
  std::int64_t median_thousandths = 0;
  std::int64_t percentile_95_thousandths = 0;
};

/// Varies the durations of `graph` under `order`: the factor is uniform among whole millionths, a varied duration is
/// rounded half up to a thousandth of a tick. A cancelled run counts the draws done so far, and is all 0 where there
/// are none. REQUIRES: the order does not deadlock; 1 <= draws; 0 <= thousandths <= 1000.
Variation vary_durations(const pipeline::OpGraph& graph, const pipeline::Order& order, const VariationOptions& options);

}  // namespace dovetail::fuse
