// Transformer operators, forward and backward, on packed rows. ATen implements them for any device, src/kernels for the
// CPU.
//
// Rows are [tokens, features]. A backward operator takes the gradient with respect to the forward result. It returns
// the gradients with respect to the inputs and, for normalization, the scale. add_weight_gradient computes the
// gradients of a projection's weight and bias.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// Projection: x w^T, plus the bias unless it is null.
struct Linear {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
};
/// Returns the projection of x, computed by operators_for(x).
Tensor project(const Linear& linear, const Tensor& x);
/// Adds dy^T x to the weight's gradient, and the sum of dy over rows to the bias's gradient. Skips frozen weights.
void add_weight_gradient(const Linear& linear, const Tensor& x, const Tensor& dy);
/// Returns the gradient with respect to x: dy w.
Tensor project_backward(const Linear& linear, const Tensor& dy);

/// Cosines and sines of the rotation angles at each position: [tokens, size / 2].
struct Angles {
  Tensor cosines;
  Tensor sines;
};
/// Returns the angles of rotary embeddings (Su et al. 2021, arXiv 2104.09864) with the model's scaling. Frequencies and
/// angles are rounded to single precision, as in the transformers library.
Angles angles_of(const llm::Computation& computation, std::int64_t head_size, std::span<const std::int64_t> positions,
                 at::TensorOptions options);

struct NormalizeBackward {
  Tensor input;
  Tensor scale;  ///< undefined if the scale is frozen
};

struct GatedBackward {
  Tensor gate;
  Tensor up;
};

struct Attention {
  Tensor out;           ///< [tokens, heads, size]
  Tensor log_sum_exps;  ///< [heads, tokens], of the attention scores
};
struct AttentionBackward {
  Tensor query;
  Tensor key;
  Tensor value;
};

/// Scores of each row, from its logits divided by the temperature: the log-probability of the target, the entropy in
/// nats, and the log of the sum of exponentials.
struct TokenScores {
  std::vector<double> log_probabilities;
  std::vector<double> entropies;
  std::vector<double> log_sum_exps;
};
/// Input of Operators::score_backward, with one value per row.
struct TokenSlopes {
  std::span<const std::int64_t> targets;
  std::span<const double> entropies;
  std::span<const double> log_sum_exps;
  std::span<const double> by_log_probability;  ///< gradient of the loss
  std::span<const double> by_entropy;          ///< gradient of the loss; empty if all values are 0
};

/// Operators for one kind of device.
struct Operators {
  /// x w^T plus the bias. In src/kernels, a row's result does not depend on other rows. In ATen, its last digits may.
  Tensor (*project)(const Linear& linear, const Tensor& x) = nullptr;

  /// x / sqrt(mean of x^2 + epsilon) * scale over the last dimension (Zhang and Sennrich 2019, arXiv 1910.07467).
  Tensor (*normalize)(const Tensor& x, const Parameter& scale, double epsilon) = nullptr;
  NormalizeBackward (*normalize_backward)(const Tensor& x, const Parameter& scale, double epsilon,
                                          const Tensor& dy) = nullptr;

  /// Rotates the pairs (i, i + size / 2) of each head of x, [tokens, heads, size].
  Tensor (*rotate)(const Tensor& x, const Angles& angles) = nullptr;
  Tensor (*rotate_backward)(const Tensor& dy, const Angles& angles) = nullptr;

  /// silu(gate) * up (SwiGLU: Shazeer 2020, arXiv 2002.05202).
  Tensor (*gated)(const Tensor& gate, const Tensor& up) = nullptr;
  GatedBackward (*gated_backward)(const Tensor& gate, const Tensor& up, const Tensor& dy) = nullptr;

  /// Causal attention within each sequence. Queries [tokens, heads, size], keys and values [tokens, key-value heads,
  /// size]; sequence i has the tokens [offsets[i], offsets[i + 1]).
  Attention (*attend)(const Tensor& query, const Tensor& key, const Tensor& value,
                      std::span<const std::int64_t> offsets) = nullptr;
  AttentionBackward (*attend_backward)(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const Attention& attention, std::span<const std::int64_t> offsets,
                                       const Tensor& dy) = nullptr;

  /// Scores rows of logits, [rows, vocabulary].
  TokenScores (*score_tokens)(const Tensor& logits, std::span<const std::int64_t> targets,
                              double temperature) = nullptr;
  /// Overwrites the logits with their gradients.
  void (*score_backward)(const Tensor& logits, double temperature, const TokenSlopes& slopes) = nullptr;
};

/// ATen operators, for any device. Attention uses a mask and temporary tensors.
const Operators& tensor_operators();
/// Operators of src/kernels, for single or double precision on the CPU.
const Operators& cpu_operators();
/// Returns the operators for x's device and type.
const Operators& operators_for(const Tensor& x);

}  // namespace dovetail::runtime
