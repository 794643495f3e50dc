#include "study/growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/amount.h"
#include "base/assert.h"
#include "base/csv.h"
#include "base/document.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

/// Parses a step and its value, checking that the step follows the last one in `before`.
base::Result<GrowthPoint> read_point(std::string_view step, std::string_view value,
                                     const std::vector<GrowthPoint>& before) {
  const std::optional<std::int32_t> number = base::parse_index(step);
  if (!number || *number > max_step_number)
    return base::bad_input(
        fmt::format("a step must be an integer from 0 to {1}, got {0}", base::quote(step), max_step_number));
  if (!before.empty() && *number <= before.back().step)
    return base::bad_input(fmt::format("step {} follows step {}; steps must increase", *number, before.back().step));
  const auto amount = base::parse_amount(value, base::Measure::number);
  if (!amount.ok() || amount.value() <= 0)
    return base::bad_input(
        fmt::format("the value at step {1} must be a number above 0, got {0}", base::quote(value), *number));
  return GrowthPoint{*number, amount.value()};
}

/// Columns of a table that hold the steps and the values.
struct GrowthColumns {
  std::size_t step = 0;
  std::size_t value = 0;
  GrowthFigure figure = GrowthFigure::factor;
};

base::Result<GrowthColumns> columns_of(const base::CsvRow& header, const std::string& path) {
  std::optional<std::size_t> step;
  std::optional<GrowthColumns> columns;
  for (std::size_t index = 0; index < header.size(); ++index) {
    if (header[index].text == "step" && step) return base::error_at(header[index], path, "duplicate column `step`");
    if (header[index].text == "step") step = index;
    for (const GrowthFigure figure : {GrowthFigure::factor, GrowthFigure::mean, GrowthFigure::median}) {
      if (header[index].text != name_of(figure)) continue;
      if (columns)
        return base::error_at(header[index], path,
                              "duplicate length column; use only one of `factor`, `mean` and `p50`");
      columns = GrowthColumns{0, index, figure};
    }
  }
  if (!step || !columns)
    return base::error_at(header.front(), path,
                          "the header must have the column `step` and one of `factor`, `mean` and `p50`");
  columns->step = *step;
  return *columns;
}

}  // namespace

std::string_view name_of(GrowthFigure figure) {
  return figure == GrowthFigure::factor ? "factor" : figure == GrowthFigure::mean ? "mean" : "p50";
}

base::Result<Growth> parse_growth(std::string_view text, GrowthFigure figure) {
  Growth growth{figure, {}};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos)
      return base::bad_input(
          fmt::format("expected STEP:VALUE pairs separated by commas, such as 0:1,500:2.5, got {}", base::quote(item)));
    DOVETAIL_TRY(const GrowthPoint point, read_point(item.substr(0, colon), item.substr(colon + 1), growth.points));
    growth.points.push_back(point);
  }
  return growth;
}

base::Result<Growth> parse_growth_table(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const std::vector<base::CsvRow> rows, base::parse_csv_table(content, path));
  if (rows.empty())
    return base::Error{base::Failure::bad_input, path, 1, 1,
                       "the table must begin with a header: `step` and one of `factor`, `mean` and `p50`"};
  DOVETAIL_TRY(const GrowthColumns columns, columns_of(rows.front(), path));
  Growth growth{columns.figure, {}};
  for (std::size_t index = 1; index < rows.size(); ++index) {
    const base::CsvRow& row = rows[index];
    if (row.size() <= std::max(columns.step, columns.value))
      return base::error_at(
          row.front(), path,
          fmt::format("the row has {} cells, but the header has {}", row.size(), rows.front().size()));
    auto point = read_point(row[columns.step].text, row[columns.value].text, growth.points);
    if (!point.ok()) return base::error_at(row[columns.step], path, point.error().message);
    growth.points.push_back(point.value());
  }
  if (growth.points.empty())
    return base::error_at(rows.front().front(), path, "the table has no steps; add a row for each known step");
  return growth;
}

LengthGrowth::LengthGrowth(const workflow::LengthDistribution& lengths, Growth growth, std::optional<std::int64_t> cap)
    : lengths_(lengths), growth_(std::move(growth)), cap_(cap) {}

base::Result<LengthGrowth> LengthGrowth::of(const workflow::LengthDistribution& lengths, Growth growth,
                                            std::optional<std::int64_t> cap) {
  LengthGrowth result(lengths, std::move(growth), cap);
  Growth& kept = result.growth_;
  for (const GrowthPoint& point : kept.points)
    if (!result.factor_for(point.value))
      return base::bad_input(
          fmt::format("a {} of {:g} tokens at step {} is out of reach, because responses end at {} tokens; use a "
                      "smaller value or a larger cap",
                      name_of(kept.figure), point.value, point.step, result.max_length()));
  // Starts from the job's own value unless the growth specifies step 0.
  if (!kept.points.empty() && kept.points.front().step > 0) {
    const workflow::LengthDistribution now = workflow::scaled(lengths, 1, result.max_length());
    const double value = kept.figure == GrowthFigure::factor ? 1
                         : kept.figure == GrowthFigure::mean ? now.mean()
                                                             : static_cast<double>(now.quantile(0.5));
    kept.points.insert(kept.points.begin(), {0, value});
  }
  return result;
}

std::optional<double> LengthGrowth::factor_for(double value) const {
  switch (growth_.figure) {
    case GrowthFigure::factor:
      return value;
    case GrowthFigure::mean:
      return workflow::factor_for_mean(lengths_, value, max_length());
    case GrowthFigure::median:
      return workflow::factor_for_median(lengths_, value, max_length());
  }
  DOVETAIL_ASSERT(false);
}

double LengthGrowth::value_at(double step) const {
  const std::vector<GrowthPoint>& points = growth_.points;
  const auto next = std::upper_bound(points.begin(), points.end(), step, [](double from, const GrowthPoint& point) {
    return from < static_cast<double>(point.step);
  });
  if (next == points.end()) return points.back().value;
  if (next == points.begin()) return next->value;
  const GrowthPoint& last = *(next - 1);
  const double share = (step - static_cast<double>(last.step)) / static_cast<double>(next->step - last.step);
  return last.value + (next->value - last.value) * share;
}

/// Sum over the linear pieces. The mean over the steps of a piece is the mean of its ends.
double LengthGrowth::mean_value(std::int64_t first, std::int64_t last) const {
  double sum = 0;
  const auto add_line = [&](std::int64_t to) {
    sum += static_cast<double>(to - first + 1) *
           (value_at(static_cast<double>(first)) + value_at(static_cast<double>(to))) / 2;
    first = to + 1;
  };
  const auto steps = static_cast<double>(last - first + 1);
  for (const GrowthPoint& point : growth_.points)
    if (point.step > first && first <= last) add_line(std::min(point.step - 1, last));
  if (first <= last) add_line(last);
  return sum / steps;
}

std::int64_t LengthGrowth::step_of_max_length(std::int64_t first, std::int64_t last) const {
  if (growth_.points.empty()) return first;
  std::int64_t longest = first;
  const auto look_at = [&](std::int64_t step) {
    if (value_at(static_cast<double>(step)) > value_at(static_cast<double>(longest))) longest = step;
  };
  for (const GrowthPoint& point : growth_.points)
    if (point.step > first && point.step < last) look_at(point.step);
  look_at(last);
  return longest;
}

workflow::LengthDistribution LengthGrowth::mean_of(std::int64_t first, std::int64_t last) const {
  // Rounding of the sum must not lift the mean above the reachable maximum.
  const auto mean = [&] {
    return std::min(mean_value(first, last), value_at(static_cast<double>(step_of_max_length(first, last))));
  };
  const double factor = growth_.points.empty() ? 1 : factor_for(mean()).value();
  return workflow::scaled(lengths_, factor, max_length());
}

double LengthGrowth::factor_at(double step) const {
  return growth_.points.empty() ? 1 : factor_for(value_at(step)).value();
}

workflow::LengthDistribution LengthGrowth::at(double step) const {
  return workflow::scaled(lengths_, factor_at(step), max_length());
}

double LengthGrowth::at_cap(double step) const { return cap_ ? at(step).survival(*cap_ - 1) : 0; }

}  // namespace dovetail::study
