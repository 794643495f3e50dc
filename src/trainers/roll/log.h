// Logs of ROLL (alibaba/ROLL; roll/pipeline/{rlvr,agentic}, roll/utils/tracking.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `time/...`, in seconds. The pipeline of rules and rewards logs with each step what the one before took in all.
const LogKeys& roll_log_keys();

/// Reads its log: the object of metrics that stands alone in a message of the pipeline, whose step is that of the last
/// "pipeline step 12 start" or "global step 12 start", and "metrics_tag: {"step": 12, "metrics": {...}}".
LineReader roll_line_reader();

}  // namespace dovetail::trainers
