// The weights of one model as tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/computation.h"
#include "llm/tensors.h"
#include "llm/transformer.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// A weight, and where it is trained its gradient.
struct Parameter {
  llm::Tensor is;           ///< its name and shape
  std::size_t place = 0;    ///< in llm::tensors_of the whole model
  Tensor value;             ///< [rows, columns], a vector [rows]: a part of Weights::values
  Tensor gradient;          ///< likewise of Weights::gradients; undefined: it is frozen
  bool shared = false;      ///< a tied head whose value is that of the embedding beside it
  std::int64_t offset = 0;  ///< of its first element in Weights::values and Weights::gradients

  /// Whether it is the last stage's copy of an embedding that the first stage has, too.
  bool is_copy() const { return is.tied && !shared; }
};

/// The layers [begin, end) of a model. Who has the first has the embedding, too, and who has the last the last norm and
/// the head.
struct LayerRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};
LayerRange all_layers(const llm::Transformer& shape);

/// The weights of a model, or of a stage of it, in the order of llm::tensors_of. A tied head has a gradient of its own,
/// so that either is summed in the order of micro-batches; where the embedding is not beside it, a value of its own,
/// too.
struct Weights {
  llm::Transformer shape;  ///< of the whole model
  llm::Computation computation;
  LayerRange layers;
  std::vector<Parameter> parameters;
  Tensor values;           ///< of all parameters one after the other, so that ranks exchange them at once
  Tensor gradients;        ///< likewise; undefined: all are frozen
  std::int64_t apart = 0;  ///< where those begin that another stage has, too: an embedding and head that are tied

  bool has_embedding() const { return layers.begin == 0; }
  bool has_head() const { return layers.end == shape.layers; }
  /// Null where there is none of that name.
  Parameter* find_or_null(std::string_view name);
  const Parameter* find_or_null(std::string_view name) const;
  /// REQUIRES: there is one of that name.
  Parameter& find(std::string_view name);
};

/// Weights without values; each parameter's value is a tensor of its shape. `type`: kFloat or kDouble.
Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type);
/// The same of some layers.
Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type,
                      const LayerRange& layers);

/// Makes all values parts of `values`, which has as many elements as Weights::values had; undefined: gives back their
/// memory. Who has the same layers of the same model may have the same values.
void set_values(Weights& weights, Tensor values);

/// Copies the values of those layers of a model.
Weights stage_of(const Weights& whole, const LayerRange& layers);

/// Gives each weight a gradient, all 0.
void make_gradients(Weights& weights);
/// Makes all gradients 0.
void clear_gradients(Weights& weights);

/// Fills all weights from streams (seed, place in the model): matrices with the normal distribution of deviation 0.02
/// (of projections back into the residual stream 0.02 / sqrt(2 layers), as GPT-2), scales of norms with 1, biases and
/// scalar heads with 0.
/// REQUIRES: the whole model.
void fill_randomly(Weights& weights, std::uint64_t seed);

}  // namespace dovetail::runtime
