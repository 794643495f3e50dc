#include "cost/batches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "batching/micro_batches.h"

namespace dovetail::cost {

Batch batch_of(double sequences, const workflow::LengthDistribution& lengths) {
  return {sequences, {sequences * lengths.mean(), sequences * lengths.second_moment()}, &lengths};
}

workflow::LengthDistribution whole_lengths(const workflow::Workload& workload) {
  constexpr int points = 1000;
  const workflow::LengthDistribution& responses = workflow::responses_before_cap(workload);
  const std::int64_t cap = workload.sequence_cap > 0 ? workload.sequence_cap : workflow::max_length;
  std::vector<workflow::LengthPoint> sums;
  for (int point = 0; point < points; ++point) {
    const double quantile = (point + 0.5) / points;
    sums.push_back({std::min(workload.prompt_length.quantile(quantile) + responses.quantile(quantile), cap), 1});
  }
  return workflow::LengthDistribution::of(std::move(sums)).value();
}

std::int64_t whole_limit(double limit) { return static_cast<std::int64_t>(std::clamp(limit, 0.0, 1e15)); }

double count_micro_batches(const workflow::LengthDistribution& lengths, double sequences,
                           const MicroBatching& micro_batching, int together) {
  const double groups = sequences / together;
  if (micro_batching.count > 0) return std::min<double>(micro_batching.count, std::max(1.0, std::ceil(groups)));
  if (micro_batching.tokens <= 0)
    return std::max(1.0, std::ceil(groups / std::max(1.0, std::ceil(micro_batching.sequences / together))));
  constexpr double max_sample = 256;
  const double sampled = std::clamp(std::round(groups), 1.0, max_sample);
  std::vector<std::int64_t> sample;
  for (int index = 0; index < static_cast<int>(sampled); ++index)
    sample.push_back(together * lengths.quantile((index + 0.5) / sampled));
  const double repeats = groups > max_sample ? groups / sampled : 1;
  const std::size_t bins = batching::count_first_fit_decreasing(std::move(sample), whole_limit(micro_batching.tokens));
  return std::max(1.0, static_cast<double>(bins) * repeats);
}

int whole_micro_batches(const llm::Layout& layout, const workflow::LengthDistribution& lengths, double sequences,
                        const MicroBatching& micro_batching, int together) {
  const double multiple = layout.virtual_stages > 1 ? layout.pipeline : 1;
  const double most = std::floor(1e9 / multiple);
  const double micro_batches = count_micro_batches(lengths, sequences, micro_batching, together);
  return static_cast<int>(multiple * std::min(most, std::ceil(micro_batches / multiple)));
}

}  // namespace dovetail::cost
