// Samples of an iteration: how long each prompt and each response is, as drawn.
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

/// The samples that a generate task with these sequences has in an iteration, group by group: group g is prompt g. Draw
/// number `draw` of a seed is the same on every machine, and independent of the others. Prompts and responses come from
/// streams of their own: more samples of a prompt change no prompt.
std::vector<Sample> draw_samples(const workflow::Workload& workload, const workflow::SequenceCount& sequences,
                                 std::uint64_t seed, std::uint64_t draw);

}  // namespace dovetail::simulate
