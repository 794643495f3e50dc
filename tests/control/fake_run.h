// Runs with fake models, and records of their output.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/fake_models.h"
#include "control/run/run.h"
#include "plan/job_file.h"

namespace dovetail::control {

/// Output of a run. Machine-dependent metrics are separate.
struct RunTale {
  std::vector<Metrics> metrics;
  std::vector<Metrics> timings;  ///< of the same rows
  std::vector<Metrics> evaluations;
  std::vector<std::pair<std::int64_t, std::vector<Sample>>> samples;
  std::vector<std::string> warnings;
  std::vector<std::string> states;  ///< of checkpoints, as JSON
  std::vector<CheckpointReason> reasons;
  std::vector<bool> best;
  std::vector<std::map<std::string, FakeRole>> kept;  ///< models at each checkpoint

  double metric(std::size_t iteration, std::string_view name) const;
  double last(std::string_view name) const { return metric(metrics.size() - 1, name); }
};

/// Run over a vocabulary of `vocabulary` tokens. Its plan has no devices. Each task has micro-batches of three
/// sequences.
struct FakeRun {
  /// `algorithm` and `workload` are as in a job ("{name: ppo, reward: model}", "{prompts: 8, ...}").
  FakeRun(const std::string& algorithm, const std::string& workload, std::size_t vocabulary);

  /// Sets prompts of one token each: the first `count` tokens of the vocabulary.
  void prompt_with(TokenId count);

  RunSetup setup() const;
  /// Continues from the state to the end, or to an Error.
  base::Status continue_run(RunState& state, RunTale& tale, const parallel::Cancellation* cancellation = nullptr);
  /// Runs from the start. EXPECTS success.
  RunTale run();

  plan::Job job;
  plan::Plan plan;
  RunSettings settings;
  RunInputs inputs;
  FakeModels models;
  RewardProcesses* rewards = nullptr;  ///< for a rule; null otherwise
  RewardFunction judge = {};           ///< replaces `rewards`
};

/// Tokenizer of single letters: "a" is token 0.
text::Tokenizer letter_tokenizer(std::size_t count);

}  // namespace dovetail::control
