// A schedule: which op runs when on which device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::pipeline {

/// Order of the ops on every device, and the predecessors that belong to the order rather than to the problem.
struct Order {
  std::vector<std::vector<OpId>> devices;  ///< [device] ops in order of execution
  std::vector<Precedence> barriers;        ///< precedences between models that a serial solver runs one after the other

  friend bool operator==(const Order&, const Order&) = default;
};

/// An op with its times.
struct ScheduledOp {
  OpLabel label;
  Ticks start;
  Ticks end;

  friend bool operator==(const ScheduledOp&, const ScheduledOp&) = default;
};

/// Solver that made a schedule, as recorded in its file.
struct SolverRecord {
  std::string name;
  std::optional<std::uint64_t> seed;  ///< random seed; absent if nothing is random
  std::optional<std::int64_t> chains;
  std::optional<std::int64_t> iterations;  ///< iterations per chain

  friend bool operator==(const SolverRecord&, const SolverRecord&) = default;
};

/// Reason why a search stopped: its result met the bound, it reached its number of iterations or its time limit, or it
/// was interrupted by a caller, by Ctrl-C or by the loss of another process.
enum class StoppedBy { bound, iterations, time, interrupt };
std::string_view name_of(StoppedBy stopped_by);
std::optional<StoppedBy> stopped_by_named(std::string_view name);

/// Claims of a file about its schedule. Absent values are not claimed.
struct Claims {
  std::optional<Ticks> makespan;
  std::optional<Memory> peak_activation;
  std::optional<Ticks> bound_makespan;
  std::optional<Memory> bound_peak_activation;  ///< lower bound for schedules with at most the claimed makespan
  std::optional<bool> optimal_makespan;
  std::optional<bool> optimal_peak_activation;
  std::optional<SolverRecord> solver;
  std::optional<StoppedBy> stopped_by;

  friend bool operator==(const Claims&, const Claims&) = default;
};

/// A schedule of `problem`, read from a file or made by a solver. It may be invalid.
struct Schedule {
  Problem problem;
  std::vector<std::vector<ScheduledOp>> devices;  ///< [device] its ops in file order
  Claims claims;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Describes an op: "F7 of actor/1 stage 3".
std::string describe(const Problem& problem, const OpLabel& label);
/// Names an op by stage, kind and micro-batch, as PyTorch does: "3F7".
std::string short_name(const OpLabel& label);

}  // namespace dovetail::pipeline
