// A whole transformer: from tokens to what it says of them, and back to the gradients of its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "control/models.h"
#include "llm/layout.h"
#include "runtime/model/layer.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// A transformer's weights, and which of them is what. It may be moved, not copied.
struct Model {
  explicit Model(Weights weights_of_it);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() = default;

  Weights weights;
  Parameter* embedding = nullptr;
  std::vector<Layer> layers;
  Parameter* final_norm = nullptr;
  Linear head;
};

/// Some of a mini-batch's sequences, computed together: those in the places `ids` of `all`.
struct MicroBatch {
  std::span<const control::TokenSequence> all;
  std::span<const std::size_t> ids;
};

/// What the model says of each sequence of the micro-batch, as control::Scores has it.
std::vector<control::Scores> score(const Model& model, const MicroBatch& batch, double temperature);

/// Forward, `loss`, and backward of a micro-batch: adds to the gradients of all weights that are trained. With
/// `recomputation` full only the inputs of layers are kept in between, else all that the backward needs.
void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const control::MicroBatchLoss& loss);

}  // namespace dovetail::runtime
