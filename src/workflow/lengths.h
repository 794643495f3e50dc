// How long prompts and responses are: a discrete distribution of lengths in tokens, of which everything asked for is a
// sum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace dovetail::workflow {

/// A length in tokens and how often it comes, relative to the other points' weights.
struct LengthPoint {
  std::int64_t length = 0;
  std::int64_t weight = 0;

  friend bool operator==(const LengthPoint&, const LengthPoint&) = default;
};

/// The longest prompt or response that is accepted, in tokens.
inline constexpr std::int64_t max_length = 1 << 24;
/// What the weights of a distribution may add up to: sums of lengths times weights stay below 2^63.
inline constexpr std::int64_t max_weight = std::int64_t{1} << 36;
/// A distribution has at most this many points. One with more lengths holds the short ones as they are and puts
/// neighbours among the long ones together, within one part in 300 of their length.
inline constexpr std::size_t max_length_points = 5000;

/// The lengths of prompts or responses. Immutable. What is returned is the same on every machine: sums of whole
/// numbers, and what is calculated of them by IEEE arithmetic alone. Two distributions are equal where all fractions
/// are.
class LengthDistribution {
 public:
  /// Of these points, in any order; points of one length are added up, those without weight left out, neighbours put
  /// together (at their mean) where there are more than max_length_points. An Error without place where a length or a
  /// weight is negative or too large, where there is no weight, or where all lengths are 0.
  static base::Result<LengthDistribution> of(std::vector<LengthPoint> points);
  /// All alike. REQUIRES: 1 <= length <= max_length.
  static LengthDistribution fixed(std::int64_t length);

  /// By rising length, each with a weight of at least 1.
  const std::vector<LengthPoint>& points() const { return points_; }
  std::int64_t total_weight() const { return weight_up_to_.back(); }
  std::int64_t shortest() const { return points_.front().length; }
  std::int64_t longest() const { return points_.back().length; }

  /// The expected length.
  double mean() const;
  /// The expected square of the length: attention costs with it. In tokens^2.
  double second_moment() const;
  /// The least length that at least the fraction p is no longer than. At p <= 0 the shortest, at p >= 1 the longest.
  std::int64_t quantile(double p) const;
  /// The fraction that is longer than `length`: what is still being generated after that many tokens.
  double survival(std::int64_t length) const;
  /// The expected length of those longer than `length`; nothing where none is.
  std::optional<double> mean_beyond(std::int64_t length) const;
  /// The expected length of the longest of `draws` independent ones. REQUIRES: draws >= 1.
  double expected_maximum(std::int64_t draws) const;
  /// One length.
  std::int64_t draw(base::Random& random) const;
  /// Independent lengths, in the order of their drawing.
  std::vector<std::int64_t> sample(std::size_t count, base::Random& random) const;

  friend bool operator==(const LengthDistribution& a, const LengthDistribution& b) { return a.points_ == b.points_; }

 private:
  explicit LengthDistribution(std::vector<LengthPoint> points);
  /// How many points are not longer than `length`.
  std::size_t points_up_to(std::int64_t length) const;
  /// The point that the weight number `rank` (from 1) belongs to.
  const LengthPoint& point_at(std::int64_t rank) const;

  std::vector<LengthPoint> points_;
  std::vector<std::int64_t> weight_up_to_;  ///< [point]: of it and all before it
  std::vector<std::int64_t> tokens_up_to_;  ///< [point]: the same of length times weight
};

/// The lengths from `first` to `last` that one point of a thinned distribution stands for.
struct LengthBin {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Bins that cover all lengths from 0 to `longest`: at most max_length_points, as fine as that allows, the long ones
/// wider in proportion to their length. REQUIRES: 0 <= longest <= max_length.
std::vector<LengthBin> length_bins(std::int64_t longest);

}  // namespace dovetail::workflow
