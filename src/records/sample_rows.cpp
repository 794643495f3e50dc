#include "records/sample_rows.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"

namespace dovetail::records {
namespace {

using base::Node;
using base::Result;

std::string string_at(const Node& row, std::string_view key) {
  const auto node = row.find(key);
  return node && node->is_string() ? std::string(node->text()) : std::string();
}

Result<double> reward_of(const Node& row) {
  DOVETAIL_TRY(const Node node, base::require(row, "a row", "reward"));
  if (node.is_null()) return std::numeric_limits<double>::quiet_NaN();
  constexpr double max = std::numeric_limits<double>::max();
  return base::read_number(node, "`reward`", -max, max);
}

Result<SampleRow> parse_row(std::string_view line, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(line, path));
  const Node row = document.root();
  if (!row.is_map()) return row.error("this line is not an object; accepted: one JSON object per line");
  DOVETAIL_TRY(const Node iteration, base::require(row, "a row", "iteration"));
  SampleRow sample;
  DOVETAIL_TRY(sample.iteration,
               base::read_integer(iteration, "`iteration`", 0, std::numeric_limits<std::int64_t>::max()));
  sample.prompt = string_at(row, "prompt");
  sample.response = string_at(row, "text");
  if (const auto tokens = row.find("response_tokens"); tokens && tokens->is_list())
    sample.tokens = static_cast<std::int64_t>(tokens->size());
  DOVETAIL_TRY(sample.reward, reward_of(row));
  const auto ended = row.find("ended");
  sample.ended = ended && ended->is_boolean() && ended->text() == "true";
  return sample;
}

}  // namespace

Result<std::vector<SampleRow>> parse_last_samples(std::string_view content, const std::string& path) {
  std::vector<SampleRow> rows;
  std::size_t end = content.rfind('\n') + 1;
  while (end > 0) {
    const std::size_t begin = end == 1 ? 0 : content.rfind('\n', end - 2) + 1;
    auto row = parse_row(content.substr(begin, end - 1 - begin), path);
    if (!row.ok()) {
      base::Error error = std::move(row).error();
      error.line =
          static_cast<int>(std::count(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(begin), '\n')) + 1;
      return error;
    }
    if (!rows.empty() && row->iteration != rows.front().iteration) break;
    rows.push_back(std::move(row).value());
    end = begin;
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<std::vector<SampleRow>> read_last_samples(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::vector<SampleRow>();
  DOVETAIL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  return parse_last_samples({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

}  // namespace dovetail::records
