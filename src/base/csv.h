// Comma-separated values whose cells know their line and column.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::base {

/// One cell, without quotes and surrounding blanks, and the place where its text begins.
struct CsvCell {
  std::string text;
  int line = 0;
  int column = 0;
};

using CsvRow = std::vector<CsvCell>;

/// Splits CSV text (RFC 4180: commas, quotes that are doubled within quotes; lines end with LF, CRLF or CR) into rows;
/// `path` is for messages. A blank line is a row without cells; blank lines at the end are left out. A leading byte
/// order mark is skipped. What is no text (control characters, bytes that are not UTF-8) is an Error.
Result<std::vector<CsvRow>> parse_csv(std::string_view content, const std::string& path);

/// As parse_csv(), without the blank lines: each row has a cell, and the first one is the header. An empty file has no
/// rows.
Result<std::vector<CsvRow>> parse_csv_table(std::string_view content, const std::string& path);

/// A bad_input Error at `cell`.
Error error_at(const CsvCell& cell, const std::string& path, std::string message);

/// The whole number that `text` is, from 0 to 2^31 - 1 and in digits alone, if it is one.
std::optional<std::int32_t> parse_index(std::string_view text);

/// Whether `text` is a whole number that is only too large for parse_index().
bool is_too_large_index(std::string_view text);

}  // namespace dovetail::base
