// Alternatives to a plan and their gains: changes of one task, of two tasks that could run side by side, or of the
// fusions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/search/placements.h"
#include "planner/space/search_space.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// How a changed plan differs from the original.
enum class ChangeKind {
  mesh,           ///< other devices for a task, possibly with another layout and settings
  side_by_side,   ///< two tasks that split their combined devices, to run in parallel
  layout,         ///< other parallel degrees of a task on the same devices, possibly with other settings
  zero,           ///< another ZeRO stage
  recomputation,  ///< other activations are recomputed
  micro_batch,    ///< other micro-batches
  engine,         ///< other settings of the generation engine
  offload,        ///< other state is moved to host memory
  /// Several of `zero`, `recomputation`, `micro_batch`, `engine` and `offload`, or changes of several tasks.
  settings,
  fusion,     ///< tasks become fused or unfused
  threshold,  ///< another fraction of samples at which fused generation frees devices
};
/// "mesh", "side by side", "layout", "zero", "recomputation", "micro-batch", "engine", "offload", "settings", "fusion",
/// "threshold".
std::string_view name_of(ChangeKind kind);

/// Returns the kind of difference between two different plans of a task.
ChangeKind kind_of(const plan::TaskPlan& from, const plan::TaskPlan& to);

/// A changed plan with its prediction.
struct Change {
  ChangeKind kind = ChangeKind::settings;
  std::vector<std::size_t> tasks;  ///< tasks that change, or that become fused or unfused
  plan::Plan plan;
  double iteration_seconds = 0;
  std::int64_t margin = 0;          ///< minimum bytes left on any device of a task; negative: bytes missing
  std::size_t min_margin_task = 0;  ///< task with this margin
  predict::Fit fit = predict::Fit::fits;
  std::int64_t missing = 0;  ///< largest shortage in bytes, of a device or of a node's host memory; 0: the plan fits
};

/// Returns the change from `from` to `plan`. Keeps the fusions of `from` that are still possible. If `over_bound` is
/// given, makes no schedule for fused trainings, but assumes that they take `over_bound` times their lower bound
/// (predict::estimate_like).
Change change_to(const predict::Scenario& scenario, const plan::Plan& from, plan::Plan plan,
                 std::optional<double> over_bound = std::nullopt);

/// Estimates a change again, with a real schedule for fused trainings. change_to() makes none if it gets `over_bound`.
void reestimate(const predict::Scenario& scenario, Change& change);

/// Returns the task that leaves the least memory free on a device. `memory`: [task of the workflow]. REQUIRES: at least
/// one task is not a rule.
std::size_t min_margin_task(const std::vector<predict::TaskMemory>& memory);

/// The largest shortage in an estimate, either of device memory or of a node's host memory.
struct Missing {
  std::int64_t bytes = 0;  ///< 0: it fits
  bool host = false;       ///< true: host memory is short; false: device memory
  std::size_t task = 0;    ///< task with the shortage; without a shortage, min_margin_task()
};

/// Returns the largest shortage. `memory`: [task of the workflow]. REQUIRES: at least one task is not a rule.
Missing missing_of(const std::vector<predict::TaskMemory>& memory);

/// Returns changes of `plan` that fit and keep the margin, the fastest first:
/// - for each task and kind of change, the one with the shortest iteration. A change of several settings is left out if
///   a change of a single setting of the task is at least as fast;
/// - for each pair of tasks that do not wait for each other, the best division of their devices;
/// - if generation is not fused with inference, the fusion at the best threshold; otherwise the unfused plan and, if it
///   differs from the plan's, the best threshold;
/// - if two trainings can be fused, the fusion with a real schedule; if they are fused, the unfused plan.
///
/// `around` is the result of space_around() for the plan. Fusions respect the job's settings. With OptionSet::real,
/// fusions are not changed. If stopped, changes of tasks that were not examined completely are missing.
std::vector<Change> changes_of(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around,
                               OptionSet option_set = OptionSet::all);

}  // namespace dovetail::planner
