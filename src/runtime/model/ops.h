// The operators of a transformer, forward and backward, on packed rows: by ATen's operators for any device, and by
// src/kernels on the CPU.
//
// Rows are [tokens, features]. A backward takes the derivative of the loss by the operator's result and gives those by
// its input and its weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// A projection: x w^T, plus the bias where there is one.
struct Linear {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
};
/// By the operators for x.
Tensor project(const Linear& linear, const Tensor& x);
/// Adds dy^T x to the gradient of the weight, where it is trained.
void add_weight_gradient(const Linear& linear, const Tensor& x, const Tensor& dy);
/// dy w.
Tensor project_backward(const Linear& linear, const Tensor& dy);

/// Cosines and sines of the angles by which the pairs of a head turn at each position: [tokens, size / 2].
struct Angles {
  Tensor cosines;
  Tensor sines;
};
/// Of rotary embeddings (Su et al. 2021, arXiv 2104.09864) with the scaling that the model has. Frequencies and angles
/// are rounded to single precision, as the transformers library has them.
Angles angles_of(const llm::Computation& computation, std::int64_t head_size, std::span<const std::int64_t> positions,
                 at::TensorOptions options);

struct NormalizeBackward {
  Tensor input;
  Tensor scale;  ///< undefined where it is not trained
};

struct GatedBackward {
  Tensor gate;
  Tensor up;
};

struct Attention {
  Tensor out;           ///< [tokens, heads, size]
  Tensor log_sum_exps;  ///< [heads, tokens], of the scores
};
struct AttentionBackward {
  Tensor query;
  Tensor key;
  Tensor value;
};

/// Of each row of logits its target's log-probability, the entropy of its distribution in nats, and the logarithm of
/// the sum of its exponentials, all under logits over a temperature.
struct TokenScores {
  std::vector<double> log_probabilities;
  std::vector<double> entropies;
  std::vector<double> log_sum_exps;
};
/// What the backward of the same needs, of each row.
struct TokenSlopes {
  std::span<const std::int64_t> targets;
  std::span<const double> entropies;
  std::span<const double> log_sum_exps;
  std::span<const double> by_log_probability;  ///< the derivative of the loss
  std::span<const double> by_entropy;          ///< likewise; empty: 0
};

/// What a kind of device has of each operator.
struct Operators {
  /// A row's result never hangs on the other rows by the kernels; by ATen it may, in its last digits.
  Tensor (*project)(const Linear& linear, const Tensor& x) = nullptr;

  /// x / sqrt(mean of x^2 + epsilon) * scale over the last dimension (Zhang and Sennrich 2019, arXiv 1910.07467).
  Tensor (*normalize)(const Tensor& x, const Parameter& scale, double epsilon) = nullptr;
  NormalizeBackward (*normalize_backward)(const Tensor& x, const Parameter& scale, double epsilon,
                                          const Tensor& dy) = nullptr;

  /// Turns the pairs (i, i + size / 2) of each head of x, [tokens, heads, size].
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

  /// Of logits [rows, vocabulary].
  TokenScores (*score_tokens)(const Tensor& logits, std::span<const std::int64_t> targets,
                              double temperature) = nullptr;
  /// Writes the derivatives by the logits in place of these.
  void (*score_backward)(const Tensor& logits, double temperature, const TokenSlopes& slopes) = nullptr;
};

/// By ATen's operators, on any device: with a mask and temporary tensors.
const Operators& tensor_operators();
/// By src/kernels, on the CPU, in single or double precision.
const Operators& cpu_operators();
/// The ones for tensors like x.
const Operators& operators_for(const Tensor& x);

}  // namespace dovetail::runtime
