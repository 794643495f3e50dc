// Rows of our own runs: metrics.jsonl (docs/training.md).
#pragma once

#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timing` of the rows.
const LogKeys& dovetail_log_keys();

}  // namespace dovetail::trainers
