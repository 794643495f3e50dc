// The distribution over a vocabulary that a row of logits means: what is asked of it, and the backward.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// Of p = softmax(logits / temperature).
struct TokenDistribution {
  double log_sum_exp = 0;  ///< of the logits over the temperature
  double entropy = 0;      ///< in nats
};

/// Sums are in double precision, of exponentials as precise as the numbers are. An entropy leaves out tokens with
/// logits of -inf. REQUIRES: a finite logit. For float and double.
template <class Number>
TokenDistribution distribution_of(const Number* logits, std::int64_t count, double temperature);

/// ln p of one token.
template <class Number>
double log_probability(const TokenDistribution& distribution, const Number* logits, double temperature,
                       std::int64_t token) {
  return static_cast<double>(logits[token]) / temperature - distribution.log_sum_exp;
}

/// Derivatives of the loss by a token's log-probability and by the entropy.
struct TokenSlopes {
  std::int64_t token = 0;
  double by_log_probability = 0;
  double by_entropy = 0;
};

/// Writes the derivatives by the logits in place of these: with H the entropy, of number i
/// (by_log_probability * ((i is the token) - p_i) - by_entropy * p_i * (ln p_i + H)) / temperature.
template <class Number>
void distribution_backward(Number* logits, std::int64_t count, double temperature,
                           const TokenDistribution& distribution, const TokenSlopes& slopes);

}  // namespace dovetail::kernels
