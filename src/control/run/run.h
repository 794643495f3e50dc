// The loop of a run: iteration after iteration as the plan's graph says, until it ends or is stopped.
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

/// Between the names of tasks that are trained together, where a figure is of all of them.
inline constexpr std::string_view fused_phase_joint = "+";

/// The rewards of responses, in their order: RewardProcesses::judge, or who asks it.
using Judge = std::function<base::Result<std::vector<double>>(std::span<const Response> responses,
                                                              const parallel::Cancellation* cancellation)>;

/// What a run is of. All must outlive it.
struct RunSetup {
  const plan::Job& job;
  const plan::Plan& plan;
  const RunSettings& settings;
  const RunInputs& inputs;
  std::int64_t iterations = 1;  ///< of the run, those before a resumption among them
  std::int64_t context = 1;     ///< tokens of a sequence at most
  Judge judge = {};             ///< where the workflow has a rule
};

/// Iterations of a run: what the settings say, or as many as its epochs have.
std::int64_t iterations_of(const RunSettings& settings, const plan::Job& job, const RunInputs& inputs);

/// The state that a run begins with.
RunState initial_state(const RunSettings& settings);

/// Goes on from `state`, with models that belong to it, until all iterations are done. What the run begins with is
/// evaluated, too, where there is something to evaluate on.
///
/// An iteration does the tasks of the workflow in their order. Each train task goes through the samples as often as the
/// workload has epochs, each time in an order of its own from (seed, iteration, epoch), the same for all roles, in as
/// many mini-batches of equal sizes (the first ones one sample more) as it has. A mini-batch whose loss or gradients
/// are no numbers takes no step; guards.in_a_row of them end the run, as does the first one with `stop`. With
/// early_stop_kl a mini-batch whose divergence from the policy before training is beyond it takes no step, nor does any
/// after it in the iteration. Learning rates follow the count of mini-batches, whether they stepped or not.
///
/// Where `cancellation` is requested the run ends with Failure::interrupted: the micro-batch or decode step under way
/// is finished, and a checkpoint is kept from which it goes on to the same numbers; so is one after an Error of models
/// or rewards. Failure::invalid ends it where guards do, or where a reward is no number; Failure::bad_input where the
/// state is of another workload or other data. An Error of the sink ends it at once.
base::Status run(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
                 const parallel::Cancellation* cancellation);

}  // namespace dovetail::control
