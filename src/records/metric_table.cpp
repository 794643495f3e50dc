#include "records/metric_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::records {
namespace {

using base::Error;
using base::Node;
using base::Result;
using base::Status;

constexpr std::string_view iteration_key = "iteration";
constexpr std::string_view timing_key = "timing";
constexpr std::string_view row_name = "a row";

Result<double> read_value(const Node& node, std::string_view key) {
  if (node.is_null()) return std::numeric_limits<double>::quiet_NaN();
  constexpr double max = std::numeric_limits<double>::max();
  return base::read_number(node, base::quote(key), -max, max);
}

Status add_values(const Node& map, bool is_timing, std::int64_t iteration, MetricTable& table) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::string_view key = map.key(i);
    if (!is_timing && (key == iteration_key || key == timing_key)) continue;
    if (!base::is_name(key)) return map.key_node(i).error("the name of a metric is empty or has control characters");
    DOVETAIL_TRY(const double value, read_value(map.value(i), key));
    const MetricColumn* const known = table.find(key);
    if (known != nullptr && known->is_timing != is_timing)
      return map.key_node(i).error(
          fmt::format("{} is inside `{}` in one row and outside it in another; accepted: the same place in all rows",
                      base::quote(key), timing_key));
    table.add(key, is_timing, {iteration, value});
  }
  return {};
}

/// Adds a row. `last` is the iteration of the previous row, negative at first.
Status add_row(const Node& row, std::int64_t& last, MetricTable& table) {
  if (!row.is_map()) return row.error(fmt::format("this line is {}; accepted: an object", row.describe()));
  DOVETAIL_TRY(const Node node, base::require(row, row_name, iteration_key));
  DOVETAIL_TRY(const std::int64_t iteration,
               base::read_integer(node, base::quote(iteration_key), 0, std::numeric_limits<std::int64_t>::max()));
  if (iteration <= last)
    return node.error(
        fmt::format("iteration {} comes after iteration {}; accepted: a greater number in each row", iteration, last));
  last = iteration;
  table.count_row();
  DOVETAIL_CHECK(add_values(row, false, iteration, table));
  const auto timing = row.find(timing_key);
  if (!timing) return {};
  if (!timing->is_map())
    return timing->error(fmt::format("`{}` is {}; accepted: a map of metrics", timing_key, timing->describe()));
  return add_values(*timing, true, iteration, table);
}

Error at_line(Error error, int line) {
  error.line = line;
  return error;
}

}  // namespace

std::vector<MetricPoint> numbers_of(const MetricColumn& column) {
  std::vector<MetricPoint> numbers;
  for (const MetricPoint& point : column.points)
    if (std::isfinite(point.value)) numbers.push_back(point);
  return numbers;
}

const MetricColumn* MetricTable::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &columns_[place->second];
}

void MetricTable::add(std::string_view name, bool is_timing, MetricPoint point) {
  const auto [place, is_new] = places_.try_emplace(std::string(name), columns_.size());
  if (is_new) columns_.push_back({std::string(name), is_timing, {}});
  columns_[place->second].points.push_back(point);
}

Result<MetricTable> parse_metrics(std::string_view content, const std::string& path) {
  DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path));
  content = base::without_byte_order_mark(content);
  MetricTable table;
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

Result<MetricTable> read_metrics(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return parse_metrics(content, path);
}

namespace {

using base::Ticks;

constexpr std::string_view suffix = "_seconds";

Ticks ticks_of(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? base::ticks_of_seconds(seconds) : Ticks{};
}

/// Bars of one lane, each following the previous one.
class LaneWriter {
 public:
  void add(std::string_view name, Ticks length) {
    if (length == Ticks{}) return;
    const auto known = std::find(timeline_.names.begin(), timeline_.names.end(), name);
    timeline::Bar bar;
    bar.begin = timeline_.end;
    bar.end = bar.begin + length;
    bar.name = static_cast<std::int32_t>(known - timeline_.names.begin());
    if (known == timeline_.names.end()) timeline_.names.emplace_back(name);
    timeline_.end = bar.end;
    bars_.push_back(bar);
  }

  timeline::Timeline finish() {
    timeline_.time_unit = base::TimeUnit::s;
    timeline_.lane_noun = "rank";
    timeline_.beginning = timeline::Beginning::unknown;
    add_lane(timeline_, "rank 0", bars_);
    return std::move(timeline_);
  }

 private:
  timeline::Timeline timeline_;
  std::vector<timeline::Bar> bars_;
};

struct IterationTimes {
  std::vector<std::pair<std::string_view, Ticks>> tasks;  ///< in the order of the row
  Ticks total;
  Ticks evaluation;  ///< after the iteration
};

std::map<std::int64_t, IterationTimes> times_of(const MetricTable& metrics, const MetricTable& evaluations) {
  std::map<std::int64_t, IterationTimes> times;
  for (const MetricColumn& column : metrics.columns()) {
    if (!column.is_timing) continue;
    const std::string_view name = column.name;
    for (const MetricPoint& point : column.points) {
      if (name == "seconds") times[point.iteration].total = ticks_of(point.value);
      if (name.ends_with(suffix))
        times[point.iteration].tasks.emplace_back(name.substr(0, name.size() - suffix.size()), ticks_of(point.value));
    }
  }
  if (const MetricColumn* const column = evaluations.find("evaluate_seconds"))
    for (const MetricPoint& point : column->points) times[point.iteration].evaluation = ticks_of(point.value);
  return times;
}

}  // namespace

timeline::Timeline run_timeline(const MetricTable& metrics, const MetricTable& evaluations) {
  LaneWriter lane;
  for (const auto& [iteration, times] : times_of(metrics, evaluations)) {
    Ticks of_tasks;
    for (const auto& [task, length] : times.tasks) {
      lane.add(task, length);
      of_tasks += length;
    }
    lane.add("other", std::max(times.total, of_tasks) - of_tasks);
    lane.add("evaluation", times.evaluation);
  }
  return lane.finish();
}

}  // namespace dovetail::records
