// Logs of NeMo-RL (NVIDIA-NeMo/RL; nemo_rl/algorithms/{grpo,ppo}.py).
#pragma once

#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timing/train/...`, in seconds, of its GRPO and PPO.
const LogKeys& nemo_rl_log_keys();

}  // namespace dovetail::trainers
