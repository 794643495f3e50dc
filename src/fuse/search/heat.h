// Annealing temperatures of the searches, relative to the problem's own durations and activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/annealing/cooling.h"
#include "fuse/search/walk_phases.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// Units of temperatures.
struct Scale {
  double time = 0;    ///< mean duration of an op, in ticks
  double memory = 0;  ///< mean activation that a forward acquires, in millionths
};
Scale scale_of(const pipeline::OpGraph& graph);

/// Returns a cooling of the makespan for turn 0, 1, 2, ... Crowded problems need little heat, loose ones more.
MakespanDescent makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns a cooling of the makespan within capacities. Every fourth turn allows violations at a price. It starts at so
/// high a temperature and so low a price that nothing of the starting schedule remains.
MakespanDescent limited_makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns the lengths of makespan coolings that take `iterations` in total: each is twice as long as the previous one,
/// and the last takes the rest.
std::vector<std::int64_t> makespan_coolings(std::int64_t ops, std::int64_t iterations);

/// Return a cooling of the peak from `heat` (in units of the scale's memory), and how far each step lowers the cap (in
/// millionths).
Cooling peak_cooling(const Scale& scale, double heat, std::int64_t iterations);
std::int64_t cap_step(const Scale& scale);

/// Heat of a cooling of the peak for turn 0, 1, 2, ...: from any schedule, and from a schedule with a low peak.
double fresh_heat(std::size_t turn);
double reheat_heat(std::size_t turn);

}  // namespace dovetail::fuse
