// A rank's part of a training phase: its program run on its stages.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "execute/interpreter.h"
#include "pipeline/program/program.h"
#include "runtime/training/role_training.h"
#include "runtime/training/stage_state.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// A model of the program as this rank has it.
struct PhaseRole {
  const control::Training* training = nullptr;
  std::vector<StageState>* states = nullptr;  ///< its stages on this rank; may be empty
};

struct PhaseResult {
  execute::Trace trace;
  std::vector<std::vector<MiniBatchResult>> roles;  ///< [model][mini-batch]; empty where this rank has no stage of it
};

/// Trains `roles`, one a model of the program, with as many mini-batches as the program has, and says what was found.
/// Training::decide was called for all roles that have stages here. Errors: those of `decide` and of the transport,
/// which end the phase on all ranks. REQUIRES: the program of this rank, checked with all others; a state for each of
/// its stages, with the parts of its place among the replicas' ranks in their order.
base::Result<PhaseResult> run_training_phase(const pipeline::Program& program, std::span<const PhaseRole> roles,
                                             transport::Transport& transport, const execute::RunOptions& options);

}  // namespace dovetail::runtime
