// Reads the figures (control::Figure) in metrics.jsonl and eval.jsonl as columns, and converts them to a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "timeline/timeline.h"

namespace dovetail::records {

/// Value of a figure at the end of an iteration; NaN if the file has null.
struct FigurePoint {
  std::int64_t iteration = 0;
  double value = 0;
};

/// All values of one figure, in order of iterations. A figure may be missing in some rows.
struct FigureColumn {
  std::string name;
  bool is_timing = false;  ///< true if the figure is in the object `timing` of its rows
  std::vector<FigurePoint> points;
};

/// Returns the points of the column whose values are finite.
std::vector<FigurePoint> numbers_of(const FigureColumn& column);

class FigureTable {
 public:
  /// Returns the columns in order of first appearance.
  const std::vector<FigureColumn>& columns() const { return columns_; }
  /// Returns the column with this name, or null.
  const FigureColumn* find(std::string_view name) const;
  /// Adds a point to the column, which is created if it does not exist.
  void add(std::string_view name, bool is_timing, FigurePoint point);
  std::int64_t rows() const { return rows_; }
  void count_row() { ++rows_; }

 private:
  std::vector<FigureColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::int64_t rows_ = 0;
};

/// Reads rows: JSON objects, one per line. Each has an `iteration` greater than that in the previous row, and figures:
/// numbers or nulls by name. An optional object `timing` has further figures. An invalid row is an Error with a line
/// and a column. An incomplete last line without a line break is ignored, because a program may still be writing it.
base::Result<FigureTable> parse_figures(std::string_view content, const std::string& path);

/// Reads rows from a file.
base::Result<FigureTable> read_figures(const std::string& path);

/// Returns the timeline of a run, with all iterations in one lane. `metrics` (metrics.jsonl) gives each iteration a bar
/// per task, named after the task, and a bar "other" for its remaining time. `evaluations` (eval.jsonl) adds a bar
/// "evaluation". The time for checkpoints, and between a stop of the run and its resumption, is not included. Times are
/// stored in ns and displayed in seconds.
timeline::Timeline run_timeline(const FigureTable& metrics, const FigureTable& evaluations);

}  // namespace dovetail::records
