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
  double memory = 0;  ///< mean activation that a forward acquires, in millionths of the memory unit
};
Scale scale_of(const pipeline::OpGraph& graph);

/// Returns a makespan descent of `iterations`. `turn` (0, 1, 2, ...) selects its initial temperature and whether it
/// makes only prompt swaps. No temperature suits all problems: those with little slack need a low one.
MakespanDescent makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns a makespan descent of `iterations` within capacities. For every fourth `turn` (3, 7, ...), it may exceed
/// capacities at a price. It then begins at a low price and mostly at a high temperature, so that little of the
/// starting schedule remains.
MakespanDescent limited_makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations);

/// Returns the lengths of makespan coolings that take `iterations` in total. The first length is proportional to `ops`.
/// Each cooling is twice as long as the previous one, except that the last takes all that is left.
std::vector<std::int64_t> makespan_coolings(std::int64_t ops, std::int64_t iterations);

/// Returns the cooling of a peak descent that starts at temperature `heat`, in units of scale.memory.
Cooling peak_cooling(const Scale& scale, double heat, std::int64_t iterations);
/// Returns the amount by which a peak descent lowers its cap each time (PeakDescent::step).
std::int64_t cap_step(const Scale& scale);

/// Returns the initial heat of a peak descent from any schedule. `turn` (0, 1, 2, ...) selects it.
double fresh_heat(std::size_t turn);
/// Returns the initial heat of a peak descent from a schedule with a low peak. `turn` (0, 1, 2, ...) selects it.
double reheat_heat(std::size_t turn);

}  // namespace dovetail::fuse
