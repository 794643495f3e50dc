// The rule by which ReaL (arXiv 2406.14088; openpsi-project/ReaLHF) moves parameters, and what its search takes for the
// cost: what our plans are compared with. Written from a description of the rule in words.
#pragma once

#include <cstdint>
#include <vector>

#include "realloc/side.h"

namespace dovetail::realloc::test {

/// ReaL's split of the embedding, the layers and the head into `stages` runs: [stage] the first of each, and the number
/// of all at the end. The one with the least difference between the largest and the smallest stage, by parameters.
std::vector<int> real_stage_split(const llm::Transformer& model, int stages);

/// A layout with the layers on each stage that ReaL puts there.
llm::Layout real_layout(const llm::Transformer& model, int data, int tensor, int pipeline);

struct RealPlan {
  std::int64_t microseconds = 0;
  std::int64_t max_received = 0;  ///< bytes of a rank
  std::int64_t received = 0;      ///< bytes of all ranks
  std::int64_t between = 0;       ///< bytes that enter nodes of 8
  int broadcasts = 0;             ///< groups of a sender and its receivers, those of one rank among them
};

/// Two-byte weights. REQUIRES: layouts of real_layout for the same dense model with as many key-value heads as heads,
/// one tensor-parallel degree dividing the other; nodes of 8 devices.
RealPlan real_rule(const Side& source, const Side& destination);

}  // namespace dovetail::realloc::test
