// Logs that trackers write and export for programs to read.
//
//   - JSON lines, one object a step. Keys are flat ("timing_s/gen") or nested ({"timing_s": {"gen": 1}}, the same key);
//     the file logger of verl writes {"step": 1, "data": {...}}. The step is `step`, `_step`, `iteration` or
//     `global_step` (also of `training`, `train` or `rollout`), else the line's number. NaN and Infinity, which Python
//     writes, are no numbers here. Objects of the same step are put together. A last line without an end that is no
//     JSON is cut, and left out where there are others.
//   - One JSON object of metrics, each an object of steps: {"timing/train/generation": {"1": 58.2}}, what NeMo-RL's
//     tests dump.
//   - One JSON object whose `log_history` lists an object a step: the state that ROLL saves beside a checkpoint
//     (worker_state_pipeline.json). The step is `system/step`, else `step`, else its number in the list, from 0 on.
//   - CSV: `Wall time,Step,Value` as TensorBoard exports one scalar, whose key is in the name of the file
//     (run-NAME-tag-KEY.csv, with '_' in place of '/'); or one column a key, and one of the steps under one of the
//     names above.
#pragma once

#include "base/result.h"
#include "trainers/logs/step_log.h"

namespace dovetail::trainers {

/// Adds a JSON file of any kind. Every mistake is an Error at its line and column.
base::Status add_json_log(const LogFile& file, StepLogBuilder& log);

/// Adds a CSV file of either kind; an Error likewise, also where the file is empty or has one column.
base::Status add_csv_log(const LogFile& file, StepLogBuilder& log);

}  // namespace dovetail::trainers
