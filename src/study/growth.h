// Growth of response lengths during a run: growth tables and the length distribution at each step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::study {

/// Quantity whose values a Growth gives.
enum class GrowthFigure {
  factor,  ///< factor on all response lengths of the job
  mean,    ///< mean response length in tokens
  median   ///< median response length in tokens
};
/// Returns the name used in files and options: "factor", "mean" or "p50".
std::string_view name_of(GrowthFigure figure);

struct GrowthPoint {
  std::int64_t step = 0;
  double value = 0;

  friend bool operator==(const GrowthPoint&, const GrowthPoint&) = default;
};

/// Values of `figure` at some steps. Between these steps, `figure` is linear. After the last step, it is constant.
/// Before the first step, it is linear from the job's own value at step 0.
struct Growth {
  GrowthFigure figure = GrowthFigure::factor;
  std::vector<GrowthPoint> points = {};  ///< by increasing step; empty: no growth
};

/// Largest accepted step.
inline constexpr std::int64_t max_step_number = 100'000'000;

/// Parses "0:1,500:2.5,1000:4". Returns an Error without location for malformed pairs, values that are not above 0, and
/// steps that do not increase.
base::Result<Growth> parse_growth(std::string_view text, GrowthFigure figure);
/// Parses a CSV file with the column `step` and one of `factor`, `mean` and `p50`. Other columns are ignored. `path` is
/// used in messages. Errors have a line and column.
base::Result<Growth> parse_growth_table(std::string_view content, const std::string& path);

/// Response lengths of a run.
class LengthGrowth {
 public:
  /// Returns the growth of responses whose lengths without growth follow `lengths`. Lengths never exceed `cap`;
  /// nullopt: no cap.
  /// Returns an Error without location if a mean or median of `growth` cannot be reached with these lengths.
  static base::Result<LengthGrowth> of(const workflow::LengthDistribution& lengths, Growth growth,
                                       std::optional<std::int64_t> cap);

  /// The factor on all lengths at a step, before the cap. REQUIRES for this and all functions below: step >= 0.
  double factor_at(double step) const;
  /// The response lengths at a step.
  workflow::LengthDistribution at(double step) const;
  /// The response lengths for the mean of Growth::figure over the steps from `first` to `last`.
  workflow::LengthDistribution mean_of(std::int64_t first, std::int64_t last) const;
  /// The first step between `first` and `last` at which responses are longest.
  std::int64_t step_of_max_length(std::int64_t first, std::int64_t last) const;
  /// The fraction of responses that end at the cap; 0 without a cap.
  double at_cap(double step) const;
  std::optional<std::int64_t> cap() const { return cap_; }

 private:
  LengthGrowth(const workflow::LengthDistribution& lengths, Growth growth, std::optional<std::int64_t> cap);
  /// Growth::figure at a step, and its mean over a range of steps.
  double value_at(double step) const;
  double mean_value(std::int64_t first, std::int64_t last) const;
  /// The factor that yields this value of Growth::figure; nullopt if no factor does.
  std::optional<double> factor_for(double value) const;
  std::int64_t max_length() const { return cap_.value_or(workflow::max_length); }

  workflow::LengthDistribution lengths_;
  Growth growth_;
  std::optional<std::int64_t> cap_;
};

}  // namespace dovetail::study
