// Log format of Dovetail's own runs: metrics.jsonl (docs/training.md).
#pragma once

#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Returns the keys below `timing` in each row.
const LogKeys& dovetail_log_keys();

}  // namespace dovetail::trainers
