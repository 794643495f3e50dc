// Memory of devices during the simulation of a plan.
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

/// Bytes on a device during generation fused with inference, in addition to resident_memory of the generate task.
struct StageMemory {
  std::int64_t engine = 0;  ///< bytes while the device generates, without its KV cache
  /// [infer task of the stage] bytes while the device infers, as in the task's task_memory
  std::vector<std::int64_t> inference;
};

StageMemory stage_memory(const Scenario& scenario, const plan::Plan& plan, const plan::GenerationStage& stage);

/// Returns the function simulate::Workload::resident for the activities of `closed`, the estimate of `plan`. For an
/// activity that is a task, the function returns resident_memory plus, on the devices of the task, its working_memory.
/// Parts that the trace of the activity records are left out: the activations of micro-batches in flight, the KV cache
/// in use, and, for a fused stage, all of its stage_memory. A trace, with its average micro-batches, never needs more
/// for these parts than working_memory, which assumes the largest micro-batches and the engine's full reservation.
/// Engines reserve all their memory at the start, but only the part in use counts here. While new weights are in
/// transit, devices store the same data as between tasks.
std::function<std::int64_t(int device, std::optional<std::size_t> activity)> resident_of(const Scenario& scenario,
                                                                                         const plan::Plan& plan,
                                                                                         const Estimate& closed);

}  // namespace dovetail::predict
