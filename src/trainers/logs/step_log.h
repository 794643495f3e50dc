// The common form of all logs (for each key, a series of values by step), and readers of the files that trackers write
// or export.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::trainers {

/// The content of a log file.
struct LogFile {
  std::string content;
  std::string path;      ///< for messages, and for the key of a scalar exported to its own file
  std::string key = {};  ///< key of that scalar; empty: taken from the file name
};

struct LoggedValue {
  std::int64_t step = 0;
  double value = 0;
  int line = 0;  ///< line in the file
  int column = 0;
};

/// Values of one key by step.
struct LoggedSeries {
  std::string key;
  std::string path;                 ///< first file with the key
  std::vector<LoggedValue> values;  ///< ascending by step, each step once
};

struct StepLog {
  std::vector<LoggedSeries> series;  ///< ascending by key; each has at least one value
  std::size_t not_numbers = 0;       ///< number of values that are strings, lists, true, false, null, NaN or infinite
  std::size_t repeated = 0;  ///< number of values replaced by a later one of the same key and step (resumed runs)
  std::size_t cut = 0;       ///< number of files whose last line or record is incomplete and was ignored
};

/// Builds a log from single values.
class StepLogBuilder {
 public:
  void add(const std::string& key, const std::string& path, const LoggedValue& value);
  void add_not_number() {
    ++log_.not_numbers;
    ++size_;
  }
  void add_cut() { ++log_.cut; }
  /// Returns the number of values added, including those that are not numbers.
  std::size_t size() const { return size_; }

  StepLog take();

 private:
  struct OfKey {
    std::string path;
    std::map<std::int64_t, LoggedValue> values;
  };

  StepLog log_;
  std::map<std::string, OfKey> found_;
  std::size_t size_ = 0;
};

/// Returns the finite number in `text`, written as in JSON, CSV or Python, or nullopt.
std::optional<double> logged_number(std::string_view text);

inline constexpr std::int64_t max_step_number = 1'000'000'000'000;

/// Returns the step in `text`, an integer from 0 to max_step_number, or nullopt.
std::optional<std::int64_t> logged_step(std::string_view text);

/// Adds a JSON file:
///   - JSON lines, one object per step. Keys are flat ("timing_s/gen") or nested ({"timing_s": {"gen": 1}}, the same
///     key). The file logger of verl writes {"step": 1, "data": {...}}. The step is `step`, `_step`, `iteration`,
///     `global_step`, `training/global_step`, `train/global_step` or `rollout/step`. Without these keys, objects are
///     numbered from 1. Python's NaN and Infinity are not numbers. Objects of the same step are merged. A last line
///     without a line end that is not JSON is ignored if there are other lines.
///   - One JSON object of metrics, each an object of steps: {"timing/train/generation": {"1": 58.2}}, as written by the
///     tests of NeMo-RL.
///   - One JSON object whose `log_history` lists one object per step, as ROLL saves with a checkpoint
///     (worker_state_pipeline.json). The step is `system/step`, otherwise `step`, otherwise the index in the list
///     (from 0).
/// Errors have a line and column.
base::Status add_json_log(const LogFile& file, StepLogBuilder& log);

/// Adds a CSV file:
///   - The columns `Wall time,Step,Value`, as TensorBoard exports one scalar. The key is in the name of the file
///     (run-NAME-tag-KEY.csv, with '_' in place of '/').
///   - One column per key and one for the steps, named like the step of JSON lines. Without a column for the steps,
///     rows are numbered from 1.
/// Returns an Error without a line for an empty file, and with a line and column for other faults, such as a single
/// column.
base::Status add_csv_log(const LogFile& file, StepLogBuilder& log);

}  // namespace dovetail::trainers
