// The validator: reads the problem itself, not its lowering, and shares no code with evaluator or solvers.
#pragma once

#include <optional>
#include <string>

#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// The rule that a schedule breaks.
enum class Rule {
  unknown_op,    ///< no such op in the problem
  wrong_device,  ///< its stage is on another device
  duplicate_op,
  wrong_duration,
  missing_op,
  overlap,         ///< two ops of a device at once
  precedence,      ///< starts before a predecessor has ended (and its transfer arrived)
  capacity,        ///< more held on a device than fits
  false_makespan,  ///< the file's makespan is not the schedule's
  false_peak,      ///< the file's peak activation is not the schedule's
};
/// "overlap", "broken precedence", ...
std::string_view name_of(Rule rule);

/// The first rule broken.
struct Violation {
  Rule rule;
  std::string message;                ///< names the ops and their times
  std::optional<std::size_t> device;  ///< where in Schedule::devices; absent where no device is to blame
  std::optional<std::size_t> row;     ///< of the device; absent where no row is to blame (a missing op)
};

/// How exactly claims are compared; the traces of FlexFusion print activation as a rounded float.
struct Tolerance {
  Memory activation;
};

/// Checks each op once, on its device, of its duration, after its predecessors, without overlap, within capacity, and
/// the claims. Rows are checked in file order, then times in order of start. Nothing where the schedule breaks no rule.
std::optional<Violation> validate(const Schedule& schedule, Tolerance tolerance = {});

}  // namespace dovetail::pipeline
