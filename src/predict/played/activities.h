// The activities of a plan's iteration, each with what its devices do in it, moment by moment.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "plan/iteration_graph.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/played/generation.h"
#include "predict/played/training.h"
#include "simulate/iteration.h"
#include "simulate/migration.h"

namespace dovetail::predict {

/// An infer task, a train task or a rule, with what it has before and behind it (overhead_seconds): the hand-over of
/// its data, what comes from host memory, and what goes back there (of a train task half of the transfers, of another
/// none), but for what `graph` has as activities of their own. Errors as training_problem. REQUIRES: no generate task.
base::Result<simulate::Activity> task_activity(const Scenario& scenario, const plan::Plan& plan,
                                               const plan::IterationGraph& graph, std::size_t task);

struct GenerationActivity {
  simulate::Activity activity;
  std::optional<simulate::Migration> migration =
      std::nullopt;   ///< where the plan has a threshold, and something migrates
  base::Ticks early;  ///< before its end that the last sample is generated: what waits for generation alone begins
                      ///< (plan::release)
};
/// A generate task, which has no overhead; where the plan has a threshold, with the inference of its stage.
GenerationActivity generation_activity(const Scenario& scenario, const plan::Plan& plan, std::size_t task,
                                       const Draw& draw);

/// Two train tasks in one schedule, with the overhead of both (IntraStage::overhead). REQUIRES: the plan fuses two
/// train tasks.
simulate::Activity fused_training_activity(const plan::Plan& plan, const FusedTraining& training,
                                           const OverheadSeconds& overhead);

/// A load or an unload: the links of the task's devices to host memory for as long as activity_seconds says.
simulate::Activity host_transfer_activity(const Scenario& scenario, const plan::Plan& plan,
                                          const plan::Activity& activity);

/// New weights to where a task uses them. Into an engine: what activity_seconds says, on the link of each of its
/// devices, and where they come from elsewhere on those of the trained ones; else by realloc's plan, from device to
/// device, behind what passing on and packing take.
simulate::Activity reallocation_activity(const Scenario& scenario, const plan::Plan& plan,
                                         const plan::Activity& activity);

}  // namespace dovetail::predict
