#include "cost/batches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "batching/micro_batches.h"
#include "workflow/normal.h"

namespace dovetail::cost {

Batch batch_of(double sequences, const workflow::LengthDistribution& lengths) {
  return {sequences, {sequences * lengths.mean(), sequences * lengths.second_moment()}, &lengths};
}

workflow::LengthDistribution integer_lengths(const workflow::Workload& workload) {
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

std::int64_t integer_limit(double limit) { return static_cast<std::int64_t>(std::clamp(limit, 0.0, 1e15)); }

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
  const std::size_t bins =
      batching::count_first_fit_decreasing(std::move(sample), integer_limit(micro_batching.tokens));
  return std::max(1.0, static_cast<double>(bins) * repeats);
}

int count_whole_micro_batches(const llm::Layout& layout, const workflow::LengthDistribution& lengths, double sequences,
                              const MicroBatching& micro_batching, int together) {
  const double multiple = layout.virtual_stages > 1 ? layout.pipeline : 1;
  const double most = std::floor(1e9 / multiple);
  const double micro_batches = count_micro_batches(lengths, sequences, micro_batching, together);
  return static_cast<int>(multiple * std::min(most, std::ceil(micro_batches / multiple)));
}

namespace {

using workflow::LengthDistribution;

/// Moments of the length distribution that describe sums of lengths.
struct Spread {
  double variance = 0;
  double skewness = 0;
  double squares = 0;  // Cov(l, l^2) / variance
};

Spread spread_of(const LengthDistribution& lengths) {
  const double mean = lengths.mean();
  double third = 0;
  double covariance = 0;
  Spread spread;
  for (const workflow::LengthPoint& point : lengths.points()) {
    const double probability = static_cast<double>(point.weight) / static_cast<double>(lengths.total_weight());
    const auto length = static_cast<double>(point.length);
    const double off = length - mean;
    spread.variance += probability * off * off;
    third += probability * off * off * off;
    covariance += probability * off * length * length;
  }
  spread.skewness = third / (spread.variance * std::sqrt(spread.variance));
  spread.squares = covariance / spread.variance;
  return spread;
}

/// Returns the first terms of the Cornish-Fisher expansion (1938) of a sum of `each` lengths, given a standard normal
/// value and its square.
double skewed(const Spread& spread, double each, double normal, double square) {
  return normal + spread.skewness * (square - 1) / (6 * std::sqrt(each));
}

std::int64_t rounded(double count) { return std::max<std::int64_t>(1, std::llround(std::min(count, 1e9))); }

/// Returns the tokens of the largest share if ranks are balanced.
double max_of_balanced(const LengthDistribution& lengths, double each, int ranks) {
  const double equal = each * lengths.mean();
  const double others = std::max(0.0, each - 1);
  const double short_ones = others * static_cast<double>(lengths.quantile(others / (2 * each * ranks)));
  if (static_cast<double>(lengths.longest()) + short_ones <= equal) return equal;
  return std::max(equal, lengths.expected_maximum(rounded(each * ranks)) + short_ones);
}

/// Returns the tokens of the largest share in arrival order.
double max_of_unbalanced(const LengthDistribution& lengths, const Spread& spread, double each, int ranks) {
  if (each <= 1) return lengths.expected_maximum(ranks);
  const NormalMaximum of = normal_maximum(ranks);
  const double most = each * lengths.mean() +
                      std::sqrt(each * spread.variance) * std::max(0.0, skewed(spread, each, of.mean, of.square));
  return std::min(most, each * static_cast<double>(lengths.longest()));
}

/// Returns the tokens at a quantile of shares in arrival order.
double unbalanced_at(const LengthDistribution& lengths, const Spread& spread, double each, double quantile) {
  if (each <= 1) return static_cast<double>(lengths.quantile(quantile));
  const double z = workflow::normal_quantile(quantile);
  const double tokens = each * lengths.mean() + std::sqrt(each * spread.variance) * skewed(spread, each, z, z * z);
  return std::max(tokens, each * static_cast<double>(lengths.shortest()));
}

/// Returns the number of sequences in a share. With a token limit, mean-length sequences with the share's tokens.
double sequences_of(const Batch& batch, const Share& share, const MicroBatching& micro_batching) {
  return micro_batching.tokens > 0 ? share.tokens.count / batch.lengths->mean() : share.sequences;
}

}  // namespace

NormalMaximum normal_maximum(int count) {
  constexpr double step = 0.125;
  constexpr double end = 9;
  NormalMaximum maximum;
  for (double z = -end; z <= end; z += step) {
    const double density = count * workflow::normal_density(z) * std::pow(workflow::normal_cumulative(z), count - 1);
    maximum.mean += step * z * density;
    maximum.square += step * z * z * density;
  }
  return maximum;
}

Share slowest_share(const Batch& batch, double steps, int ranks) {
  const double parts = steps * ranks;
  Share share{batch.sequences / parts, {batch.tokens.count / parts, batch.tokens.squares / parts}};
  const LengthDistribution& lengths = *batch.lengths;
  if (ranks == 1 || share.sequences <= 0 || lengths.shortest() == lengths.longest()) return share;
  const double each = std::max(1.0, share.sequences);
  const double equal = each * lengths.mean();
  double most = batch.balanced ? max_of_balanced(lengths, each, ranks) : 0;
  if (batch.balanced && most <= equal) return share;
  const Spread spread = spread_of(lengths);
  if (!batch.balanced) most = max_of_unbalanced(lengths, spread, each, ranks);
  const double beyond = std::max(0.0, most - equal);
  share.tokens.count += beyond;
  share.tokens.squares += beyond * spread.squares;
  return share;
}

std::vector<double> shares_of_ranks(const Batch& batch, double steps, int ranks) {
  std::vector<double> parts(static_cast<std::size_t>(ranks), 1);
  const LengthDistribution& lengths = *batch.lengths;
  const double most = slowest_share(batch, steps, ranks).tokens.count;
  const double equal = batch.tokens.count / (steps * ranks);
  if (most <= equal || lengths.shortest() == lengths.longest()) return parts;
  const double each = std::max(1.0, batch.sequences / (steps * ranks));
  const Spread spread = spread_of(lengths);
  double others = 0;
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    const double quantile = 1 - (static_cast<double>(rank) + 0.625) / (ranks + 0.25);
    if (!batch.balanced) parts[rank] = unbalanced_at(lengths, spread, each, quantile);
    others += parts[rank];
  }
  // With fewer sequences than ranks, the largest share may exceed the mean tokens of all ranks together.
  const double left = std::max(0.0, equal * ranks - most) / most / others;
  for (std::size_t rank = 1; rank < parts.size(); ++rank) parts[rank] = std::min(parts[rank - 1], parts[rank] * left);
  return parts;
}

double count_micro_batches(const Batch& batch, const Share& share, const MicroBatching& micro_batching) {
  return count_micro_batches(*batch.lengths, sequences_of(batch, share, micro_batching), micro_batching,
                             batch.together);
}

int count_whole_micro_batches(const llm::Layout& layout, const Batch& batch, const Share& share,
                              const MicroBatching& micro_batching) {
  return count_whole_micro_batches(layout, *batch.lengths, sequences_of(batch, share, micro_batching), micro_batching,
                                   batch.together);
}

}  // namespace dovetail::cost
