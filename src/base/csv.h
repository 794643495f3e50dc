// Parser of comma-separated values. Every cell has its line and column, for error messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::base {

/// One cell: its text without quotes and surrounding blanks, and the position where the text begins. Lines and columns
/// (in bytes) count from 1.
struct CsvCell {
  std::string text;
  int line = 0;
  int column = 0;
};

using CsvRow = std::vector<CsvCell>;

/// Splits CSV text (RFC 4180; lines end with LF, CRLF or CR) into rows. `path` is for messages. A blank line is a row
/// without cells, except at the end, where blank lines are dropped. Skips a leading byte order mark. Returns an Error
/// if the text exceeds max_input(InputKind::csv), contains a control character other than tabs and line ends, is not
/// UTF-8, or has an unterminated quote or text after a closing quote.
Result<std::vector<CsvRow>> parse_csv(std::string_view content, const std::string& path);

/// Like parse_csv(), but skips blank lines, so every row has at least one cell. The first row is the header. An empty
/// file has no rows.
Result<std::vector<CsvRow>> parse_csv_table(std::string_view content, const std::string& path);

/// Returns a bad_input Error at `cell`.
Error error_at(const CsvCell& cell, const std::string& path, std::string message);

/// Parses an integer from 0 to 2^31 - 1 that consists of digits only. Returns nullopt for any other text.
std::optional<std::int32_t> parse_index(std::string_view text);

/// Whether `text` is a non-negative integer that is too large for parse_index().
bool is_too_large_index(std::string_view text);

}  // namespace dovetail::base
