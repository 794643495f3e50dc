// Numbers by step: what all kinds of logs become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::trainers {

/// A file that was read.
struct LogFile {
  std::string content;
  std::string path;      ///< for messages, and for the key of a scalar that is exported alone
  std::string key = {};  ///< of such a scalar, where the user says it
};

struct LoggedValue {
  std::int64_t step = 0;
  double value = 0;
  int line = 0;  ///< 0: in a binary file
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
  std::size_t not_numbers = 0;       ///< values that were text, lists, true, false, null, NaN or infinite
  /// Values of a key and step that came again, as of a run that was resumed: the last one counts.
  std::size_t repeated = 0;
  std::size_t cut = 0;  ///< files whose last line or record ends within itself, as of a run that goes on: left out
};

/// Puts a log together, value by value.
class StepLogBuilder {
 public:
  void add(const std::string& key, const std::string& path, const LoggedValue& value);
  void add_not_number() {
    ++log_.not_numbers;
    ++size_;
  }
  void add_cut() { ++log_.cut; }
  /// How many values were added, numbers or not.
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

/// The finite number that `text` is, written as JSON, CSV or Python write one, if it is one.
std::optional<double> logged_number(std::string_view text);

inline constexpr std::int64_t max_step_number = 1'000'000'000'000;

/// The step that `text` is, a whole number from 0 to max_step_number, if it is one.
std::optional<std::int64_t> logged_step(std::string_view text);

}  // namespace dovetail::trainers
