// A transformer, or a stage of it: its weights, and which of them is what.
#pragma once

#include <vector>

#include "runtime/model/layer.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// It may be moved, not copied.
struct Model {
  explicit Model(Weights weights_of_it);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() = default;

  Weights weights;
  Parameter* embedding = nullptr;   ///< null where a stage has not the first layer
  std::vector<Layer> layers;        ///< those of weights.layers
  Parameter* final_norm = nullptr;  ///< null, as the head's weight, where a stage has not the last layer
  Linear head;
};

}  // namespace dovetail::runtime
