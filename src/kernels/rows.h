// The other operators of a transformer on rows of numbers, forward and backward. Each number of a forward's result
// hangs on its own row alone. All are for float and double.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// x / sqrt(mean of x^2 + epsilon) * scale of each of `rows` rows of `size` numbers (Zhang and Sennrich 2019, arXiv
/// 1910.07467). The mean is in double precision.
template <class Number>
void normalize(const Number* x, const Number* scale, std::int64_t rows, std::int64_t size, double epsilon, Number* out);

/// 1 / sqrt(mean of x^2 + epsilon) of each row: what the backward needs.
template <class Number>
void reciprocal_roots(const Number* x, std::int64_t rows, std::int64_t size, double epsilon, Number* roots);

/// The derivative by x, given that by the result: with s = dy * scale and r the row's root, r s - r^3 x mean(s * x).
/// `dx` may be `dy`.
template <class Number>
void normalize_backward(const Number* x, const Number* scale, const Number* roots, const Number* dy, std::int64_t rows,
                        std::int64_t size, Number* dx);

/// Adds the derivatives by the scales [begin, end), sums of dy * x * r over the rows: in their order and in double
/// precision, so that it is the same however the scales are shared out.
template <class Number>
void add_scale_gradient(const Number* x, const Number* roots, const Number* dy, std::int64_t rows, std::int64_t size,
                        std::int64_t begin, std::int64_t end, Number* gradient);

/// Turns the pairs (i, i + size / 2) of `heads` heads of `size` numbers by the angles whose cosines and sines are
/// given, size / 2 of each: rotary embedding (Su et al. 2021, arXiv 2104.09864) with the pairs that Hugging Face has.
template <class Number>
void rotate(Number* x, std::int64_t heads, std::int64_t size, const Number* cosines, const Number* sines);

/// Which way: the backward of a turn is the turn back.
enum class Turn { on, back };

/// Likewise each of the rows of heads, `stride` numbers apart, by the angles of its position: row p of tables
/// [positions, size / 2]. Without positions row t has position t.
template <class Number>
struct RotaryRows {
  Number* x = nullptr;
  std::int64_t stride = 0;
  std::int64_t heads = 0;
  std::int64_t size = 0;
  const std::int64_t* positions = nullptr;
  const Number* cosines = nullptr;
  const Number* sines = nullptr;
};
template <class Number>
void rotate(const RotaryRows<Number>& rows, std::int64_t begin, std::int64_t end, Turn turn);

/// silu(gate) * up, into gate.
template <class Number>
void gate(Number* gates, const Number* up, std::int64_t count);
/// Into `out`.
template <class Number>
void gate(const Number* gates, const Number* up, std::int64_t count, Number* out);

/// The derivatives by both, given that by the result: with s the sigmoid of a gate g, dy up s (1 + g (1 - s)) and
/// dy g s. `d_gates` may be `gates`, `d_up` may be `up` or `dy`.
template <class Number>
void gate_backward(const Number* gates, const Number* up, const Number* dy, std::int64_t count, Number* d_gates,
                   Number* d_up);

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
