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

/// Joins the names of tasks that are trained together, in names of figures.
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

/// Returns the number of iterations of a run: from the settings, or from its epochs.
std::int64_t iterations_of(const RunSettings& settings, const plan::Job& job, const RunInputs& inputs);

/// Returns the initial state of a run.
RunState initial_state(const RunSettings& settings);

/// Continues from `state`, with the models that belong to it, until all iterations are done. The initial models are
/// evaluated if there is validation data.
///
/// An iteration runs the tasks of the workflow in order. Each train task passes over the samples as often as the
/// workload has epochs. Each pass has its own order, derived from (seed, iteration, epoch) and equal for all roles. It
/// is divided into the workload's number of mini-batches, equal in size except that the first ones may have one sample
/// more.
///
/// A mini-batch whose loss or gradients are not finite takes no step. guards.in_a_row consecutive ones end the run. If
/// guards.non_finite is `stop`, the first one does. With early_stop_kl, a mini-batch that diverges too far from the
/// policy before training takes no step, nor do later ones in the iteration. Learning rates follow the number of
/// mini-batches, including those without a step.
///
/// If `cancellation` is requested, the run finishes the current micro-batch or decode step, saves a checkpoint and
/// returns Failure::interrupted. Resuming yields the same numbers. An Error of models or rewards also saves a
/// checkpoint. Failure::invalid means that guards ended the run or a reward was not finite. Failure::bad_input means
/// that the state belongs to another workload or other data. An Error of the sink ends the run at once.
base::Status run(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
                 const parallel::Cancellation* cancellation);

}  // namespace dovetail::control
