#include "workflow/lengths_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/decimal.h"
#include "base/document.h"
#include "base/input_size.h"
#include "base/nearest.h"
#include "base/utf8.h"

namespace dovetail::workflow {
namespace {

using base::CsvCell;
using base::CsvRow;
using base::Error;
using base::Node;
using base::quote;
using base::Result;
using base::Status;

std::string accepted_length() { return fmt::format("accepted: a whole number of tokens from 0 to {}", max_length); }

std::optional<std::int64_t> length_of(std::string_view text) {
  const auto scaled = base::scale_decimal(text, 0);
  constexpr auto most = static_cast<std::uint64_t>(max_length);
  if (!scaled || scaled->negative || !scaled->exact || scaled->too_large || scaled->whole > most) return std::nullopt;
  return static_cast<std::int64_t>(scaled->whole);
}

/// How often each length comes.
using Counts = std::map<std::int64_t, std::int64_t>;

Result<LengthDistribution> distribution_of(const Counts& counts, const std::string& path) {
  std::vector<LengthPoint> points;
  for (const auto& [length, count] : counts) points.push_back({length, count});
  Result<LengthDistribution> distribution = LengthDistribution::of(std::move(points));
  if (distribution.ok()) return distribution;
  return Error{base::Failure::bad_input, path, 0, 0, std::move(distribution).error().message};
}

bool sounds_like_length(std::string_view name) {
  return name.find("length") != std::string_view::npos || name.find("tokens") != std::string_view::npos;
}

/// Which of `names` holds the lengths, or what is wrong.
Result<std::size_t> choose_column(const std::vector<std::string_view>& names, std::string_view column) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (column.empty() ? sounds_like_length(names[i]) : names[i] == column) chosen.push_back(i);
  if (chosen.size() == 1) return chosen.front();
  if (column.empty() && names.size() == 1) return std::size_t{0};
  const std::string accepted = fmt::format("accepted: one of {}", fmt::join(names, ", "));
  if (chosen.size() > 1 && !column.empty())
    return base::bad_input(fmt::format("the column {} comes twice; accepted: once", quote(column)));
  if (column.empty())
    return base::bad_input(fmt::format("which column has the lengths is not said; `column` names it; {}", accepted));
  return base::bad_input(
      fmt::format("there is no column {}{}; {}", quote(column), base::did_you_mean(column, names), accepted));
}

Result<LengthDistribution> parse_csv_lengths(std::string_view content, const std::string& path,
                                             std::string_view column) {
  DOVETAIL_TRY(const std::vector<CsvRow> rows, base::parse_csv_table(content, path));
  if (rows.empty())
    return Error{base::Failure::bad_input, path, 1, 1,
                 "the file is empty; accepted: a header and a row for each length"};
  const CsvRow& header = rows.front();
  std::size_t next = 0;
  std::size_t chosen = 0;
  const bool only_numbers = column.empty() && header.size() == 1 && base::is_decimal(header.front().text);
  if (!only_numbers) {
    std::vector<std::string_view> names;
    for (const CsvCell& cell : header) names.emplace_back(cell.text);
    Result<std::size_t> choice = choose_column(names, column);
    if (!choice.ok()) return base::error_at(header.front(), path, std::move(choice).error().message);
    chosen = *choice;
    ++next;
  }
  Counts counts;
  for (; next < rows.size(); ++next) {
    const CsvRow& row = rows[next];
    if (row.size() != header.size())
      return base::error_at(
          row.front(), path,
          fmt::format("the row has {} cells; accepted: {}, as many as the first row", row.size(), header.size()));
    const std::optional<std::int64_t> length = length_of(row[chosen].text);
    if (!length)
      return base::error_at(row[chosen], path,
                            fmt::format("the length is {}; {}", quote(row[chosen].text), accepted_length()));
    ++counts[*length];
  }
  return distribution_of(counts, path);
}

/// Reads JSONL line by line; the first line says which key it is.
class JsonLinesReader {
 public:
  JsonLinesReader(const std::string& path, std::string_view column) : path_(path), column_(column) {}

  Result<LengthDistribution> run(std::string_view content) && {
    DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path_));
    int line = 1;
    while (!content.empty()) {
      const std::size_t end = std::min(content.find('\n'), content.size());
      if (Status status = read_line(content.substr(0, end)); !status.ok()) {
        Error error = std::move(status).error();
        if (error.line > 0) error.line = line;
        return error;
      }
      content.remove_prefix(std::min(end + 1, content.size()));
      ++line;
    }
    return distribution_of(counts_, path_);
  }

 private:
  Status read_line(std::string_view text) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    DOVETAIL_TRY(const base::Document document, base::parse_json(text, path_));
    const Node record = document.root();
    if (!record.is_map())
      return record.error(fmt::format("the line is {}; accepted: a JSON object in each line", record.describe()));
    if (key_.empty()) DOVETAIL_CHECK(choose_key(record));
    DOVETAIL_TRY(const Node value, base::require(record, "the object", key_));
    const std::optional<std::int64_t> length = value.is_number() ? length_of(value.text()) : std::nullopt;
    if (!length) return value.error(fmt::format("the length is {}; {}", value.describe(), accepted_length()));
    ++counts_[*length];
    return {};
  }

  Status choose_key(const Node& record) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < record.size(); ++i)
      if (!column_.empty() || record.value(i).is_number()) names.push_back(record.key(i));
    if (names.empty()) return record.error("the object has no key with a number; accepted: a key with the length");
    Result<std::size_t> choice = choose_column(names, column_);
    if (!choice.ok()) return record.error(std::move(choice).error().message);
    key_ = names[*choice];
    return {};
  }

  const std::string& path_;
  std::string_view column_;
  std::string key_;
  Counts counts_;
};

}  // namespace

Result<LengthDistribution> parse_length_table(std::string_view content, const std::string& path,
                                              std::string_view column) {
  const std::string_view text = base::without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return JsonLinesReader(path, column).run(text);
  return parse_csv_lengths(content, path, column);
}

}  // namespace dovetail::workflow
