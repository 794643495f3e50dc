#include "workflow/lengths_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "workflow/log_normal.h"

namespace dovetail::workflow {
namespace {

using base::CsvCell;
using base::CsvRow;
using base::Error;
using base::Node;
using base::quote;
using base::Result;
using base::Status;

std::string accepted_length() { return fmt::format("accepted: an integer from 0 to {}", max_length); }

std::optional<std::int64_t> length_of(std::string_view text) {
  const auto scaled = base::scale_decimal(text, 0);
  constexpr auto most = static_cast<std::uint64_t>(max_length);
  if (!scaled || scaled->negative || !scaled->exact || scaled->too_large || scaled->integer > most) return std::nullopt;
  return static_cast<std::int64_t>(scaled->integer);
}

/// Number of occurrences of each length.
using Counts = std::map<std::int64_t, std::int64_t>;

Result<LengthDistribution> distribution_of(const Counts& counts, const std::string& path) {
  std::vector<LengthPoint> points;
  for (const auto& [length, count] : counts) points.push_back({length, count});
  Result<LengthDistribution> distribution = LengthDistribution::of(std::move(points));
  if (distribution.ok()) return distribution;
  return Error{base::Failure::bad_input, path, 1, 1, std::move(distribution).error().message};
}

bool sounds_like_length(std::string_view name) {
  return name.find("length") != std::string_view::npos || name.find("tokens") != std::string_view::npos;
}

/// Returns the index in `names` of the column with the lengths, or an error.
Result<std::size_t> choose_column(const std::vector<std::string_view>& names, std::string_view column) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (column.empty() ? sounds_like_length(names[i]) : names[i] == column) chosen.push_back(i);
  if (chosen.size() == 1) return chosen.front();
  if (column.empty() && names.size() == 1) return std::size_t{0};
  const std::string accepted = fmt::format("accepted: one of {}", fmt::join(names, ", "));
  if (chosen.size() > 1 && !column.empty())
    return base::bad_input(fmt::format("the column {} appears twice; accepted: once", quote(column)));
  if (column.empty())
    return base::bad_input(fmt::format(
        "exactly one column must have `length` or `tokens` in its name, unless `column` chooses one; {}", accepted));
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
          fmt::format("the number of cells is {}; accepted: {} (as in the first row)", row.size(), header.size()));
    const std::optional<std::int64_t> length = length_of(row[chosen].text);
    if (!length)
      return base::error_at(row[chosen], path,
                            fmt::format("the length is {}; {}", quote(row[chosen].text), accepted_length()));
    ++counts[*length];
  }
  return distribution_of(counts, path);
}

/// Reads JSONL line by line. The first line decides the key.
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
      return record.error(fmt::format("the line is {}; accepted: a JSON object on each line", record.describe()));
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

Result<LengthDistribution> read_table(const Node& node, std::string_view what, const std::string& directory) {
  DOVETAIL_CHECK(base::check_keys(node, what, {"file", "column"}));
  DOVETAIL_TRY(const Node file, base::require(node, what, "file"));
  if (!file.is_string() || file.text().empty())
    return file.error(
        fmt::format("`file` of {} is {}; accepted: the path of a CSV or JSONL file", what, file.describe()));
  std::string column;
  if (const std::optional<Node> named = node.find("column")) {
    if (!named->is_string() || named->text().empty())
      return named->error(
          fmt::format("`column` of {} is {}; accepted: the name of a column or key", what, named->describe()));
    column = named->text();
  }
  const std::string path = (std::filesystem::path(directory) / std::filesystem::path(file.text())).string();
  Result<std::string> content = base::read_file(path);
  if (!content.ok()) {
    base::Error error = file.error(base::to_text(content.error()));
    error.failure = content.error().failure;
    return error;
  }
  return parse_length_table(*content, path, column);
}

Result<LengthDistribution> read_figures(const Node& node, std::string_view what) {
  DOVETAIL_CHECK(
      base::check_keys(node, what, {"p50", "p90", "p99", "mean", "sigma", "cap", "at_cap", "file", "column"}));
  LengthFigures figures;
  const auto read = [&](std::string_view key, std::optional<double>& figure, double least,
                        double most) -> base::Status {
    const std::optional<Node> value = node.find(key);
    if (!value) return {};
    DOVETAIL_TRY(figure, base::read_number(*value, fmt::format("`{}` of {}", key, what), least, most));
    return {};
  };
  constexpr auto longest = static_cast<double>(max_length);
  DOVETAIL_CHECK(read("p50", figures.p50, 1.0, longest));
  DOVETAIL_CHECK(read("p90", figures.p90, 1.0, longest));
  DOVETAIL_CHECK(read("p99", figures.p99, 1.0, longest));
  DOVETAIL_CHECK(read("mean", figures.mean, 1.0, longest));
  DOVETAIL_CHECK(read("sigma", figures.sigma, 0.0, max_sigma));
  DOVETAIL_CHECK(read("at_cap", figures.at_cap, 0.0, 1.0));
  if (const std::optional<Node> cap = node.find("cap")) {
    DOVETAIL_TRY(figures.cap, base::read_integer(*cap, fmt::format("`cap` of {}", what), 1, max_length));
  }
  const std::optional<FigureFault> fault = find_fault(figures);
  if (!fault) return log_normal_lengths(figures);
  const std::optional<Node> place = node.find(fault->figure);
  return (place ? *place : node).error(fmt::format("{}: {}", what, fault->message));
}

}  // namespace

Result<LengthDistribution> parse_length_table(std::string_view content, const std::string& path,
                                              std::string_view column) {
  const std::string_view text = base::without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return JsonLinesReader(path, column).run(text);
  return parse_csv_lengths(content, path, column);
}

Result<LengthDistribution> read_lengths(const Node& node, std::string_view what, const std::string& directory) {
  if (node.is_number()) {
    DOVETAIL_TRY(const std::int64_t length, base::read_integer(node, what, 1, max_length));
    return LengthDistribution::fixed(length);
  }
  if (!node.is_map())
    return node.error(fmt::format(
        "{} is {}; accepted: a number of tokens, statistics such as {{p50: 800, p90: 2100}}, or {{file: PATH}}", what,
        node.describe()));
  return node.find("file") ? read_table(node, what, directory) : read_figures(node, what);
}

}  // namespace dovetail::workflow
