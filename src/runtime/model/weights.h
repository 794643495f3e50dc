// Weights of one model as tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/computation.h"
#include "llm/tensors.h"
#include "llm/transformer.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// Weight, and its gradient if it is trainable.
struct Parameter {
  llm::Tensor is;           ///< name and shape
  std::size_t place = 0;    ///< index in llm::tensors_of for the whole model
  Tensor value;             ///< [rows, columns], or [rows] for a vector; a view of Weights::values
  Tensor gradient;          ///< view of Weights::gradients; undefined if frozen
  bool shared = false;      ///< true for a tied head that uses the value of the embedding in the same stage
  std::int64_t offset = 0;  ///< index of its first element in Weights::values (unless `shared`) and Weights::gradients

  /// Whether this is the last stage's copy of an embedding that the first stage also holds.
  bool is_copy() const { return is.tied && !shared; }
};

/// Layers [begin, end) of a model. The range with the first layer includes the embedding. The range with the last layer
/// includes the final norm and the head.
struct LayerRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};
LayerRange all_layers(const llm::Transformer& shape);

/// Weights of a model or of one stage, in the order of llm::tensors_of. A tied head and the embedding have separate
/// gradients, so that each is summed in micro-batch order. The head also has its own value if the stage lacks the
/// embedding.
struct Weights {
  llm::Transformer shape;  ///< shape of the whole model
  llm::Computation computation;
  LayerRange layers;
  std::vector<Parameter> parameters;
  Tensor values;           ///< values of all parameters in one vector, which ranks can exchange in one message
  Tensor gradients;        ///< gradients in one vector; undefined if no parameter is trainable
  std::int64_t apart = 0;  ///< offset of the parameters that another stage also holds: the tied embedding or head

  bool has_embedding() const { return layers.begin == 0; }
  bool has_head() const { return layers.end == shape.layers; }
  /// Returns null if no parameter has this name.
  Parameter* find_or_null(std::string_view name);
  const Parameter* find_or_null(std::string_view name) const;
  /// REQUIRES: a parameter has this name.
  Parameter& find(std::string_view name);
};

/// Returns uninitialized weights. `type` is kFloat or kDouble.
Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type);
/// Returns uninitialized weights of some layers.
Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type,
                      const LayerRange& layers);

/// Makes all parameter values views of `values`, which must have the size that empty_weights gives Weights::values.
/// Releases the memory if `values` is undefined. Weights of the same layers of the same model may share values.
void set_values(Weights& weights, Tensor values);

/// Returns a copy of these layers' weights.
Weights stage_of(const Weights& full_weights, const LayerRange& layers);

/// Makes all weights trainable: allocates a gradient of zeros for each.
void make_gradients(Weights& weights);
void clear_gradients(Weights& weights);

/// Initializes all weights. Each matrix uses a separate random stream, given by the seed and its index in the model.
/// Matrices are normal with standard deviation 0.02, or 0.02 / sqrt(2 * layers) for projections into the residual
/// stream, as in GPT-2. Norm scales are 1, biases and scalar heads are 0. REQUIRES: `weights` is a whole model.
void fill_randomly(Weights& weights, std::uint64_t seed);

}  // namespace dovetail::runtime
