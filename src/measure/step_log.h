// Logs of training runs: numbers by step, as trackers write and export them.
//
// Three kinds of files are read, told apart by what is in them:
//   - JSON lines, one object a step. Keys are flat ("timing_s/gen") or nested ({"timing_s": {"gen": 1}}, the same key);
//     the file logger of verl writes {"step": 1, "data": {...}}. The step is `step`, `_step`, `iteration` or
//     `global_step` (also of `training` or `train`), else the line's number. NaN and Infinity, which Python writes, are
//     no numbers here. Objects of the same step are put together.
//   - One JSON object of metrics, each an object of steps: {"timing/train/generation": {"1": 58.2}}, what NeMo-RL's
//     tests dump.
//   - CSV: `Wall time,Step,Value` as TensorBoard exports one scalar, whose key is in the name of the file
//     (run-NAME-tag-KEY.csv, with '_' in place of '/'); or one column a key, and one of the steps under one of the
//     names above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::measure {

/// A file that was read.
struct LogFile {
  std::string content;
  std::string path;      ///< for messages, and for the key of a scalar that is exported alone
  std::string key = {};  ///< of such a scalar, where the user says it
};

struct LoggedValue {
  std::int64_t step = 0;
  double value = 0;
  int line = 0;
  int column = 0;
};

/// What one key was at each step.
struct LoggedSeries {
  std::string key;
  std::string path;                 ///< of the file that had it first
  std::vector<LoggedValue> values;  ///< by rising step, each once
};

struct StepLog {
  std::vector<LoggedSeries> series;  ///< by key; none is empty
  std::size_t not_numbers = 0;       ///< values that were text, lists, true, false or null
  std::size_t repeated =
      0;  ///< values of a key and step that came again, as of a run that was resumed: the last one counts
};

/// Puts the files of one run together. Every mistake is an Error at its line and column: text of no kind above, a step
/// that is no whole number, a cell that is no number in a scalar's file, nothing at all.
base::Result<StepLog> read_step_log(const std::vector<LogFile>& files);

}  // namespace dovetail::measure
