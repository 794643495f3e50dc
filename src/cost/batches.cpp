#include "cost/batches.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dovetail::cost {
namespace {

/// Bins of `capacity` that first-fit decreasing fills with `lengths`.
std::int64_t count_bins(std::vector<std::int64_t> lengths, double capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<double> room;
  for (const std::int64_t length : lengths) {
    const auto fits = std::find_if(room.begin(), room.end(), [length](double left) { return left >= static_cast<double>(length); });
    if (fits == room.end())
      room.push_back(capacity - static_cast<double>(length));
    else
      *fits -= static_cast<double>(length);
  }
  return static_cast<std::int64_t>(room.size());
}

}  // namespace

Batch batch_of(double sequences, const workflow::LengthDistribution& lengths) {
  return {sequences, {sequences * lengths.mean(), sequences * lengths.second_moment()}, &lengths};
}

workflow::LengthDistribution whole_lengths(const workflow::LengthDistribution& prompts, const workflow::LengthDistribution& responses) {
  constexpr int points = 1000;
  std::vector<workflow::LengthPoint> sums;
  for (int point = 0; point < points; ++point) {
    const double quantile = (point + 0.5) / points;
    sums.push_back({prompts.quantile(quantile) + responses.quantile(quantile), 1});
  }
  return workflow::LengthDistribution::of(std::move(sums)).value();
}

double count_micro_batches(const workflow::LengthDistribution& lengths, double sequences, const MicroBatching& micro_batching) {
  if (micro_batching.count > 0) return micro_batching.count;
  if (micro_batching.tokens <= 0) return std::max(1.0, std::ceil(sequences / std::max(1.0, micro_batching.sequences)));
  constexpr double largest_sample = 256;
  const double sampled = std::clamp(std::round(sequences), 1.0, largest_sample);
  std::vector<std::int64_t> sample;
  for (int index = 0; index < static_cast<int>(sampled); ++index) sample.push_back(lengths.quantile((index + 0.5) / sampled));
  return std::max(1.0, static_cast<double>(count_bins(std::move(sample), micro_batching.tokens)) * std::max(1.0, sequences / sampled));
}

}  // namespace dovetail::cost
