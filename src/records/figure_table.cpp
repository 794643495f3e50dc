#include "records/figure_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/input_size.h"
#include "base/utf8.h"

namespace dovetail::records {
namespace {

using base::Error;
using base::Node;
using base::Result;
using base::Status;

constexpr std::string_view iteration_key = "iteration";
constexpr std::string_view timing_key = "timing";
constexpr std::string_view what = "a row";

Result<double> read_value(const Node& node, std::string_view key) {
  if (node.is_null()) return std::numeric_limits<double>::quiet_NaN();
  constexpr double max = std::numeric_limits<double>::max();
  return base::read_number(node, base::quote(key), -max, max);
}

Status add_values(const Node& map, bool is_timing, std::int64_t iteration, FigureTable& table) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::string_view key = map.key(i);
    if (!is_timing && (key == iteration_key || key == timing_key)) continue;
    if (!base::is_name(key)) return map.key_node(i).error("the name of a figure has control characters or is empty");
    DOVETAIL_TRY(const double value, read_value(map.value(i), key));
    const FigureColumn* const known = table.find(key);
    if (known != nullptr && known->is_timing != is_timing)
      return map.key_node(i).error(
          fmt::format("{} stands within `{}` in one row and outside in another; accepted: one "
                      "of both",
                      base::quote(key), timing_key));
    table.add(key, is_timing, {iteration, value});
  }
  return {};
}

/// `last`: the iteration of the row before, below 0 at first.
Status add_row(const Node& row, std::int64_t& last, FigureTable& table) {
  if (!row.is_map()) return row.error(fmt::format("this line is {}; accepted: an object", row.describe()));
  DOVETAIL_TRY(const Node node, base::require(row, what, iteration_key));
  DOVETAIL_TRY(const std::int64_t iteration,
               base::read_whole(node, base::quote(iteration_key), 0, std::numeric_limits<std::int64_t>::max()));
  if (iteration <= last)
    return node.error(
        fmt::format("iteration {} comes after iteration {}; accepted: rows in their order", iteration, last));
  last = iteration;
  table.count_row();
  DOVETAIL_CHECK(add_values(row, false, iteration, table));
  const auto timing = row.find(timing_key);
  if (!timing) return {};
  if (!timing->is_map())
    return timing->error(fmt::format("`{}` is {}; accepted: a map of figures", timing_key, timing->describe()));
  return add_values(*timing, true, iteration, table);
}

Error at_line(Error error, int line) {
  error.line = line;
  return error;
}

}  // namespace

std::vector<FigurePoint> numbers_of(const FigureColumn& column) {
  std::vector<FigurePoint> numbers;
  for (const FigurePoint& point : column.points)
    if (std::isfinite(point.value)) numbers.push_back(point);
  return numbers;
}

const FigureColumn* FigureTable::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &columns_[place->second];
}

void FigureTable::add(std::string_view name, bool is_timing, FigurePoint point) {
  const auto [place, is_new] = places_.try_emplace(std::string(name), columns_.size());
  if (is_new) columns_.push_back({std::string(name), is_timing, {}});
  columns_[place->second].points.push_back(point);
}

Result<FigureTable> parse_figures(std::string_view content, const std::string& path) {
  DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path));
  content = base::without_byte_order_mark(content);
  FigureTable table;
  std::int64_t last = -1;
  for (int line = 1; !content.empty(); ++line) {
    const std::size_t end = content.find('\n');
    const bool is_ended = end != std::string_view::npos;
    const std::string_view text = content.substr(0, end);
    content.remove_prefix(is_ended ? end + 1 : content.size());
    const auto document = base::parse_json(text, path);
    if (!document.ok() && !is_ended) break;
    if (!document.ok()) return at_line(document.error(), line);
    if (Status added = add_row(document->root(), last, table); !added.ok())
      return at_line(std::move(added).error(), line);
  }
  return table;
}

Result<FigureTable> read_figures(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return parse_figures(content, path);
}

}  // namespace dovetail::records
