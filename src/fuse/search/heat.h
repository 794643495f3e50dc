// How hot the searches' annealing runs, in parts of the problem's own durations and activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/annealing/cooling.h"
#include "fuse/search/walk_phases.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// What temperatures are counted in.
struct Scale {
  double time = 0;    ///< mean duration of an op, in ticks
  double memory = 0;  ///< mean activation that a forward takes, in millionths
};
Scale scale_of(const pipeline::OpGraph& graph);

/// A cooling of the makespan, for turn 0, 1, 2, ...: crowded problems need little heat, loose ones more.
MakespanDescent makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// The same within capacities: every fourth turn at a price, from so hot, and as yet so cheap, that nothing is left of
/// where it started.
MakespanDescent limited_makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// How long coolings of the makespan are that take `iterations` in all: each twice as long as the one before, and the
/// last what is left.
std::vector<std::int64_t> makespan_coolings(std::int64_t ops, std::int64_t iterations);

/// A cooling of the peak from `heat` (in parts of the scale's memory), and how far each step lowers the cap
/// (millionths).
Cooling peak_cooling(const Scale& scale, double heat, std::int64_t iterations);
std::int64_t cap_step(const Scale& scale);

/// The heat of a cooling of the peak from any schedule, and of one from a schedule of low peak; for turn 0, 1, 2, ...
double fresh_heat(std::size_t turn);
double reheat_heat(std::size_t turn);

}  // namespace dovetail::fuse
