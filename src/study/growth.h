// How long responses get as a run goes on: what people know or expect of it, and the lengths that follow at each step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::study {

/// What a growth gives at its steps.
enum class GrowthFigure {
  factor,  ///< of every length of the job
  mean,    ///< tokens of the mean response
  median   ///< tokens that half of the responses are no longer than
};
/// "factor", "mean", "p50".
std::string_view name_of(GrowthFigure figure);

struct GrowthPoint {
  std::int64_t step = 0;
  double value = 0;

  friend bool operator==(const GrowthPoint&, const GrowthPoint&) = default;
};

/// A figure at some steps; between them it is linear, behind the last it stays. Before the first it comes from what the
/// job has at step 0.
struct Growth {
  GrowthFigure figure = GrowthFigure::factor;
  std::vector<GrowthPoint> points = {};  ///< by rising step; none: nothing grows
};

/// The largest step that is accepted.
inline constexpr std::int64_t max_step_number = 100'000'000;

/// Reads "0:1,500:2.5,1000:4". Errors without place: what is no step and value, a value that is not above 0, steps that
/// do not rise.
base::Result<Growth> parse_growth(std::string_view text, GrowthFigure figure);
/// Reads a CSV file with the columns `step` and one of `factor`, `mean`, `p50`; others are passed over, `path` is for
/// messages. Errors have the place of the cell.
base::Result<Growth> parse_growth_table(std::string_view content, const std::string& path);

/// The lengths of a run.
class LengthGrowth {
 public:
  /// Of a job whose responses are `lengths` long, which end at `cap` as they grow; nothing: they do not. An Error
  /// without place where the cap leaves a figure out of reach.
  static base::Result<LengthGrowth> of(const workflow::LengthDistribution& lengths, Growth growth,
                                       std::optional<std::int64_t> cap);

  /// The factor of every length at a step, before the cap cuts them. REQUIRES: step >= 0, as below.
  double factor_at(double step) const;
  /// The responses' lengths there.
  workflow::LengthDistribution at(double step) const;
  /// Those of the figure's mean over the steps from `first` to `last`.
  workflow::LengthDistribution mean_of(std::int64_t first, std::int64_t last) const;
  /// The first of the steps from `first` to `last` at which responses are the longest.
  std::int64_t step_of_max_length(std::int64_t first, std::int64_t last) const;
  /// The share of them that ends at the cap; 0 without one.
  double at_cap(double step) const;
  std::optional<std::int64_t> cap() const { return cap_; }

 private:
  LengthGrowth(const workflow::LengthDistribution& lengths, Growth growth, std::optional<std::int64_t> cap);
  /// The figure at a step, and its mean over steps.
  double value_at(double step) const;
  double mean_value(std::int64_t first, std::int64_t last) const;
  /// The factor by which the figure is met, where one does.
  std::optional<double> factor_for(double value) const;
  std::int64_t most() const { return cap_.value_or(workflow::max_length); }

  workflow::LengthDistribution lengths_;
  Growth growth_;
  std::optional<std::int64_t> cap_;
};

}  // namespace dovetail::study
