// Logs of slime (THUDM/slime; slime/observability/{train_metric_utils,rollout_metrics}.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `perf/..._time`, in seconds.
const LogKeys& slime_log_keys();

/// Reads its console: "perf 12: {'perf/rollout_time': 30.1, ...}", of the rollout and of the training, and "rollout
/// 12: {...}". A step is a rollout.
LineReader slime_line_reader();

}  // namespace dovetail::trainers
