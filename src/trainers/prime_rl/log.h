// Logs of prime-rl (PrimeIntellect-ai/prime-rl; trainer/rl/train.py and orchestrator/orchestrator.py of its package).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `time/...` of its monitors, in seconds. Nothing times generation, which goes on beside.
const LogKeys& prime_rl_log_keys();

/// Reads its console: "SUCCESS Step 12 |  34.5s | Loss ...", of the trainer or of the orchestrator, which both time the
/// iteration.
LineReader prime_rl_line_reader();

}  // namespace dovetail::trainers
