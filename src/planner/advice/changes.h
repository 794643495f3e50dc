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
  mesh,           ///< other devices, possibly with another layout and settings
  side_by_side,   ///< two tasks that divide the devices of both between them
  layout,         ///< other parallel degrees on the same devices, possibly with other settings
  zero,           ///< another ZeRO stage
  recomputation,  ///< other activations are recomputed
  micro_batch,
  engine,     ///< settings of the generation engine
  offload,    ///< state that is moved to host memory
  settings,   ///< several of the five kinds above
  fusion,     ///< stages that become fused or unfused
  threshold,  ///< fraction of samples at which fused generation frees devices
};
/// "mesh", "side by side", "layout", "zero", "recomputation", "micro-batch", "engine", "offload", "settings", "fusion",
/// "threshold".
std::string_view name_of(ChangeKind kind);

/// Returns the kind of difference between two different plans of a task.
ChangeKind kind_of(const plan::TaskPlan& from, const plan::TaskPlan& to);

/// A changed plan, estimated by predict::estimate.
struct Change {
  ChangeKind kind = ChangeKind::settings;
  std::vector<std::size_t> tasks;  ///< tasks that change, or that become fused or unfused
  plan::Plan plan;
  double iteration_seconds = 0;
  std::int64_t margin = 0;  ///< bytes left on the device with the least memory left
  std::size_t fullest = 0;  ///< task that uses that device
  predict::Fit fit = predict::Fit::fits;
  /// Bytes missing on the device or in the node's host memory, whichever is larger; 0: it fits.
  std::int64_t missing = 0;
};

/// Returns the change from `from` to `plan`. Keeps the fusions of `from` that are still possible. If `over_bound` is
/// given, fused trainings take that multiple of their bound (estimate_like).
Change change_to(const predict::Scenario& scenario, const plan::Plan& from, plan::Plan plan,
                 std::optional<double> over_bound = std::nullopt);

/// Estimates a change again, with a real schedule for fused trainings. With `over_bound`, change_to() makes no such
/// schedule.
void reestimate(const predict::Scenario& scenario, Change& change);

/// Returns the task whose device has the least memory left. REQUIRES: at least one task is not a rule.
std::size_t fullest_task(const std::vector<predict::TaskMemory>& memory);

/// The largest shortage in an estimate: of device memory or of a node's host memory.
struct Missing {
  std::int64_t bytes = 0;  ///< 0: it fits
  bool host = false;       ///< whether host memory is short, rather than device memory
  std::size_t task = 0;    ///< task with the shortage, otherwise fullest_task()
};

/// Returns the largest shortage. REQUIRES: at least one task is not a rule.
Missing missing_of(const std::vector<predict::TaskMemory>& memory);

/// Returns changes that fit and keep the margin, the fastest first, without the plan itself:
/// - for each task and kind of change, the one with the shortest iteration, except a change of several settings that
///   gains no more than a change of one of them;
/// - for each pair of tasks that do not wait for each other, the best division of their devices;
/// - generation with inference, and two trainings: fused if they are unfused (at the best threshold, with a real
///   schedule), and unfused if they are fused;
/// - the best other threshold.
/// Fusions respect the job's settings. With OptionSet::real, fusions are not changed. If stopped, tasks that were not
/// examined completely are missing.
std::vector<Change> changes_of(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around,
                               OptionSet option_set = OptionSet::all);

}  // namespace dovetail::planner
