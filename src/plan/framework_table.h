// The rows of the table of frameworks. One with several backends has a row for each, the first of which is taken where
// a job does not say whose memory conventions are its own.
#pragma once

#include <vector>

#include "plan/framework.h"

namespace dovetail::plan {

/// What the runtime of this repository runs (src/runtime).
Framework dovetail_framework();

/// verl's trainer (verl-project/verl at 1dda039b9): its synchronous mode is searched, in which actor, reference, critic
/// and engine have one pool of all GPUs and run strictly one after the other (verl/trainer/ppo/v1/trainer_sync.py).
std::vector<Framework> verl_frameworks();

/// OpenRLHF's (OpenRLHF/OpenRLHF at 3c3be623): its hybrid engine is searched, --train.colocate_all
/// (openrlhf/trainer/ppo_trainer.py).
Framework openrlhf_framework();

/// NeMo-RL's (NVIDIA-NeMo/RL at 7ea279abf): colocated generation is searched (nemo_rl/algorithms/grpo.py, ppo.py).
std::vector<Framework> nemo_rl_frameworks();

/// AReaL's (inclusionAI/AReaL at 4aef98d8d): of jobs on policy is searched that all roles are colocated with the actor
/// (areal/trainer/rl_trainer.py, areal/infra/scheduler/local.py).
std::vector<Framework> areal_frameworks();

/// ROLL's RLVR pipeline (alibaba/ROLL at 8eb27cc2): of jobs on policy is searched that all roles have all GPUs
/// (roll/pipeline/rlvr/rlvr_pipeline.py).
std::vector<Framework> roll_frameworks();

/// slime's (THUDM/slime at 624b824a8): of jobs on policy is searched `--colocate` (train.py,
/// slime/ray/placement_group.py).
Framework slime_framework();

}  // namespace dovetail::plan
