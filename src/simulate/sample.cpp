#include "simulate/sample.h"

#include <algorithm>

#include "base/random.h"

namespace dovetail::simulate {

std::vector<Sample> draw_samples(const workflow::Workload& workload, const workflow::SequenceCount& sequences,
                                 std::uint64_t seed, std::uint64_t draw) {
  const bool per_sample = sequences.per == workflow::SequenceCount::Per::sample;
  const std::int64_t of_prompt = sequences.count * (per_sample ? workload.samples_per_prompt : 1);
  const workflow::LengthDistribution& lengths = workflow::responses_before_cap(workload);
  base::Random prompts(seed, 2 * draw);
  base::Random responses(seed, 2 * draw + 1);
  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(workload.prompts * of_prompt));
  for (std::int64_t group = 0; group < workload.prompts; ++group) {
    const std::int64_t prompt = workload.prompt_length.draw(prompts);
    const std::int64_t space = workload.sequence_cap > 0 ? workload.sequence_cap - prompt : workflow::max_length;
    for (std::int64_t sample = 0; sample < of_prompt; ++sample)
      samples.push_back({prompt, std::min(lengths.draw(responses), space), group});
  }
  return samples;
}

}  // namespace dovetail::simulate
