// What each task of a plan takes of its devices' memory, with everything else that stays there meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/margin.h"
#include "predict/closed_form/working_memory.h"

namespace dovetail::predict {

/// The worst device of a task's mesh while the task runs.
struct TaskMemory {
  std::vector<MemoryPart> parts;  ///< the largest first
  std::int64_t usable = 0;        ///< bytes that a process can allocate there
  std::int64_t min_margin = 0;    ///< bytes of these that plans leave free
  int device = 0;                 ///< of the cluster: the first of those that hold the most
  std::int64_t host = 0;  ///< bytes that are off the devices meanwhile, of the task's node that has the least room left
  std::int64_t host_memory = 0;  ///< bytes that the node has

  std::int64_t needed() const;
  std::int64_t margin() const { return usable - needed(); }
  std::int64_t room() const { return margin() - min_margin; }  ///< of what plans may use
  Fit fit() const;
  bool fits() const { return fit() != Fit::does_not_fit; }
};

/// [task of the workflow]; nothing for rules. While a task runs, its devices hold
/// - what the task itself needs: working_memory, and of inference the weights;
/// - of each other role, or other copy of the role's weights in another mesh or layout, what is not offloaded while
/// idle: weights, and of a
///   trained one gradients and optimizer. An engine that does not offload keeps its weights; keys and values it always
///   gives back.
/// Stages and ranks of different tasks meet on a device in many ways: the largest of each is taken, so that this is
/// never too little. Before that its newly trained weights arrive, where they were trained in another form: the two and
/// what is between them are there at once, and count where that is more. Reserved memory where the framework's factor
/// is known. Two train tasks in one schedule need fused_working_memory, with `fused_activations` bytes of micro-batches
/// in flight; where that is not given, what both hold by themselves.
std::vector<TaskMemory> task_memory(const Scenario& scenario, const plan::Plan& plan,
                                    std::optional<std::int64_t> fused_activations = std::nullopt);

/// [device of the cluster] bytes that task_memory counts there beside what `task` itself needs (working_memory),
/// whether the device is the task's or not; between tasks (nothing) all that is there. Without what is on its way when
/// new weights arrive. REQUIRES: no rule.
std::vector<std::int64_t> resident_memory(const Scenario& scenario, const plan::Plan& plan,
                                          std::optional<std::size_t> task);

}  // namespace dovetail::predict
