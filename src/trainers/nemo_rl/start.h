// What stops NeMo-RL before its first step (nemo_rl/algorithms/{grpo,ppo}.py, nemo_rl/models/policy/lm_policy.py,
// nemo_rl/models/{megatron,automodel}/setup.py, nemo_rl/models/generation/vllm/vllm_generation.py).
#pragma once

#include <string>

#include "base/result.h"
#include "trainers/nemo_rl/settings.h"

namespace dovetail::trainers {

/// An Error at the key for which NeMo-RL would stop; `loop` is "grpo" or "ppo". Sizes that do not divide the devices
/// are found where layouts are made.
base::Status check_nemo_rl_start(const ComposedSettings& settings, const std::string& loop);

}  // namespace dovetail::trainers
