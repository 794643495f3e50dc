// Runs the iterations of a training run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/data/run_inputs.h"
#include "control/models.h"
#include "control/reward_process.h"
#include "control/run/run_sink.h"
#include "control/run/run_state.h"
#include "control/run_settings.h"
#include "parallel/cancellation.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::control {

/// Joins the names of fused train tasks in the name of a metric: "actor_train+critic_train_seconds".
inline constexpr std::string_view fused_phase_joint = "+";

/// Returns the rewards of responses, in order, as RewardProcesses::rewards_of does.
using RewardFunction = std::function<base::Result<std::vector<double>>(std::span<const Response> responses,
                                                                       const parallel::Cancellation* cancellation)>;

/// Inputs of a run. All must outlive it.
struct RunSetup {
  const plan::Job& job;
  const plan::Plan& plan;
  const RunSettings& settings;
  const RunInputs& inputs;
  std::int64_t iterations = 1;          ///< total, including those before a resumption
  std::int64_t context = 1;             ///< maximum tokens of a sequence
  RewardFunction reward_function = {};  ///< needed only if a rule rewards responses
};

/// Returns the number of iterations of a run: the configured number, or the number that completes the configured
/// epochs.
std::int64_t iterations_of(const RunSettings& settings, const plan::Job& job, const RunInputs& inputs);

/// Returns the state of a run before its first iteration, with the configured KL coefficient. The evaluation of the
/// initial models is still to be done.
RunState initial_state(const RunSettings& settings);

/// Continues from `state`, with the models that belong to it, until all iterations are done. The initial models are
/// evaluated if evaluation is configured.
///
/// An iteration runs the tasks of the workflow in order. A train task passes over the samples once per epoch of its
/// role. Each pass has its own order, derived from the seed and the number of passes since the run began, so roles with
/// the same number of epochs see the same orders. A pass is divided into the role's number of mini-batches. They are
/// equal in size, except that the first ones may have one sample more.
///
/// A mini-batch whose loss or gradients are not finite takes no step. The run ends after guards.in_a_row such
/// mini-batches of a role in succession, or after the first if guards.non_finite is `stop`. If, on a mini-batch, the
/// policy has diverged from the policy before training by more than early_stop_kl, that mini-batch takes no step, and
/// the role takes no further steps in the iteration. The learning rate schedule counts mini-batches, including those
/// without a step.
///
/// If `cancellation` is requested, the run stops as soon as the models can stop, saves a checkpoint and returns
/// Failure::interrupted. On one rank, models stop after a micro-batch or engine step. Training of several roles
/// together always runs to its end. A resumed run yields the same numbers as an uninterrupted one if the models compute
/// deterministically.
///
/// Other Errors of models or rewards also save a checkpoint. An Error in the training of several roles together does
/// not, because the models may then be ahead of the state. Neither does Failure::invalid, which means that guards ended
/// the run or a reward was not finite. Failure::bad_input may mean that the state belongs to another workload or other
/// data. An Error of the sink ends the run without a checkpoint.
base::Status run(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
                 const parallel::Cancellation* cancellation);

}  // namespace dovetail::control
