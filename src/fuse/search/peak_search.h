// How the chains of a search lower the peak at a deadline: cycles, then the best of all.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fuse/search/rounds.h"

namespace dovetail::fuse {

/// What the peak is lowered to, and within what.
struct PeakGoal {
  std::int64_t deadline;
  std::int64_t target;             ///< no peak below it is possible: the search ends there
  std::vector<std::int64_t> room;  ///< [device] capacity, or empty for none
  /// [own chain] what its cycles start from, within deadline and room; or empty for its best
  std::vector<pipeline::Order> starts;
};

/// Lowers the peaks of the chains until `rounds` has done the iterations that are planned, or the target is met.
/// REQUIRES: each chain's best is within the deadline.
///
/// Three quarters of the iterations go to cycles (peak_cycles.h), the last to reheats of the best that the chains have.
///
/// `plan_again` is called after every whole cycle, and may plan more iterations: how the cycles go on does not depend
/// on how many are planned, only where they end.
void lower_peaks(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal,
                 const std::function<void()>& plan_again);

}  // namespace dovetail::fuse
