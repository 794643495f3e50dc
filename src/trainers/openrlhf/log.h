// Logs of OpenRLHF (OpenRLHF/OpenRLHF; openrlhf/trainer/{ppo_trainer,ppo_trainer_async}.py,
// openrlhf/utils/logging_utils.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timing/...`, in seconds; trackers put `train/` before it.
const LogKeys& openrlhf_log_keys();

/// Reads its console: "Global step 12: {'timing/generation': 30.1, ...}".
LineReader openrlhf_line_reader();

}  // namespace dovetail::trainers
