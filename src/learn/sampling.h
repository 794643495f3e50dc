// Sampling of the next token. The random number of a draw depends only on its key, not on other responses in the batch.
#pragma once

#include <cstdint>
#include <span>

namespace dovetail::learn {

/// Identifies a draw: the token at `position` of a response.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  ///< pass over the prompts
  std::uint64_t prompt = 0;
  std::uint64_t copy = 0;  ///< index among the prompt's responses
  std::uint64_t position = 0;
};

/// Returns a uniform number in [0, 1) with 53 bits, a function of the key.
double uniform_of(const DrawKey& key);

/// Sampling keeps the `top_k` most likely tokens (0: all). Of these, it keeps the smallest set of most likely tokens
/// that holds at least the share `top_p` of their total probability.
struct SamplingLimits {
  double temperature = 1;  ///< 0: always the most likely token
  std::int64_t top_k = 0;
  double top_p = 1;
};

/// Returns the token that `uniform` selects: the tokens within the limits, in order of their ids, divide [0, 1) in
/// proportion to their probabilities. Among equally likely tokens, the limits keep those with smaller ids. Sums are in
/// double precision and in a fixed order. REQUIRES: there is a logit, no logit is NaN, and at least one is finite.
std::int32_t sample(std::span<const float> logits, const SamplingLimits& limits, double uniform);

}  // namespace dovetail::learn
