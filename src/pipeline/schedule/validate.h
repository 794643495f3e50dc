// The validator: reads the problem itself, not its lowering, and shares no code with the evaluator or the solvers.
#pragma once

#include <optional>
#include <string>

#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// A rule that a schedule can break.
enum class Rule {
  unknown_op,    ///< the problem does not have this op
  wrong_device,  ///< the op's stage is on another device
  duplicate_op,
  wrong_duration,
  missing_op,
  overlap,         ///< two ops run on one device at the same time
  precedence,      ///< an op starts before time 0, or before a predecessor ends or its transfer arrives
  capacity,        ///< a device holds more than its capacity
  false_makespan,  ///< the claimed makespan is not the schedule's
  false_peak,      ///< the claimed peak activation is not the schedule's
};
/// Returns the name of a rule: "overlap", "broken precedence", ...
std::string_view name_of(Rule rule);

/// A broken rule, and its location.
struct Violation {
  Rule rule;
  std::string message;                ///< names the ops and their times
  std::optional<std::size_t> device;  ///< index into Schedule::devices; absent if no device is to blame
  std::optional<std::size_t> row;     ///< row of the device; absent if no row is to blame (a missing op)
};

/// Accepted error of the claimed peak activation. FlexFusion traces print it as a rounded float.
struct Tolerance {
  Memory activation;
};

/// Returns the first broken rule, or nullopt. Checks that each op appears once, on its device, with its duration, after
/// its predecessors, without overlap and within capacity; then checks the claims. Rows are checked in file order, then
/// times in order of start.
std::optional<Violation> validate(const Schedule& schedule, Tolerance tolerance = {});

}  // namespace dovetail::pipeline
