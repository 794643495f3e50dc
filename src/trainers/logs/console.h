// What a trainer prints: lines with Ray's prefixes, colours, progress bars, and what others print between them.
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

/// A line as a terminal would show it in the end: without what colours it, and one for each carriage return, with
/// which a progress bar begins anew.
struct ConsoleLine {
  std::string text;
  const std::string* path = nullptr;
  int line = 0;
  std::vector<int> columns;  ///< [character of text] its column in the file; one more, of the end
  /// [character of text] its line, likewise, where several lines stand in `text` with a line feed between them; empty:
  /// all are in `line`.
  std::vector<int> lines = {};

  int line_at(std::size_t at) const;
  int column_at(std::size_t at) const;
  /// A bad_input Error at a character of `text`, or at its end.
  base::Error error(std::size_t at, std::string message) const;
};

/// Takes a line of a file as it is shown. `is_open`: it is the last one, and has no end.
using TakeLine = std::function<base::Status(const ConsoleLine& line, bool is_open)>;

/// Gives each line of a content to `take`, as it is shown; its first Error ends that. An Error, too, where the content
/// is larger than any log that is read.
base::Status for_each_console_line(std::string_view content, const std::string& path, const TakeLine& take);

/// Adds what a line says; lines that are none of the trainer's are passed over. It may keep what lines before said. A
/// number that is none, and an object that does not end, are Errors at their place.
using LineReader = std::function<base::Status(const ConsoleLine& line, StepLogBuilder& log)>;

/// Gives every line to every reader. A last line without an end may be cut: what it says is left out, and counted as
/// cut, unless it is all that the file says.
base::Status add_console_log(const LogFile& file, const std::vector<LineReader>& readers, StepLogBuilder& log);

/// Where the prefix that Ray gives a line of a process begins, "(TaskRunner pid=123, ip=10.0.0.1) ", at or behind
/// `from`; npos: there is none.
std::size_t find_ray_prefix(std::string_view text, std::size_t from = 0);

/// The prefix that Ray gives a line, "(TaskRunner pid=123)", where the line begins with one; else nothing.
std::string_view ray_prefix(std::string_view text);

/// How many characters a number takes at the start of `text`, all that may be part of one.
std::size_t digits_at(std::string_view text);

/// What Python prints of a number: 1.5, 1e-06, nan, True, np.float64(1.5), tensor(0.5).
struct PrintedNumber {
  bool well_formed = false;
  std::optional<double> value;  ///< nothing of nan, inf, None, True and False
};
PrintedNumber printed_number(std::string_view text);

}  // namespace dovetail::trainers
