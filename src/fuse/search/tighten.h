// Schedules within a capacity from the other side: short ones that hold too much, made to hold less.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/search/rounds.h"

namespace dovetail::fuse {

/// What tightening aims at.
struct TighteningGoal {
  const std::vector<std::int64_t>& room;  ///< [device] what may be held, in millionths
  std::int64_t makespan;                  ///< no need to be shorter
  std::uint64_t seed;
  std::int64_t iterations;  ///< of each chain, of the whole search
};

/// A schedule without any capacity, the shortest that a chain found.
struct FreeSchedule {
  pipeline::Order order;
  std::int64_t makespan;
};

/// Walks that keep within tight capacities hardly move. So each chain also shortens a schedule of `free` without any
/// capacity, and lowers its levels at a deadline until they fit the room: first at the least deadline, then, by
/// bisection, at later ones that are still earlier than what the chains have. That takes a third of the iterations; up
/// to nine tenths where the first attempt nearly fits. A schedule that fits and is shorter, or as short with a lower
/// peak, becomes its chain's best. Returns the shortest of each chain ([own]).
std::vector<FreeSchedule> tighten(Rounds& rounds, const pipeline::OpGraph& graph,
                                  const std::vector<pipeline::Order>& free, const TighteningGoal& goal);

}  // namespace dovetail::fuse
