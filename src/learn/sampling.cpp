#include "learn/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/assert.h"
#include "base/random.h"

namespace dovetail::learn {
namespace {

/// exp((logit - max) / temperature) for each logit, and their sum.
struct Weights {
  double max = 0;
  double temperature = 1;
  double sum = 0;
  std::vector<double> all;

  Weights(std::span<const float> logits, double of_temperature)
      : max(*std::max_element(logits.begin(), logits.end())), temperature(of_temperature) {
    all.reserve(logits.size());
    for (const float logit : logits) {
      all.push_back(std::exp((static_cast<double>(logit) - max) / temperature));
      sum += all.back();
    }
  }
  double of(std::int32_t token) const { return all[static_cast<std::size_t>(token)]; }
};

/// Returns the tokens within the limits, in order of their ids.
std::vector<std::int32_t> tokens_within(std::span<const float> logits, const SamplingLimits& limits,
                                        const Weights& weights) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const bool by_rank = limits.top_k > 0 && static_cast<std::size_t>(limits.top_k) < logits.size();
  if (!by_rank && limits.top_p >= 1) return tokens;
  const auto is_before = [&](std::int32_t a, std::int32_t b) {
    const float left = logits[static_cast<std::size_t>(a)];
    const float right = logits[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  };
  std::sort(tokens.begin(), tokens.end(), is_before);
  if (by_rank) tokens.resize(static_cast<std::size_t>(limits.top_k));
  double sum = 0;
  for (const std::int32_t token : tokens) sum += weights.of(token);
  double kept = 0;
  for (std::size_t count = 0; count < tokens.size(); ++count) {
    kept += weights.of(tokens[count]);
    if (kept >= limits.top_p * sum) tokens.resize(count + 1);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

}  // namespace

double uniform_of(const DrawKey& key) {
  std::uint64_t bits = key.seed;
  for (const std::uint64_t part : {key.epoch, key.prompt, key.copy, key.position})
    bits = base::scatter(bits ^ base::scatter(part));
  constexpr int unused_bits = 11;
  return static_cast<double>(bits >> unused_bits) * 0x1p-53;
}

std::int32_t sample(std::span<const float> logits, const SamplingLimits& limits, double uniform) {
  DOVETAIL_ASSERT(!logits.empty());
  if (limits.temperature <= 0)
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const Weights weights(logits, limits.temperature);
  const std::vector<std::int32_t> tokens = tokens_within(logits, limits, weights);
  double sum = 0;
  for (const std::int32_t token : tokens) sum += weights.of(token);
  double so_far = 0;
  std::int32_t last = 0;
  for (const std::int32_t token : tokens) {
    const double weight = weights.of(token);
    if (weight == 0) continue;
    last = token;
    so_far += weight;
    if (uniform * sum < so_far) break;
  }
  return last;  // reached if rounding makes the sum too small
}

}  // namespace dovetail::learn
