#include "base/csv.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::base {
namespace {

class CsvParser {
 public:
  CsvParser(std::string_view content, const std::string& path)
      : content_(without_byte_order_mark(content)), path_(path) {}

  Result<std::vector<CsvRow>> run() && {
    DOVETAIL_CHECK(check_input_size(InputKind::csv, content_.size(), path_));
    DOVETAIL_CHECK(check_characters(content_, path_));
    std::vector<CsvRow> rows;
    while (!at_end()) {
      DOVETAIL_TRY(CsvRow row, read_row());
      rows.push_back(std::move(row));
    }
    while (!rows.empty() && rows.back().empty()) rows.pop_back();
    return rows;
  }

 private:
  bool at_end() const { return next_ == content_.size(); }
  bool at_line_end() const { return at_end() || content_[next_] == '\n' || content_[next_] == '\r'; }
  char peek() const { return content_[next_]; }

  void skip_line_end() {
    if (!at_end() && peek() == '\r') ++next_;
    if (!at_end() && peek() == '\n') ++next_;
    start_line();
  }
  void start_line() {
    ++line_;
    line_start_ = next_;
  }
  void skip_blanks() {
    while (!at_end() && (peek() == ' ' || peek() == '\t')) ++next_;
  }

  int column() const { return static_cast<int>(next_ - line_start_) + 1; }
  Error error(std::string message) const { return {Failure::bad_input, path_, line_, column(), std::move(message)}; }

  Result<CsvRow> read_row() {
    CsvRow row;
    skip_blanks();
    if (at_line_end()) {
      skip_line_end();
      return row;
    }
    while (true) {
      DOVETAIL_TRY(CsvCell cell, read_cell());
      row.push_back(std::move(cell));
      if (at_line_end()) break;
      ++next_;  // the comma
    }
    skip_line_end();
    return row;
  }

  /// Reads up to the comma or line end after the cell.
  Result<CsvCell> read_cell() {
    skip_blanks();
    if (!at_end() && peek() == '"') return read_quoted_cell();
    CsvCell cell{{}, line_, column()};
    const std::size_t begin = next_;
    std::size_t end = next_;  // end of the text without trailing blanks
    for (; !at_line_end() && peek() != ','; ++next_)
      if (peek() != ' ' && peek() != '\t') end = next_ + 1;
    cell.text = content_.substr(begin, end - begin);
    return cell;
  }

  Result<CsvCell> read_quoted_cell() {
    const Error unterminated = error("unterminated quote; a cell that begins with \" must end with \"");
    ++next_;
    CsvCell cell{{}, line_, column()};
    while (true) {
      if (at_end()) return unterminated;
      const char c = content_[next_++];
      if (c == '"') {
        if (at_end() || peek() != '"') break;
        ++next_;
      }
      cell.text += c;
      if (c == '\n') start_line();
    }
    trim(cell);
    skip_blanks();
    if (!at_line_end() && peek() != ',')
      return error("unexpected text after the closing quote; accepted: a comma or the end of the line");
    return cell;
  }

  static void trim(CsvCell& cell) {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = cell.text.find_first_not_of(blanks);
    const std::size_t begin = first == std::string::npos ? cell.text.size() : first;
    cell.column += static_cast<int>(begin);
    cell.text = cell.text.substr(begin, cell.text.find_last_not_of(blanks) + 1 - begin);
  }

  std::string_view content_;
  const std::string& path_;
  std::size_t next_ = 0;
  int line_ = 1;
  std::size_t line_start_ = 0;
};

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view content, const std::string& path) {
  return CsvParser(content, path).run();
}

Result<std::vector<CsvRow>> parse_csv_table(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(std::vector<CsvRow> rows, parse_csv(content, path));
  std::erase_if(rows, [](const CsvRow& row) { return row.empty(); });
  return rows;
}

Error error_at(const CsvCell& cell, const std::string& path, std::string message) {
  return {Failure::bad_input, path, cell.line, cell.column, std::move(message)};
}

std::optional<std::int32_t> parse_index(std::string_view text) {
  std::int32_t index = 0;
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

bool is_too_large_index(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos && !parse_index(text);
}

}  // namespace dovetail::base
