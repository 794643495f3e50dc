// Logs of verl (verl-project/verl; verl/trainer/ppo/{ray_trainer,metric_utils}.py, verl/trainer/ppo/v1,
// verl/experimental, verl/utils/logger/aggregate_logger.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timing_s/...`, in seconds, of all its trainers; `timing/...` of old versions.
const LogKeys& verl_log_keys();

/// Reads its console logger: "step:1 - timing_s/gen:12.3 - ...", wherever in a line that begins.
LineReader verl_line_reader();

}  // namespace dovetail::trainers
