// Warm-up, repeated pattern, drain: a schedule whose making costs the same for any number of micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fuse/pattern/pattern_ramp.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// What a pattern schedule is made from. Percentages are of the rounds that the tightest timetable has in flight, so
/// that they can be found on a small problem and used on a large one.
struct PatternParameters {
  std::vector<int> buffer;  ///< [model] percent more rounds in flight on its first stage
  std::vector<int> lead;    ///< [model] percent of rounds by which it is ahead of the timetable at the start
  int memory = 100;         ///< percent of the timetable's activation that the ramps may hold on a device
  int settle = 0;           ///< percent of rounds that a ramp goes on after the pattern has begun on all devices

  friend bool operator==(const PatternParameters&, const PatternParameters&) = default;
};

/// A schedule of one mini-batch in a form whose size depends on the stages, not on the micro-batches.
struct CompactSchedule {
  Timetable timetable;                             ///< the order in the middle
  std::vector<std::int64_t> ahead;                 ///< [pipeline] micro-batch m runs at the timetable's m - ahead
  std::vector<std::int64_t> warm_up_count;         ///< [class] micro-batches that the warm-up has
  std::vector<std::int64_t> drain_count;           ///< [class] micro-batches that the drain has
  std::vector<std::vector<std::int32_t>> warm_up;  ///< [device] classes in order
  std::vector<std::vector<std::int32_t>> drain;    ///< [device] classes in order
  std::int64_t makespan = 0;                       ///< evaluation gives no more, without optimizer steps
  std::int64_t peak_activation = 0;                ///< evaluation gives no more
  std::int64_t excess = 0;                         ///< what the pattern holds beyond the capacity, over all devices
  PatternParameters parameters;
};

/// A compact schedule and the classes that it speaks of.
struct PatternFound {
  ClassGraph graph;
  CompactSchedule schedule;
};

/// Searches the parameters by the objective of `options`, within its memory cap and the problem's capacity. Large
/// problems are first tuned on a part of their devices. The work is limited by the sizes of the stages and devices
/// alone (and lessened for short time limits, without looking at a clock). Or why there is no pattern.
std::variant<PatternFound, std::string> search_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// The order that `found` stands for. `lowering` is the split form of the problem that was searched.
pipeline::Order expand_pattern(const PatternFound& found, const pipeline::Problem& problem,
                               const pipeline::Lowering& lowering);

}  // namespace dovetail::fuse
