// Runs with fake models, and what they tell.
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

/// What a run has told. What hangs on the machine stands apart.
struct RunTale {
  std::vector<Figures> metrics;
  std::vector<Figures> timings;  ///< of the same rows
  std::vector<Figures> evaluations;
  std::vector<std::pair<std::int64_t, std::vector<Sample>>> samples;
  std::vector<std::string> warnings;
  std::vector<std::string> states;  ///< of checkpoints, as JSON
  std::vector<CheckpointReason> reasons;
  std::vector<bool> best;
  std::vector<std::map<std::string, FakeRole>> kept;  ///< the models at each checkpoint

  double metric(std::size_t iteration, std::string_view name) const;
  double last(std::string_view name) const { return metric(metrics.size() - 1, name); }
};

/// A run over a vocabulary of `vocabulary` tokens. Its plan has no devices; each task has micro-batches of three
/// sequences.
struct FakeRun {
  /// `algorithm` and `workload` as a job says them ("{name: ppo, reward: model}", "{prompts: 8, ...}").
  FakeRun(const std::string& algorithm, const std::string& workload, std::size_t vocabulary);

  /// Prompts of one token each, which are the vocabulary's first `count`.
  void prompt_with(TokenId count);

  RunSetup setup() const;
  /// Goes on from the state to the end, or to an Error.
  base::Status go_on(RunState& state, RunTale& tale, const parallel::Cancellation* cancellation = nullptr);
  /// The same from the start. EXPECTS that it ends well.
  RunTale run();

  plan::Job job;
  plan::Plan plan;
  RunSettings settings;
  RunInputs inputs;
  FakeModels models;
  RewardProcesses* rewards = nullptr;  ///< of a rule; null: there is none
  Judge judge = {};                    ///< in place of these
};

/// A tokenizer of single letters: "a" is token 0.
text::Tokenizer letter_tokenizer(std::size_t count);

}  // namespace dovetail::control
