// Log format of prime-rl (PrimeIntellect-ai/prime-rl; trainer/rl/train.py and orchestrator/orchestrator.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Returns the keys of prime-rl's monitors: `time/...`, in seconds. Generation has no key, because it runs concurrently
/// with training.
const LogKeys& prime_rl_log_keys();

/// Reads console output of the trainer or of the orchestrator. Both log the time of an iteration: "SUCCESS Step 12
/// |  34.5s | Loss ...".
LineReader prime_rl_line_reader();

}  // namespace dovetail::trainers
