#include "workflow/lengths.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::workflow {
namespace {

std::optional<std::string> fault_of(const std::vector<LengthPoint>& points) {
  std::int64_t total = 0;
  std::int64_t longest = 0;
  for (const auto& [length, weight] : points) {
    if (length < 0 || length > max_length)
      return fmt::format("a length is {} tokens; accepted: an integer from 0 to {}", length, max_length);
    if (weight < 0 || weight > max_weight - total)
      return fmt::format("a weight is negative, or the weights add up to more than {}", max_weight);
    total += weight;
    if (weight > 0) longest = std::max(longest, length);
  }
  if (total == 0) return "there are no lengths; accepted: at least one length greater than 0";
  if (longest == 0) return "all lengths are 0; accepted: at least one length greater than 0";
  return std::nullopt;
}

/// Merges neighbors for which `same(first of them, point)` holds, at their mean rounded half up. REQUIRES: points by
/// ascending length.
template <class Same>
std::vector<LengthPoint> put_together(const std::vector<LengthPoint>& points, const Same& same) {
  std::vector<LengthPoint> merged;
  for (std::size_t begin = 0; begin < points.size();) {
    std::int64_t weight = 0;
    std::int64_t tokens = 0;
    std::size_t end = begin;
    for (; end < points.size() && same(points[begin], points[end]); ++end) {
      weight += points[end].weight;
      tokens += points[end].weight * points[end].length;
    }
    merged.push_back({(tokens + weight / 2) / weight, weight});
    begin = end;
  }
  return merged;
}

std::vector<LengthPoint> thinned(const std::vector<LengthPoint>& points) {
  const std::vector<LengthBin> bins = length_bins(points.back().length);
  const auto bin_of = [&](const LengthPoint& point) {
    return std::lower_bound(bins.begin(), bins.end(), point.length,
                            [](const LengthBin& bin, std::int64_t l) { return bin.last < l; });
  };
  return put_together(points, [&](const LengthPoint& a, const LengthPoint& b) { return bin_of(a) == bin_of(b); });
}

/// Returns x^exponent by squaring, for x in [0, 1].
double integer_power(double x, std::int64_t exponent) {
  double power = 1.0;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power *= x;
    x *= x;
  }
  return power;
}

/// Returns bins that are 1 wide below `finest`, and 1 / finest of their start above it.
std::vector<LengthBin> bins_of(std::int64_t longest, std::int64_t finest) {
  std::vector<LengthBin> bins;
  for (std::int64_t first = 0; first <= longest;) {
    const std::int64_t width = std::max<std::int64_t>(1, first / finest);
    bins.push_back({first, std::min(longest, first + width - 1)});
    first += width;
  }
  return bins;
}

}  // namespace

std::vector<LengthBin> length_bins(std::int64_t longest) {
  DOVETAIL_ASSERT(longest >= 0 && longest <= max_length);
  std::int64_t finest = static_cast<std::int64_t>(max_length_points);
  std::vector<LengthBin> bins = bins_of(longest, finest);
  while (bins.size() > max_length_points) bins = bins_of(longest, finest /= 2);
  return bins;
}

base::Result<LengthDistribution> LengthDistribution::of(std::vector<LengthPoint> points) {
  if (const std::optional<std::string> fault = fault_of(points)) return base::bad_input(*fault);
  std::erase_if(points, [](const LengthPoint& point) { return point.weight == 0; });
  std::sort(points.begin(), points.end(),
            [](const LengthPoint& a, const LengthPoint& b) { return a.length < b.length; });
  points = put_together(points, [](const LengthPoint& a, const LengthPoint& b) { return a.length == b.length; });
  if (points.size() > max_length_points) points = thinned(points);
  return LengthDistribution(std::move(points));
}

LengthDistribution LengthDistribution::fixed(std::int64_t length) {
  DOVETAIL_ASSERT(length >= 1 && length <= max_length);
  return LengthDistribution({{length, 1}});
}

LengthDistribution::LengthDistribution(std::vector<LengthPoint> points) : points_(std::move(points)) {
  // Divide by the greatest common divisor, so that equal fractions have equal weights.
  std::int64_t divisor = 0;
  for (const LengthPoint& point : points_) divisor = std::gcd(divisor, point.weight);
  for (LengthPoint& point : points_) point.weight /= divisor;
  std::int64_t weight = 0;
  std::int64_t tokens = 0;
  for (const LengthPoint& point : points_) {
    weight_up_to_.push_back(weight += point.weight);
    tokens_up_to_.push_back(tokens += point.weight * point.length);
  }
}

std::size_t LengthDistribution::points_up_to(std::int64_t length) const {
  const auto longer =
      std::upper_bound(points_.begin(), points_.end(), length,
                       [](std::int64_t wanted, const LengthPoint& point) { return wanted < point.length; });
  return static_cast<std::size_t>(longer - points_.begin());
}

const LengthPoint& LengthDistribution::point_at(std::int64_t rank) const {
  const auto found = std::lower_bound(weight_up_to_.begin(), weight_up_to_.end(), rank);
  return found == weight_up_to_.end() ? points_.back()
                                      : points_[static_cast<std::size_t>(found - weight_up_to_.begin())];
}

double LengthDistribution::mean() const {
  return static_cast<double>(tokens_up_to_.back()) / static_cast<double>(total_weight());
}

double LengthDistribution::second_moment() const {
  double sum = 0.0;
  for (const auto& [length, weight] : points_)
    sum += static_cast<double>(length * length) * static_cast<double>(weight);
  return sum / static_cast<double>(total_weight());
}

std::int64_t LengthDistribution::quantile(double p) const {
  if (!(p > 0.0)) return shortest();
  if (p >= 1.0) return longest();
  // A p such as 0.07 has no exact representation. Among 100 equal weights it must select the 7th, not the 8th.
  constexpr double rounding = 1e-12;
  return point_at(static_cast<std::int64_t>(std::ceil((p - rounding) * static_cast<double>(total_weight())))).length;
}

double LengthDistribution::survival(std::int64_t length) const {
  const std::size_t up_to = points_up_to(length);
  if (up_to == 0) return 1.0;
  return static_cast<double>(total_weight() - weight_up_to_[up_to - 1]) / static_cast<double>(total_weight());
}

std::optional<double> LengthDistribution::mean_beyond(std::int64_t length) const {
  const std::size_t up_to = points_up_to(length);
  if (up_to == points_.size()) return std::nullopt;
  if (up_to == 0) return mean();
  return static_cast<double>(tokens_up_to_.back() - tokens_up_to_[up_to - 1]) /
         static_cast<double>(total_weight() - weight_up_to_[up_to - 1]);
}

double LengthDistribution::expected_maximum(std::int64_t draws) const {
  DOVETAIL_ASSERT(draws >= 1);
  // The longest length, minus each step in length times the probability that no draw exceeds it.
  double maximum = static_cast<double>(longest());
  for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
    const double none_longer =
        integer_power(static_cast<double>(weight_up_to_[i]) / static_cast<double>(total_weight()), draws);
    maximum -= static_cast<double>(points_[i + 1].length - points_[i].length) * none_longer;
  }
  return maximum;
}

std::int64_t LengthDistribution::draw(base::Random& random) const {
  return point_at(1 + static_cast<std::int64_t>(random.unit() * static_cast<double>(total_weight()))).length;
}

std::vector<std::int64_t> LengthDistribution::sample(std::size_t count, base::Random& random) const {
  std::vector<std::int64_t> lengths;
  lengths.reserve(count);
  for (std::size_t i = 0; i < count; ++i) lengths.push_back(draw(random));
  return lengths;
}

LengthDistribution scaled(const LengthDistribution& lengths, double factor, std::int64_t cap) {
  DOVETAIL_ASSERT(factor > 0 && cap >= 1);
  const auto most = static_cast<double>(std::min(cap, max_length));
  std::vector<LengthPoint> points = lengths.points();
  for (LengthPoint& point : points)
    if (point.length > 0)
      point.length = std::llround(std::clamp(static_cast<double>(point.length) * factor, 1.0, most));
  return LengthDistribution::of(std::move(points)).value();
}

std::optional<double> factor_for_mean(const LengthDistribution& lengths, double mean, std::int64_t cap) {
  DOVETAIL_ASSERT(mean > 0);
  // This factor raises every length to the maximum.
  const auto most = static_cast<double>(std::min(cap, max_length));
  double enough = most / static_cast<double>(std::max<std::int64_t>(1, lengths.shortest()));
  if (scaled(lengths, enough, cap).mean() < mean) return std::nullopt;
  // Below this factor all lengths are one token.
  double short_of = 0.5 / static_cast<double>(std::max<std::int64_t>(1, lengths.longest()));
  if (scaled(lengths, short_of, cap).mean() >= mean) return short_of;
  while (enough - short_of > enough * 1e-6) {
    const double middle = short_of + (enough - short_of) / 2;
    (scaled(lengths, middle, cap).mean() >= mean ? enough : short_of) = middle;
  }
  return enough;
}

std::optional<double> factor_for_median(const LengthDistribution& lengths, double median, std::int64_t cap) {
  DOVETAIL_ASSERT(median > 0);
  const std::int64_t now = lengths.quantile(0.5);
  if (now == 0 || median > static_cast<double>(std::min(cap, max_length))) return std::nullopt;
  return median / static_cast<double>(now);
}

LengthDistribution truncate_to_context(const LengthDistribution& responses, const LengthDistribution& prompts,
                                       std::int64_t cap) {
  DOVETAIL_ASSERT(cap > prompts.longest());
  if (prompts.longest() + responses.longest() <= cap) return responses;
  constexpr std::int64_t quantiles = 64;
  constexpr std::int64_t coarse_points = 4096;
  std::vector<LengthPoint> response_points = responses.points();
  if (responses.total_weight() > max_weight / quantiles) {
    response_points.clear();
    for (std::int64_t point = 0; point < coarse_points; ++point)
      response_points.push_back({responses.quantile((static_cast<double>(point) + 0.5) / coarse_points), 1});
  }
  std::vector<LengthPoint> cut;
  cut.reserve(response_points.size() * quantiles);
  for (std::int64_t quantile = 0; quantile < quantiles; ++quantile) {
    const std::int64_t space = cap - prompts.quantile((static_cast<double>(quantile) + 0.5) / quantiles);
    for (const LengthPoint& point : response_points) cut.push_back({std::min(point.length, space), point.weight});
  }
  return LengthDistribution::of(std::move(cut)).value();
}

}  // namespace dovetail::workflow
