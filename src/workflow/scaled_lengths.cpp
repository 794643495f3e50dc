#include "workflow/scaled_lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::workflow {

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
  // The longest that all can be.
  const auto most = static_cast<double>(std::min(cap, max_length));
  double enough = most / static_cast<double>(std::max<std::int64_t>(1, lengths.shortest()));
  if (scaled(lengths, enough, cap).mean() < mean) return std::nullopt;
  // From here down all are one token.
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

LengthDistribution cut_to_room(const LengthDistribution& responses, const LengthDistribution& prompts,
                               std::int64_t cap) {
  DOVETAIL_ASSERT(cap > prompts.longest());
  if (prompts.longest() + responses.longest() <= cap) return responses;
  constexpr std::int64_t quantiles = 64;
  constexpr std::int64_t coarse_points = 4096;
  std::vector<LengthPoint> whole = responses.points();
  if (responses.total_weight() > max_weight / quantiles) {
    whole.clear();
    for (std::int64_t point = 0; point < coarse_points; ++point)
      whole.push_back({responses.quantile((static_cast<double>(point) + 0.5) / coarse_points), 1});
  }
  std::vector<LengthPoint> cut;
  cut.reserve(whole.size() * quantiles);
  for (std::int64_t quantile = 0; quantile < quantiles; ++quantile) {
    const std::int64_t room = cap - prompts.quantile((static_cast<double>(quantile) + 0.5) / quantiles);
    for (const LengthPoint& point : whole) cut.push_back({std::min(point.length, room), point.weight});
  }
  return LengthDistribution::of(std::move(cut)).value();
}

}  // namespace dovetail::workflow
