// Logs of AReaL (inclusionAI/AReaL; areal/trainer/rl_trainer.py, areal/utils/{stats_logger,printing}.py).
#pragma once

#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// `timeperf/...`, in seconds. None times the iteration; one loop runs them all, one after the other.
const LogKeys& areal_log_keys();

/// Reads its console: the tables of statistics below "... Train step 12/100 done.", keys and numbers in turn.
LineReader areal_line_reader();

}  // namespace dovetail::trainers
