// Which token comes next. What is drawn hangs on what it is for alone, not on who else is generated beside it.
#pragma once

#include <cstdint>
#include <span>

namespace dovetail::learn {

/// What a draw is for: the token at `position` of a response's tokens.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  ///< of the data
  std::uint64_t prompt = 0;
  std::uint64_t copy = 0;  ///< of the prompt's responses
  std::uint64_t position = 0;
};

/// Uniform in [0, 1), 53 bits: a function of the key.
double uniform_of(const DrawKey& key);

/// Of all tokens the `top_k` most likely (0: all), and of these the most likely ones that have `top_p` of the
/// probability together, the last one included.
struct SamplingLimits {
  double temperature = 1;  ///< 0: the most likely token
  std::int64_t top_k = 0;
  double top_p = 1;
};

/// The token that `uniform` falls on where the tokens within the limits, in the order of their numbers, share [0, 1)
/// out by their probability. Of equally likely tokens the smaller one is within a limit first. Sums are in double
/// precision and in that order. REQUIRES: there is a logit, none is NaN, one is finite.
std::int32_t sample(std::span<const float> logits, const SamplingLimits& limits, double uniform);

}  // namespace dovetail::learn
