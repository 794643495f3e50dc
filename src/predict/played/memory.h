// What devices hold while a plan is played.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/fusion.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/scenario.h"
#include "simulate/iteration.h"

namespace dovetail::predict {

/// Bytes on a device of a stage of generation and inference, beside resident_memory of its generate task.
struct StageMemory {
  std::int64_t engine = 0;  ///< while it generates, without keys and values
  /// [infer task of the stage] while it scores for it: what task_memory says of that task
  std::vector<std::int64_t> inference;
};

StageMemory stage_memory(const Scenario& scenario, const plan::Plan& plan, const plan::GenerationStage& stage);

/// simulate::Workload::resident of the activities of `closed`, the estimate of `plan`: resident_memory, and of the
/// activity's own devices what its task needs by itself (working_memory) but for what its trace tells: activations in
/// flight of training, keys and values in use of generation, of a fused stage all of stage_memory. What the account has
/// for these (the fullest micro-batches; all that the engine reserved) is taken off; the average ones that a trace has
/// hold no more than that. Engines reserve all their memory when they start: what is shown of them is in use. While new
/// weights travel, devices hold what they hold between tasks.
std::function<std::int64_t(int device, std::optional<std::size_t> activity)> resident_of(const Scenario& scenario,
                                                                                         const plan::Plan& plan,
                                                                                         const Estimate& closed);

}  // namespace dovetail::predict
