// Memory that each task of a plan needs on its devices, including all other data there, and the margin for errors of
// this prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cluster/gpu.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/working_memory.h"

namespace dovetail::predict {

/// Default minimum share of a device's usable memory that plans leave free. Predictions are assumed to have at least
/// this error.
inline constexpr double min_margin_share = 0.04;

/// Returns the minimum margin of the job's plans: from its `limits`, otherwise the larger of min_margin_share and the
/// known error of its conventions (cost::Conventions::memory_error).
plan::MinMargin min_margin(const Scenario& scenario);

/// Returns the bytes of a device that plans of the job may use: usable memory minus the margin.
std::int64_t plan_memory(const Scenario& scenario, const cluster::Gpu& gpu);

/// Whether a plan fits in memory.
enum class Fit {
  fits,          ///< fits and leaves the margin
  tight,         ///< within usable memory, but without the margin
  does_not_fit,  ///< exceeds the memory of a device or of a host
};
/// Returns "fits", "tight" or "does not fit".
std::string_view name_of(Fit fit);

/// Memory on the device of a task's mesh that has the least headroom() while the task runs. Devices that run out of
/// memory (margin() < 0) come first.
struct TaskMemory {
  std::vector<MemoryPart> parts;  ///< the largest first
  std::int64_t usable = 0;        ///< bytes that a process can allocate on the device
  std::int64_t min_margin = 0;    ///< bytes of `usable` that plans leave free
  int device = 0;                 ///< device of the cluster; the lowest number if several are equal
  std::int64_t host = 0;         ///< bytes offloaded to host memory, on the task's node with the least host memory left
  std::int64_t host_memory = 0;  ///< bytes of host memory of that node

  std::int64_t needed() const;
  std::int64_t margin() const { return usable - needed(); }
  std::int64_t headroom() const { return margin() - min_margin; }  ///< bytes that plans may still use
  Fit fit() const;
  bool fits() const { return fit() != Fit::does_not_fit; }
};

/// Returns the memory of each task: [task of the workflow], empty for rules. While a task runs, its devices store:
/// - the data of the task itself: working_memory, and for inference the weights;
/// - the data of other roles, and of other copies of the role (with another mesh or layout), that is not offloaded
///   while idle: weights, and for a trained copy also gradients and optimizer. An engine that does not offload keeps
///   its weights, but always frees its KV cache.
///
/// Devices store different stages and ranks of several tasks. The sum counts the largest share of each task, so it is
/// never too low.
///
/// Before the task, newly trained weights in another form may arrive. Memory then holds the task's copy of the weights,
/// the trained weights (even if they are usually offloaded), the data in transit, and the idle data of other copies.
/// This sum counts instead if it is larger. Memory that the allocator reserves is included if
/// Conventions::reserved_factor is known. Two train tasks in one schedule need fused_working_memory. Their
/// micro-batches in flight take `fused_activations` bytes; nullopt: as many as both tasks need alone.
std::vector<TaskMemory> task_memory(const Scenario& scenario, const plan::Plan& plan,
                                    std::optional<std::int64_t> fused_activations = std::nullopt);

/// Returns the bytes that task_memory counts on each device in addition to what `task` itself needs (working_memory):
/// [device of the cluster], including devices outside the task's mesh. If `task` is nullopt: between tasks, when the
/// devices store nothing else. Excludes weights in transit. REQUIRES: the task is not a rule.
std::vector<std::int64_t> resident_memory(const Scenario& scenario, const plan::Plan& plan,
                                          std::optional<std::size_t> task);

}  // namespace dovetail::predict
