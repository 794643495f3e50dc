// Which ops a rank runs, when the schedule has them, and the stages they are of: what compile works on.
#pragma once

#include <vector>

#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// An op on a rank; replica and stage as the ranks have them.
struct RankOp {
  OpLabel label;
  int stage = 0;   ///< into the rank's stages
  int member = 0;  ///< the rank's place among those that compute the stage together
  Ticks start;     ///< of the rank's part: parts of F run one after the other, those of a backward in reverse
  Ticks end;
};

/// Whether an op is the last that a micro-batch does on a stage: its gradient is there, and its memory free.
constexpr bool ends_backward(OpKind kind) { return kind == OpKind::B || kind == OpKind::W; }

/// A rank's stages, and its ops in the order in which it runs them.
struct RankWork {
  std::vector<ProgramStage> stages;
  std::vector<RankOp> ops;
};

/// [rank] REQUIRES: the schedule is valid, the placement one of its problem.
std::vector<RankWork> work_of_ranks(const Schedule& schedule, const Placement& placement);

}  // namespace dovetail::pipeline
