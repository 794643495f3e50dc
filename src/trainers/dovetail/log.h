// Log format of Dovetail's own runs: metrics.jsonl (docs/training.md).
#pragma once

#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Returns the keys of each row: times below `timing`, and response lengths.
const LogKeys& dovetail_log_keys();

}  // namespace dovetail::trainers
