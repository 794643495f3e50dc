// The tasks of one iteration, each from the state to the state.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "control/run/run.h"

namespace dovetail::control {

/// Where an iteration's tasks are done.
struct TaskContext {
  const RunSetup& setup;
  Models& models;
  const RunSink& sink;
  RunState& state;
  const parallel::Cancellation* cancellation;
};

/// The samples of the iteration, without responses. Nothing where the workflow samples none.
void begin_samples(TaskContext& context);

/// Does task `task` of the workflow, or what is left of it.
base::Status do_task(TaskContext& context, workflow::TaskId task);

/// Does train tasks together.
base::Status do_training(TaskContext& context, std::span<const workflow::TaskId> tasks);

/// Samples the responses that are not there yet, at that temperature.
base::Status sample_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data,
                              const std::string& role, const plan::Engine& engine, const Sampling& sampling,
                              std::string_view phase);
/// Judges them by the workflow's reward model or rule.
base::Status judge_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data);

}  // namespace dovetail::control
