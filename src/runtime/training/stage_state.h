// A stage of a role on this rank, from one training phase to the next.
#pragma once

#include <cstddef>

#include "llm/layout.h"
#include "runtime/model/model.h"
#include "runtime/training/optimizer.h"

namespace dovetail::runtime {

/// Its weights with gradients, and the moments of what of them is stepped here. May be moved, not copied.
struct StageState {
  std::size_t replica = 0;
  std::size_t stage = 0;
  Model model;
  Optimizer optimizer;
  llm::Recomputation recomputation = llm::Recomputation::none;
  bool is_sharded = true;  ///< each replica steps its part of the weights (ZeRO-1); else each steps all of them
};

/// What of a stage's weights one of `shares` replicas steps: as transport::share_of cuts the weights of the stage
/// alone, and those that are apart.
std::vector<WeightPart> parts_of_share(const Weights& weights, std::size_t shares, std::size_t share);

}  // namespace dovetail::runtime
