// Discrete distributions of prompt and response lengths in tokens. Their statistics are sums over the points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace dovetail::workflow {

/// A length in tokens, and its weight relative to the other points.
struct LengthPoint {
  std::int64_t length = 0;
  std::int64_t weight = 0;

  friend bool operator==(const LengthPoint&, const LengthPoint&) = default;
};

/// Maximum length of a prompt or response, in tokens.
inline constexpr std::int64_t max_length = 1 << 24;
/// Maximum total weight of a distribution. It keeps sums of lengths times weights below 2^63.
inline constexpr std::int64_t max_weight = std::int64_t{1} << 36;
/// Maximum number of points of a distribution. If there are more lengths, short ones are kept and neighboring long ones
/// are merged, within 1 part in 300 of their length.
inline constexpr std::size_t max_length_points = 5000;

/// An immutable distribution of prompt or response lengths. Results are the same on every machine, because they are
/// sums of integers and IEEE arithmetic on them. Two distributions are equal if every length has the same fraction in
/// both.
class LengthDistribution {
 public:
  /// Makes a distribution from points in any order. Points of equal length are merged and points without weight are
  /// dropped. If more than max_length_points remain, neighbors are merged at their mean. Returns an Error without a
  /// position if a length is not from 0 to max_length, if a weight is negative, if the total weight is 0 or exceeds
  /// max_weight, or if all lengths are 0.
  static base::Result<LengthDistribution> of(std::vector<LengthPoint> points);
  /// Makes a distribution of a single length. REQUIRES: 1 <= length <= max_length.
  static LengthDistribution fixed(std::int64_t length);

  /// Returns the points in ascending order of length. Weights are at least 1 and have no common divisor.
  const std::vector<LengthPoint>& points() const { return points_; }
  std::int64_t total_weight() const { return weight_up_to_.back(); }
  std::int64_t shortest() const { return points_.front().length; }
  std::int64_t longest() const { return points_.back().length; }

  /// Returns the expected length.
  double mean() const;
  /// Returns the expected square of the length, in tokens^2. The cost of attention is proportional to it.
  double second_moment() const;
  /// Returns the smallest length L such that at least a fraction p of the lengths is L or shorter: the shortest length
  /// if p <= 0, the longest if p >= 1.
  std::int64_t quantile(double p) const;
  /// Returns the fraction of lengths above `length`. For responses, this is the fraction still being generated after
  /// `length` tokens.
  double survival(std::int64_t length) const;
  /// Returns the expected length given that it exceeds `length`, or nullopt if no length does.
  std::optional<double> mean_beyond(std::int64_t length) const;
  /// Returns the expected maximum of `draws` independent lengths. REQUIRES: draws >= 1.
  double expected_maximum(std::int64_t draws) const;
  /// Draws one length.
  std::int64_t draw(base::Random& random) const;
  /// Draws `count` independent lengths.
  std::vector<std::int64_t> sample(std::size_t count, base::Random& random) const;

  friend bool operator==(const LengthDistribution& a, const LengthDistribution& b) { return a.points_ == b.points_; }

 private:
  explicit LengthDistribution(std::vector<LengthPoint> points);
  /// Returns the number of points not longer than `length`.
  std::size_t points_up_to(std::int64_t length) const;
  /// Returns the first point whose cumulative weight is at least `rank`.
  const LengthPoint& point_at(std::int64_t rank) const;

  std::vector<LengthPoint> points_;
  std::vector<std::int64_t> weight_up_to_;  ///< [point] total weight of the points up to this one
  std::vector<std::int64_t> tokens_up_to_;  ///< [point] total length times weight of the points up to this one
};

/// The lengths from `first` to `last` that one point of a merged distribution represents.
struct LengthBin {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Returns at most max_length_points bins that cover the lengths from 0 to `longest`. Bins of short lengths have one
/// length. Bins of long lengths get wider in proportion to the length. REQUIRES: 0 <= longest <= max_length.
std::vector<LengthBin> length_bins(std::int64_t longest);

/// Multiplies every length by `factor`, rounds it, and cuts it at `cap`. Lengths other than 0 stay at least one token.
/// Lengths that were already cut at a cap are scaled from the cap, because their uncut length is unknown. REQUIRES:
/// factor > 0, 1 <= cap.
LengthDistribution scaled(const LengthDistribution& lengths, double factor, std::int64_t cap = max_length);

/// Returns the smallest factor, within 1 part in a million, for which the mean of scaled(lengths, factor, cap) is at
/// least `mean` tokens. If scaling every length other than 0 to one token already suffices, returns a factor that does
/// so. nullopt if the cap prevents such a mean. REQUIRES: mean > 0.
std::optional<double> factor_for_mean(const LengthDistribution& lengths, double mean, std::int64_t cap = max_length);

/// Returns the factor for which the median of scaled(lengths, factor, cap) is `median` tokens, apart from rounding.
/// nullopt if `median` exceeds the cap, or if the median of `lengths` is 0. REQUIRES: median > 0.
std::optional<double> factor_for_median(const LengthDistribution& lengths, double median,
                                        std::int64_t cap = max_length);

/// Cuts responses so that prompt and response together have at most `cap` tokens. Prompts and responses are assumed to
/// be independent; 64 quantiles represent the prompts. REQUIRES: cap > prompts.longest().
LengthDistribution truncate_to_context(const LengthDistribution& responses, const LengthDistribution& prompts,
                                       std::int64_t cap);

}  // namespace dovetail::workflow
