// The batch of an iteration: prompts, samples, and their lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "workflow/lengths.h"
#include "workflow/workflow.h"

namespace dovetail::workflow {

/// Mini-batches and epochs with which a role is trained.
struct OwnTraining {
  std::int64_t mini_batches = 1;  ///< see Workload::mini_batches
  int epochs = 1;                 ///< see Workload::epochs

  friend bool operator==(const OwnTraining&, const OwnTraining&) = default;
};

/// The batch of an iteration. The initializers are the defaults of keys that are missing in the job file.
struct Workload {
  LengthDistribution prompt_length;
  LengthDistribution response_length;
  std::int64_t prompts = 1;             ///< prompts in an iteration
  std::int64_t samples_per_prompt = 1;  ///< responses generated for each prompt (a group of GRPO)
  std::int64_t mini_batches = 1;        ///< optimizer steps in an epoch, at most samples()
  int epochs = 1;                       ///< passes over the samples in an iteration
  int steps_off_policy = 0;             ///< iterations by which the generating weights may lag (version_edges)
  /// Whether sequences are packed without padding. Otherwise inference and training pad each one to max_sequence().
  bool packing = true;
  /// Maximum tokens of a prompt and its response together. 0: not limited.
  std::int64_t sequence_cap = 0;
  /// Lengths of responses before sequence_cap cuts them (set_responses). nullopt: the cap cuts none.
  std::optional<LengthDistribution> uncut_responses = {};

  std::optional<OwnTraining> critic = {};  ///< settings of the role "critic"; nullopt: mini_batches and epochs above

  std::int64_t samples() const { return prompts * samples_per_prompt; }
  /// Returns the tokens of the longest prompt and the longest response together, limited by sequence_cap.
  std::int64_t max_sequence() const {
    const std::int64_t both = prompt_length.longest() + response_length.longest();
    return sequence_cap > 0 ? std::min(both, sequence_cap) : both;
  }
  /// Returns the number of optimizer steps of a trained role in an iteration. For a critic, which may have its own
  /// settings, use optimizer_steps_of instead.
  std::int64_t optimizer_steps() const { return mini_batches * epochs; }
};

/// Sets the response lengths and cuts them at sequence_cap. REQUIRES: sequence_cap is 0 or exceeds every prompt.
void set_responses(Workload& workload, LengthDistribution responses);
/// Returns the response lengths before sequence_cap cuts them, as passed to set_responses.
const LengthDistribution& responses_before_cap(const Workload& workload);

/// Maximum number of samples in an iteration.
inline constexpr std::int64_t max_sample_count = 1 << 24;
/// Maximum number of tokens that an iteration may process, over all epochs, so that times and memory do not overflow
/// integers.
inline constexpr std::int64_t max_token_count = 1'000'000'000'000;
inline constexpr int max_epoch_count = 1000;
inline constexpr int max_steps_off_policy = 1000;

/// Returns the number of sequences of `task` in an iteration; for a train task, in each epoch.
std::int64_t sequences_of(const Task& task, const Workload& workload);

/// Returns the mini-batches and epochs of a train task. A critic may have its own settings.
OwnTraining training_of(const Task& task, const Workload& workload);
inline std::int64_t mini_batches_of(const Task& task, const Workload& workload) {
  return training_of(task, workload).mini_batches;
}
inline int epochs_of(const Task& task, const Workload& workload) { return training_of(task, workload).epochs; }
/// Returns the number of optimizer steps of a train task in an iteration.
std::int64_t optimizer_steps_of(const Task& task, const Workload& workload);

/// Returns the number of sequences that must share a micro-batch. For a train task this is SequenceCount::count, which
/// is 2 for preference pairs, whose loss needs both sequences. Otherwise it is 1.
int sequences_together(const Task& task);

}  // namespace dovetail::workflow
