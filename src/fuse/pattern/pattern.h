// Pattern schedules for many micro-batches: warm-up, repeated pattern, drain. The cost of building one does not depend
// on the number of micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fuse/pattern/pattern_ramp.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Parameters of a pattern schedule. Percentages are relative to the rounds in flight of the timetable without buffers,
/// so that parameters found on a small problem apply to a large one.
struct PatternParameters {
  std::vector<int> buffer;  ///< [model] additional rounds in flight on its first stage, in percent
  std::vector<int> lead;    ///< [model] rounds by which it is ahead of the timetable at the start, in percent
  int memory = 100;         ///< activation that the ramps may hold on a device, in percent of the timetable's
  int settle = 0;  ///< rounds for which a ramp continues after the pattern has begun on all devices, in percent

  friend bool operator==(const PatternParameters&, const PatternParameters&) = default;
};

/// Schedule of one mini-batch in compact form: its size depends on the number of stages, not of micro-batches.
struct CompactSchedule {
  Timetable timetable;              ///< the repeated pattern between warm-up and drain
  std::vector<std::int64_t> ahead;  ///< [pipeline] micro-batch m runs when the timetable runs micro-batch m - ahead
  std::vector<std::int64_t> warm_up_count;         ///< [class] number of micro-batches in the warm-up
  std::vector<std::int64_t> drain_count;           ///< [class] number of micro-batches in the drain
  std::vector<std::vector<std::int32_t>> warm_up;  ///< [device] classes of the warm-up ops, in order
  std::vector<std::vector<std::int32_t>> drain;    ///< [device] classes of the drain ops, in order
  std::int64_t makespan = 0;                       ///< upper bound on the evaluated makespan, without optimizer steps
  std::int64_t peak_activation = 0;                ///< upper bound on the evaluated peak
  std::int64_t excess = 0;                         ///< excess of the pattern over the capacity, summed over devices
  PatternParameters parameters;
};

/// A compact schedule and the classes it refers to.
struct PatternFound {
  ClassGraph graph;
  CompactSchedule schedule;
};

/// Searches for the pattern parameters that best meet the objective of `options`. The pattern fits within the problem's
/// capacity and the memory cap of `options` if possible (see CompactSchedule::excess). Large problems are first tuned
/// on a subset of their devices. A budget of placed ops, which a short time limit lowers, bounds the work; no clock is
/// read, so results are reproducible. Returns a message if there is no pattern.
std::variant<PatternFound, std::string> search_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// Returns the order that `found` represents. `lowering` is the split form of the problem that was searched.
pipeline::Order expand_pattern(const PatternFound& found, const pipeline::Problem& problem,
                               const pipeline::Lowering& lowering);

/// Searches a pattern, expands it to all micro-batches and evaluates it. Uses memory_cap, objective, deadline, threads
/// and cancellation of the options. Deterministic, but a short time limit may change the result. Not applicable if
/// there are too few micro-batches, or if models differ in their number of mini-batches.
Answer solve_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// Returns patterns for a problem with a capacity, and for slightly smaller capacities, as starts for a search. The
/// length of a pattern depends on the memory it is made for, and more memory does not always give a shorter one. Takes
/// several times as long as solve_pattern.
std::vector<Solution> solve_patterns_within(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
