// ReaL's rule for moving parameters (arXiv 2406.14088; openpsi-project/ReaLHF) and the cost that its search uses, for
// comparison with our plans. Written from a description of the rule in words.
#pragma once

#include <cstdint>
#include <vector>

#include "realloc/side.h"

namespace dovetail::realloc::test {

/// ReaL's split of the embedding, the layers and the head into `stages` runs: [stage] the first of each, then the
/// total. Minimizes the difference between the largest and the smallest stage in parameters.
std::vector<int> real_stage_split(const llm::Transformer& model, int stages);

/// A layout with ReaL's number of layers on each stage.
llm::Layout real_layout(const llm::Transformer& model, int data, int tensor, int pipeline);

struct RealPlan {
  std::int64_t microseconds = 0;
  std::int64_t max_received = 0;  ///< bytes of a rank
  std::int64_t received = 0;      ///< bytes of all ranks
  std::int64_t between = 0;       ///< bytes that enter nodes of 8
  int broadcasts = 0;             ///< groups of a sender and its receivers, including groups of one rank
};

/// Weights have two bytes. REQUIRES: layouts of real_layout for the same dense model with as many key-value heads as
/// heads, tensor-parallel degrees of which one divides the other, and nodes of 8 devices.
RealPlan real_rule(const Side& source, const Side& destination);

}  // namespace dovetail::realloc::test
