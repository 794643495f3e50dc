// Tasks of an iteration. Each updates the run's state.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "control/run/run.h"

namespace dovetail::control {

/// Arguments that all tasks of a run share. All references must outlive it.
struct TaskContext {
  const RunSetup& setup;
  Models& models;
  const RunSink& sink;
  RunState& state;
  const parallel::Cancellation* cancellation;
};

/// Creates the samples of the iteration, without responses. Does nothing if the state already has them, or if the
/// workflow does not sample responses.
void begin_samples(TaskContext& context);

/// Runs a task of the workflow. An interrupted generation or training continues; other interrupted tasks start over.
base::Status do_task(TaskContext& context, workflow::TaskId task);

/// Runs one train task, or several together. First computes the advantages of the samples unless they are known.
base::Status do_training(TaskContext& context, std::span<const workflow::TaskId> tasks);

/// Samples the responses that `samples` lacks, for prompts from `data`, and stores each in its sample. Progress is
/// reported under the name `phase`.
base::Status sample_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data,
                              const std::string& role, const plan::Engine& engine, const Sampling& sampling,
                              std::string_view phase);
/// Sets the rewards of the samples, by the workflow's reward model or rule. `data` has the prompts and answers.
base::Status reward_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data);

}  // namespace dovetail::control
