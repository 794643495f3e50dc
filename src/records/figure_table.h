// The rows of metrics.jsonl and eval.jsonl read back, as curves are drawn from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::records {

/// A figure at the end of an iteration; NaN where it was no number.
struct FigurePoint {
  std::int64_t iteration = 0;
  double value = 0;
};

/// All that was told of one figure, in the order of iterations; not each row has each figure.
struct FigureColumn {
  std::string name;
  bool is_timing = false;
  std::vector<FigurePoint> points;
};

/// Its points that are numbers.
std::vector<FigurePoint> numbers_of(const FigureColumn& column);

class FigureTable {
 public:
  /// In the order in which they were first told of.
  const std::vector<FigureColumn>& columns() const { return columns_; }
  /// Null where there is none of that name.
  const FigureColumn* find(std::string_view name) const;
  /// Adds a point to the column, which begins where it is not there yet.
  void add(std::string_view name, bool is_timing, FigurePoint point);
  std::int64_t rows() const { return rows_; }
  void count_row() { ++rows_; }

 private:
  std::vector<FigureColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::int64_t rows_ = 0;
};

/// Reads rows: JSON objects, one a line, with an `iteration` that is above the one of the row before, numbers or null,
/// and `timing`, an object of those. Else an Error at the line and column. A last line without an end that is no whole
/// object is being written, and left out.
base::Result<FigureTable> parse_figures(std::string_view content, const std::string& path);

/// The same of a file.
base::Result<FigureTable> read_figures(const std::string& path);

}  // namespace dovetail::records
