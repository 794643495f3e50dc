// Pattern schedules for many micro-batches: warm-up, repeated pattern, drain. The cost of finding one does not depend
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

/// Parameters of a pattern schedule. A round is one repetition of the pattern. Numbers of rounds are in percent of the
/// rounds in flight in the timetable without buffers, so that parameters found on a small problem apply to a large one.
struct PatternParameters {
  std::vector<int> buffer;  ///< [model] additional rounds in flight on its first stage, in percent
  std::vector<int> lead;    ///< [model] rounds by which it is ahead of the timetable at the start, in percent

  /// Activation that the ramps may hold on a device, in percent of the maximum that the timetable holds on any device
  int memory = 100;
  int settle = 0;  ///< rounds for which a ramp continues after the pattern has begun on all devices, in percent

  friend bool operator==(const PatternParameters&, const PatternParameters&) = default;
};

/// Schedule of one mini-batch in compact form. Its size does not depend on the number of micro-batches.
struct CompactSchedule {
  Timetable timetable;              ///< the repeated pattern between warm-up and drain
  std::vector<std::int64_t> ahead;  ///< [pipeline] micro-batch m runs when the timetable runs m - ahead[pipeline]
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
/// capacity and the memory cap of `options` if possible (see CompactSchedule::excess). For a large problem, parameters
/// are first tuned on a subset of the devices. The work is limited to a number of scheduled ops, which a short time
/// limit lowers. No clock is read, so results are reproducible. Returns a message if the problem has no pattern, if the
/// search is canceled before it finds one, or if all patterns that it tries deadlock.
std::variant<PatternFound, std::string> search_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// Returns the order that `found` represents. `lowering` is the split form of the problem that was searched.
pipeline::Order expand_pattern(const PatternFound& found, const pipeline::Problem& problem,
                               const pipeline::Lowering& lowering);

/// Searches for a pattern, expands it to all micro-batches and evaluates it. Uses memory_cap, objective, deadline,
/// time_limit_seconds, threads and cancellation of the options. Deterministic, but a short time limit may change the
/// result. Not applicable if there are too few micro-batches, or if models differ in their number of mini-batches.
Answer solve_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// Returns patterns for a problem with a capacity, and for slightly smaller capacities, as starts for a search. More
/// memory does not always give a shorter pattern, so one found for a smaller capacity may be better. Takes several
/// times as long as solve_pattern.
std::vector<Solution> solve_patterns_within(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
