// Training phase of a rank: runs the rank's program on its stages.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "execute/interpreter.h"
#include "pipeline/program/program.h"
#include "runtime/training/optimizer.h"
#include "runtime/training/role_training.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Training of one model of the program, and its stages on this rank.
struct PhaseRole {
  const control::Training* training = nullptr;
  std::vector<StageState>* states = nullptr;  ///< stages on this rank; may be empty
};

struct PhaseResult {
  execute::Trace trace;
  std::vector<std::vector<MiniBatchResult>>
      roles;  ///< [model][mini-batch]; empty for a model without stages on this rank
};

/// Trains `roles`, one per model of the program, and returns the trace and the results. Calls Training::decide for
/// every role that has stages here. Errors of `decide` and of the transport end the phase on all ranks.
///
/// REQUIRES: each role has as many mini-batches as its model in the program. The programs of all ranks pass
/// pipeline::check together. Each stage of the program has a state, whose optimizer has the parts that its replica
/// steps.
base::Result<PhaseResult> run_training_phase(const pipeline::Program& program, std::span<const PhaseRole> roles,
                                             transport::Transport& transport, const execute::RunOptions& options);

}  // namespace dovetail::runtime
