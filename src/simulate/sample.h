// Samples of an iteration, with the drawn lengths of prompts and responses.
#pragma once

#include <cstdint>
#include <vector>

#include "workflow/workload.h"

namespace dovetail::simulate {

/// A prompt and its response, in tokens.
struct Sample {
  std::int64_t prompt = 0;
  std::int64_t response = 0;
  std::int64_t group = 0;  ///< samples of one group have the same prompt

  friend bool operator==(const Sample&, const Sample&) = default;
};

/// Draws the samples of an iteration for a generate task with this sequence count, group by group: group g has the
/// samples of prompt g. Draw number `draw` of a seed is the same on every machine and independent of other draws.
/// Prompts and responses have separate random streams, so more samples per prompt leave the prompts unchanged.
std::vector<Sample> draw_samples(const workflow::Workload& workload, const workflow::SequenceCount& sequences,
                                 std::uint64_t seed, std::uint64_t draw);

}  // namespace dovetail::simulate
