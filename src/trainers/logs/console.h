// Console output of a trainer: lines with Ray prefixes, colors and progress bars, mixed with output of other programs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/logs/step_log.h"

namespace dovetail::trainers {

/// A line as a terminal shows it, without color codes. Each carriage return, which restarts the line of a progress bar,
/// begins a new ConsoleLine.
struct ConsoleLine {
  std::string text;
  const std::string* path = nullptr;
  int line = 0;
  std::vector<int> columns;  ///< column in the file of each character of `text`, then of its end
  /// Line in the file of each character of `text`, then of its end, if `text` joins several lines with line feeds.
  /// Empty: all characters are on `line`.
  std::vector<int> lines = {};

  int line_at(std::size_t at) const;
  int column_at(std::size_t at) const;
  /// Returns a bad_input Error at a character of `text` or at its end.
  base::Error error(std::size_t at, std::string message) const;
};

/// Receives a line. `is_open` is true for a last line without a line end.
using TakeLine = std::function<base::Status(const ConsoleLine& line, bool is_open)>;

/// Calls `take` for each line that is not empty. Stops at the first Error of `take` and returns it. Also returns an
/// Error if the content exceeds the size limit.
base::Status for_each_console_line(std::string_view content, const std::string& path, const TakeLine& take);

/// Adds the values in a line to the log. Ignores lines of other programs. A reader may keep state between lines.
/// Returns an Error at an invalid number or an unclosed object.
using LineReader = std::function<base::Status(const ConsoleLine& line, StepLogBuilder& log)>;

/// Passes every line to every reader. A last line without a line end may be truncated. Its values are dropped and the
/// file is counted in StepLog::cut, unless the file has no other values.
base::Status add_console_log(const LogFile& file, const std::vector<LineReader>& readers, StepLogBuilder& log);

/// Returns the start of the first Ray prefix, "(TaskRunner pid=123, ip=10.0.0.1) ", at or after `from`, or npos.
std::size_t find_ray_prefix(std::string_view text, std::size_t from = 0);

/// Returns the Ray prefix at the start of the line, "(TaskRunner pid=123)", or an empty string.
std::string_view ray_prefix(std::string_view text);

/// Returns the number of decimal digits at the start of `text`.
std::size_t digits_at(std::string_view text);

/// A number as printed by Python: 1.5, 1e-06, nan, True, np.float64(1.5), tensor(0.5).
struct PrintedNumber {
  bool well_formed = false;     ///< whether the text has one of these forms
  std::optional<double> value;  ///< nullopt for nan, inf, None, True and False
};
PrintedNumber printed_number(std::string_view text);

}  // namespace dovetail::trainers
