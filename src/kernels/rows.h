// Operators of a transformer on rows of numbers, forward and backward: products with weights, normalization, rotary
// embedding, gating, and the token distribution of logits. In the forward operators a row's result depends only on that
// row. All templates are instantiated for float and double.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// Operands of x w^T + b: x [rows, inputs], w [outputs, inputs] as in Hugging Face, b [outputs] or null, and the result
/// [rows, outputs]. All are dense and row-major.
template <class Number>
struct LinearOf {
  const Number* x = nullptr;
  const Number* weight = nullptr;
  const Number* bias = nullptr;
  Number* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};
using Linear = LinearOf<float>;

/// Computes the outputs [begin, end) of all rows. The products of an output are first summed in the lanes of a
/// register, then over the lanes; then the bias is added. So an output has the same bits regardless of the other rows
/// and outputs, which libraries for matrix products do not guarantee. The weights are read once per 64 rows.
void multiply(const Linear& linear, std::int64_t begin, std::int64_t end);
void multiply(const LinearOf<double>& linear, std::int64_t begin, std::int64_t end);

/// Computes x / sqrt(mean of x^2 + epsilon) * scale for each of `rows` rows of `size` numbers (Zhang and Sennrich 2019,
/// arXiv 1910.07467). The mean is in double precision.
template <class Number>
void normalize(const Number* x, const Number* scale, std::int64_t rows, std::int64_t size, double epsilon, Number* out);

/// Computes 1 / sqrt(mean of x^2 + epsilon) of each row, for the backward functions.
template <class Number>
void reciprocal_roots(const Number* x, std::int64_t rows, std::int64_t size, double epsilon, Number* roots);

/// Computes the derivative with respect to x from `dy`, the derivative with respect to the result. With s = dy * scale
/// and r the row's value from reciprocal_roots, dx = r s - r^3 x mean(s * x). `dx` may be `dy`.
template <class Number>
void normalize_backward(const Number* x, const Number* scale, const Number* roots, const Number* dy, std::int64_t rows,
                        std::int64_t size, Number* dx);

/// Adds the derivatives with respect to the scales [begin, end) to `gradient`. Each is the sum of dy * x * r over the
/// rows, in order and in double precision. The result does not depend on how calls divide the scales.
template <class Number>
void add_scale_gradient(const Number* x, const Number* roots, const Number* dy, std::int64_t rows, std::int64_t size,
                        std::int64_t begin, std::int64_t end, Number* gradient);

/// Applies rotary embedding (Su et al. 2021, arXiv 2104.09864) to `heads` heads of `size` numbers. Rotates the pairs
/// (i, i + size / 2), as in Hugging Face, by angles given as size / 2 cosines and sines.
template <class Number>
void rotate(Number* x, std::int64_t heads, std::int64_t size, const Number* cosines, const Number* sines);

/// Direction of a rotation: by the angles, or by their negatives in the backward pass.
enum class RotationDirection { forward, backward };

/// Rows of heads, `stride` numbers apart. The angles of position p are row p of the tables `cosines` and `sines`, each
/// [positions, size / 2]. If `positions` is null, row t has position t.
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

/// Applies rotary embedding to the rows [begin, end).
template <class Number>
void rotate(const RotaryRows<Number>& rows, std::int64_t begin, std::int64_t end, RotationDirection direction);

/// Computes silu(gate) * up in place of the gates.
template <class Number>
void gate(Number* gates, const Number* up, std::int64_t count);
/// Computes silu(gate) * up into `out`.
template <class Number>
void gate(const Number* gates, const Number* up, std::int64_t count, Number* out);

/// Computes the derivatives with respect to gates and up from `dy`, the derivative with respect to the result. With s
/// the sigmoid of a gate g, d_gates = dy up s (1 + g (1 - s)) and d_up = dy g s. `d_gates` may be `gates`; `d_up` may
/// be `up` or `dy`.
template <class Number>
void gate_backward(const Number* gates, const Number* up, const Number* dy, std::int64_t count, Number* d_gates,
                   Number* d_up);

/// Summary of the token distribution p = softmax(logits / temperature).
struct TokenDistribution {
  double log_sum_exp = 0;  ///< log-sum-exp of logits / temperature
  double entropy = 0;      ///< entropy in nats
};

/// Computes the distribution of a row of logits. Exponentials have the precision of Number; sums are in double
/// precision. Logits of -inf do not contribute to the entropy. REQUIRES: a finite logit.
template <class Number>
TokenDistribution distribution_of(const Number* logits, std::int64_t count, double temperature);

/// Returns ln p of one token.
template <class Number>
double log_probability(const TokenDistribution& distribution, const Number* logits, double temperature,
                       std::int64_t token) {
  return static_cast<double>(logits[token]) / temperature - distribution.log_sum_exp;
}

/// Derivatives of the loss with respect to a token's log-probability and to the entropy.
struct TokenSlopes {
  std::int64_t token = 0;
  double by_log_probability = 0;
  double by_entropy = 0;
};

/// Replaces the logits by the derivatives with respect to them. With the entropy H, element i becomes
/// (by_log_probability * ((i == token) - p_i) - by_entropy * p_i * (ln p_i + H)) / temperature.
template <class Number>
void distribution_backward(Number* logits, std::int64_t count, double temperature,
                           const TokenDistribution& distribution, const TokenSlopes& slopes);

}  // namespace dovetail::kernels
