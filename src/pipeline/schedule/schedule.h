// A schedule: which op runs when on which device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::pipeline {

/// The order of the ops on every device, and the predecessors that belong to the order rather than to the problem.
struct Order {
  std::vector<std::vector<OpId>> devices;  ///< [device] ops in the order in which they run
  std::vector<Precedence> barriers;        ///< between models that a serial solver runs one after the other

  friend bool operator==(const Order&, const Order&) = default;
};

/// One op with its times.
struct ScheduledOp {
  OpLabel label;
  Ticks start;
  Ticks end;

  friend bool operator==(const ScheduledOp&, const ScheduledOp&) = default;
};

/// Who made a schedule, for its file.
struct SolverRecord {
  std::string name;
  std::optional<std::uint64_t> seed;  ///< absent where nothing was drawn
  std::optional<std::int64_t> chains;
  std::optional<std::int64_t> iterations;  ///< per chain

  friend bool operator==(const SolverRecord&, const SolverRecord&) = default;
};

/// What a search stopped at.
enum class StoppedBy { bound, iterations, time, interrupt };
std::string_view name_of(StoppedBy stopped_by);
std::optional<StoppedBy> stopped_by_named(std::string_view name);

/// What a file says of its schedule besides the ops. Absent: it says nothing.
struct Claims {
  std::optional<Ticks> makespan;
  std::optional<Memory> peak_activation;
  std::optional<Ticks> bound_makespan;
  std::optional<Memory> bound_peak_activation;  ///< at the makespan that the schedule has
  std::optional<bool> optimal_makespan;
  std::optional<bool> optimal_peak_activation;
  std::optional<SolverRecord> solver;
  std::optional<StoppedBy> stopped_by;

  friend bool operator==(const Claims&, const Claims&) = default;
};

/// A schedule of `problem`, as found in a file or made by a solver; not necessarily a valid one.
struct Schedule {
  Problem problem;
  std::vector<std::vector<ScheduledOp>> devices;  ///< [device], in the file's order
  Claims claims;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// "F7 of actor/1 stage 3": an op in words.
std::string describe(const Problem& problem, const OpLabel& label);
/// "3F7": stage, kind and micro-batch, as PyTorch writes it.
std::string short_name(const OpLabel& label);

}  // namespace dovetail::pipeline
