// Reads the metrics (control::Metric) in metrics.jsonl and eval.jsonl as columns, and converts them to a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "timeline/timeline.h"

namespace dovetail::records {

/// Value of a metric at the end of an iteration; NaN if the file has null.
struct MetricPoint {
  std::int64_t iteration = 0;
  double value = 0;
};

/// All values of one metric, in order of iterations. Rows without the metric have no point.
struct MetricColumn {
  std::string name;
  bool is_timing = false;  ///< true if the metric is in the object `timing` of its rows
  std::vector<MetricPoint> points;
};

/// Returns the points of the column whose values are finite.
std::vector<MetricPoint> numbers_of(const MetricColumn& column);

class MetricTable {
 public:
  /// Returns the columns in order of first appearance.
  const std::vector<MetricColumn>& columns() const { return columns_; }
  /// Returns the column with this name, or null.
  const MetricColumn* find(std::string_view name) const;
  /// Adds a point to the column, which is created if it does not exist.
  void add(std::string_view name, bool is_timing, MetricPoint point);
  std::int64_t rows() const { return rows_; }
  void count_row() { ++rows_; }

 private:
  std::vector<MetricColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::int64_t rows_ = 0;
};

/// Reads rows: JSON objects, one per line. Each has an `iteration` greater than that in the previous row, and metrics:
/// numbers or nulls by name. An optional object `timing` has further metrics. An invalid row is an Error with a line
/// and a column. An incomplete last line without a line break is ignored, because a program may still be writing it.
base::Result<MetricTable> parse_metrics(std::string_view content, const std::string& path);

/// Reads rows from a file.
base::Result<MetricTable> read_metrics(const std::string& path);

/// Returns the timeline of a run, with all iterations in one lane. `metrics` (metrics.jsonl) gives each iteration a bar
/// per task, named after the task, and a bar "other" for its remaining time. `evaluations` (eval.jsonl) adds a bar
/// "evaluation". The time for checkpoints, and between a stop of the run and its resumption, is not included. Times are
/// stored in ns and displayed in seconds.
timeline::Timeline run_timeline(const MetricTable& metrics, const MetricTable& evaluations);

}  // namespace dovetail::records
