// The batch of an iteration: prompts, samples, and their lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "workflow/lengths.h"
#include "workflow/workflow.h"

namespace dovetail::workflow {

/// Training settings of a role.
struct OwnTraining {
  std::int64_t mini_batches = 1;  ///< as Workload::mini_batches
  int epochs = 1;                 ///< as Workload::epochs

  friend bool operator==(const OwnTraining&, const OwnTraining&) = default;
};

/// The batch of an iteration. Members without a key in files have these defaults.
struct Workload {
  LengthDistribution prompt_length;
  LengthDistribution response_length;
  std::int64_t prompts = 1;             ///< prompts in an iteration
  std::int64_t samples_per_prompt = 1;  ///< responses generated for each prompt (a group of GRPO)
  std::int64_t mini_batches = 1;        ///< optimizer steps in an epoch, at most samples()
  int epochs = 1;                       ///< how often an iteration trains on its samples
  int steps_off_policy = 0;             ///< age, in trainings, that the generating weights may have (version_edges)
  /// Sequences fill the rows of micro-batches; otherwise inference and training pad each to the longest.
  bool packing = true;
  /// Maximum tokens of a prompt and its response together. 0: not limited.
  std::int64_t sequence_cap = 0;
  /// Responses before sequence_cap cut them to response_length (set_responses). nullopt: not cut.
  std::optional<LengthDistribution> uncut_responses = {};

  std::optional<OwnTraining> critic = {};  ///< settings of the role "critic"; nullopt: the same as for all roles

  std::int64_t samples() const { return prompts * samples_per_prompt; }
  /// Tokens of the longest prompt and the longest response together, limited by sequence_cap.
  std::int64_t max_sequence() const {
    const std::int64_t both = prompt_length.longest() + response_length.longest();
    return sequence_cap > 0 ? std::min(both, sequence_cap) : both;
  }
  /// Optimizer steps of an iteration, except for a critic with its own settings.
  std::int64_t optimizer_steps() const { return mini_batches * epochs; }
};

/// Sets the responses and cuts them at sequence_cap. REQUIRES: sequence_cap is 0 or exceeds every prompt.
void set_responses(Workload& workload, LengthDistribution responses);
/// The responses that set_responses was given.
const LengthDistribution& responses_before_cap(const Workload& workload);

/// Limits of values in files.
inline constexpr std::int64_t max_sample_count = 1 << 24;
/// Maximum number of tokens that an iteration may process, over all epochs. Times and memory would overflow integers
/// beyond it.
inline constexpr std::int64_t max_token_count = 1'000'000'000'000;
inline constexpr int max_epoch_count = 1000;
inline constexpr int max_steps_off_policy = 1000;

/// Sequences of `task` in an iteration. For a train task, in each epoch.
std::int64_t sequences_of(const Task& task, const Workload& workload);

/// Mini-batches and epochs of a train task. The critic may have its own.
OwnTraining training_of(const Task& task, const Workload& workload);
inline std::int64_t mini_batches_of(const Task& task, const Workload& workload) {
  return training_of(task, workload).mini_batches;
}
inline int epochs_of(const Task& task, const Workload& workload) { return training_of(task, workload).epochs; }
/// Optimizer steps of a train task in an iteration.
std::int64_t optimizer_steps_of(const Task& task, const Workload& workload);

/// Sequences that must be in the same micro-batch: the loss of a preference pair needs both.
int sequences_together(const Task& task);

}  // namespace dovetail::workflow
