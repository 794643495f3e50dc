// Annealing temperatures of the searches, relative to the problem's own durations and activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/annealing/cooling.h"
#include "fuse/search/walk_phases.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// Units of the searches' temperatures.
struct Scale {
  double time = 0;    ///< mean duration of an op, in ticks
  double memory = 0;  ///< mean activation that a forward acquires, in millionths
};
Scale scale_of(const pipeline::OpGraph& graph);

/// Returns the makespan descent for turn 0, 1, 2, ... Turns differ in their initial temperature: problems with little
/// slack need a low one.
MakespanDescent makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns the makespan descent within capacities. Every fourth turn allows violations at a price. Such a turn begins
/// at a high temperature and a low price, so that little of the starting schedule remains.
MakespanDescent limited_makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns the lengths of makespan coolings that take `iterations` in total: each is twice as long as the previous one,
/// and the last takes the rest.
std::vector<std::int64_t> makespan_coolings(std::int64_t ops, std::int64_t iterations);

/// Return the cooling of a peak descent that starts at `heat` (in units of the scale's memory), and the amount by which
/// each step lowers the cap (in millionths).
Cooling peak_cooling(const Scale& scale, double heat, std::int64_t iterations);
std::int64_t cap_step(const Scale& scale);

/// Return the initial heat of a peak descent for turn 0, 1, 2, ...: from any schedule, and from one with a low peak.
double fresh_heat(std::size_t turn);
double reheat_heat(std::size_t turn);

}  // namespace dovetail::fuse
