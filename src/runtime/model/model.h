// Transformer or pipeline stage with its weights grouped by layer, and the forward and backward pass of a layer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/model/ops.h"
#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// Adds to gradients immediately or, if constructed with `holds`, when add_held is called. If a backward pass is split
/// into I and W, the additions are deferred to W. They are also deferred while the gradients of an earlier micro-batch
/// are incomplete. Micro-batches are always added in order, so deferral does not change the sums or their rounding.
class GradientSink {
 public:
  explicit GradientSink(bool holds = false) : holds_(holds) {}

  /// Adds dy^T x to the gradient of a projection's weight, and the sum of dy over rows to the gradient of its bias.
  void add_product(const Linear& linear, const Tensor& x, const Tensor& dy);
  /// Adds `slopes` to the gradient of a vector.
  void add(Parameter& parameter, const Tensor& slopes);
  /// Adds row i of `slopes` to row rows[i] of a matrix's gradient.
  void add_rows(Parameter& parameter, const Tensor& rows, const Tensor& slopes);

  /// Applies the deferred additions in the order of the calls.
  void add_held();

 private:
  void take(std::function<void()> addition);

  bool holds_;
  std::vector<std::function<void()>> held_;
};

/// Weights of one layer.
struct Layer {
  Parameter* input_norm = nullptr;
  Linear query;
  Linear key;
  Linear value;
  Parameter* query_norm = nullptr;  ///< per-head norm; null, like key_norm, if the model has no such norm
  Parameter* key_norm = nullptr;
  Linear output;
  Parameter* middle_norm = nullptr;
  Linear gate;
  Linear up;
  Linear down;
};

/// Returns layer `index`. The result points into `weights`, whose parameters must not move.
Layer layer_of(Weights& weights, std::int64_t index);

/// Inputs that all layers of a pass share.
struct PassRows {
  const Operators* ops = nullptr;
  std::vector<std::int64_t> offsets;  ///< index of the first token of each sequence, then the total number of tokens
  Angles angles;
  std::int64_t head_size = 0;
  double norm_epsilon = 0;
};

/// Activations that a layer's backward pass needs. A recomputed layer keeps only `input`.
struct LayerActivations {
  Tensor input;
  Tensor normal;     ///< input after input_norm
  Tensor raw_query;  ///< before the per-head norm; undefined without it
  Tensor raw_key;
  Tensor query;  ///< rotated, [tokens, heads, size]
  Tensor key;
  Tensor value;
  Attention attention;
  Tensor middle;  ///< input plus the projected output of attention
  Tensor middle_normal;
  Tensor gate;
  Tensor up;
  Tensor product;  ///< gated(gate, up)
};

/// Returns the layer's output for rows [tokens, hidden]. Stores the activations in `kept` unless it is null.
Tensor forward(const Layer& layer, const PassRows& rows, const Tensor& x, LayerActivations* kept);

/// Returns the gradient with respect to the layer's input; `dy` is the gradient with respect to its output. Weight
/// gradients go to `sink`. If `kept` holds only the input, recomputes the forward pass first.
Tensor backward(const Layer& layer, const PassRows& rows, LayerActivations& kept, const Tensor& dy, GradientSink& sink);

/// Weights of a model or stage, and pointers to those of the embedding, the layers, the final norm and the head. The
/// pointers refer to `weights`, so a Model can be moved but not copied.
struct Model {
  explicit Model(Weights weights_of_it);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() = default;

  Weights weights;
  Parameter* embedding = nullptr;   ///< null if the stage lacks the first layer
  std::vector<Layer> layers;        ///< layers in the range weights.layers
  Parameter* final_norm = nullptr;  ///< null, like head.weight, if the stage lacks the last layer
  Linear head;
};

}  // namespace dovetail::runtime
