// Logs of NeMo-RL (NVIDIA-NeMo/RL; nemo_rl/algorithms/{grpo,ppo}.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timing/train/...`, in seconds, of its GRPO and PPO.
const LogKeys& nemo_rl_log_keys();

/// Reads its console: the list below "Timing:" of each "=== Step 12/100 ===", and the mean length of what is generated.
LineReader nemo_rl_line_reader();

}  // namespace dovetail::trainers
