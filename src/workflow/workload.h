// How much an iteration has to do: how many prompts, how many samples, how long they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "workflow/lengths.h"
#include "workflow/workflow.h"

namespace dovetail::workflow {

/// How the samples of an iteration are trained on.
struct OwnTraining {
  std::int64_t mini_batches = 1;  ///< as Workload::mini_batches
  int epochs = 1;                 ///< as Workload::epochs

  friend bool operator==(const OwnTraining&, const OwnTraining&) = default;
};

/// The batch of an iteration. Members that are not read from a file have the defaults here.
struct Workload {
  LengthDistribution prompt_length;
  LengthDistribution response_length;
  std::int64_t prompts = 1;             ///< in an iteration
  std::int64_t samples_per_prompt = 1;  ///< responses that are generated to each (a group of GRPO)
  std::int64_t mini_batches =
      1;           ///< parts that an epoch's samples are trained in, each with an optimizer step; at most samples()
  int epochs = 1;  ///< how often an iteration trains on its samples
  int steps_off_policy = 0;  ///< how many trainings old the weights that generate may be (version_edges)
  bool packing =
      true;  ///< sequences fill the rows of micro-batches; else inference and training pad each to the longest
  /// A prompt and its response end there together; 0: nothing cuts them but response_length.
  std::int64_t sequence_cap = 0;
  /// Responses before sequence_cap has cut them to those of response_length (set_responses); nothing: it cuts none.
  std::optional<LengthDistribution> uncut_responses = {};

  std::optional<OwnTraining> critic = {};  ///< of the role of that name; nothing: as all others

  std::int64_t samples() const { return prompts * samples_per_prompt; }
  /// Tokens of the longest prompt and the longest response together, as far as there is room for them.
  std::int64_t max_sequence() const {
    const std::int64_t both = prompt_length.longest() + response_length.longest();
    return sequence_cap > 0 ? std::min(both, sequence_cap) : both;
  }
  /// In an iteration, of all but a critic that has its own.
  std::int64_t optimizer_steps() const { return mini_batches * epochs; }
};

/// Gives it responses of these lengths, which end at its sequence_cap. REQUIRES: that is 0, or longer than every
/// prompt.
void set_responses(Workload& workload, LengthDistribution responses);
/// Responses as set_responses was given them.
const LengthDistribution& responses_before_cap(const Workload& workload);

/// Limits of what a file may ask for.
inline constexpr std::int64_t max_sample_count = 1 << 24;
/// The most tokens that an iteration may work on, all epochs counted: beyond that times and memory would not fit into
/// whole numbers.
inline constexpr std::int64_t max_token_count = 1'000'000'000'000;
inline constexpr int max_epoch_count = 1000;
inline constexpr int max_steps_off_policy = 1000;

/// How many sequences `task` has in an iteration; of a train task in each epoch.
std::int64_t sequences_of(const Task& task, const Workload& workload);

/// The mini-batches of an epoch of a train task, and its epochs: of the critic its own where it has any.
OwnTraining training_of(const Task& task, const Workload& workload);
inline std::int64_t mini_batches_of(const Task& task, const Workload& workload) {
  return training_of(task, workload).mini_batches;
}
inline int epochs_of(const Task& task, const Workload& workload) { return training_of(task, workload).epochs; }
/// Optimizer steps of a train task in an iteration.
std::int64_t optimizer_steps_of(const Task& task, const Workload& workload);

/// How many of them stay in one micro-batch: the loss of a preference pair needs both.
int sequences_together(const Task& task);

}  // namespace dovetail::workflow
