// What of a plan could be done otherwise: changes of one task, of two that could run side by side, or of what is fused,
// with what each would gain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/search/placements.h"
#include "planner/space/plan_space.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// In what two plans of a task differ.
enum class ChangeKind {
  mesh,           ///< other devices, and what goes with them
  side_by_side,   ///< two tasks on a part each of the devices that they have together
  layout,         ///< other parallel degrees on the same devices, and what goes with them
  zero,           ///< ZeRO's stage
  recomputation,  ///< what is computed again
  micro_batch,
  engine,     ///< settings of the generation engine
  offload,    ///< what leaves the devices
  settings,   ///< several of the last five
  fusion,     ///< stages that are fused, or no longer
  threshold,  ///< at which generation that is fused gives devices away
};
/// "mesh", "side by side", "layout", "zero", "recomputation", "micro-batch", "engine", "offload", "settings", "fusion",
/// "threshold".
std::string_view name_of(ChangeKind kind);

/// The kind of difference of two plans of a task that differ.
ChangeKind kind_of(const plan::TaskPlan& from, const plan::TaskPlan& to);

/// A changed plan, by predict::estimate.
struct Change {
  ChangeKind kind = ChangeKind::settings;
  std::vector<std::size_t> tasks;  ///< that change, or are fused or no longer
  plan::Plan plan;
  double iteration_seconds = 0;
  std::int64_t margin = 0;  ///< bytes that the fullest device has left
  std::size_t fullest = 0;  ///< the task that it is fullest in
  predict::Fit fit = predict::Fit::fits;
  std::int64_t missing = 0;  ///< bytes of the device or of the node's host memory, whatever is more; 0: it fits
};

/// The change that makes `plan` of `from`. It keeps what of the fusion of `from` its tasks can have; its train tasks
/// are as far above the bound of their schedule as `over_bound` says, where that is given (estimate_like).
Change change_to(const predict::Scenario& scenario, const plan::Plan& from, plan::Plan plan,
                 std::optional<double> over_bound = std::nullopt);

/// With a schedule of its own for trainings that stay fused, which change_to() does without.
void estimate_anew(const predict::Scenario& scenario, Change& change);

/// The task of an estimate whose device has the least left. REQUIRES: a task that is no rule.
std::size_t fullest_task(const std::vector<predict::TaskMemory>& memory);

/// What an estimate lacks the most of: memory of a device, or of a node's host where that is more.
struct Missing {
  std::int64_t bytes = 0;  ///< 0: nothing, it fits
  bool host = false;
  std::size_t task = 0;  ///< that lacks it, or fullest_task()
};

/// REQUIRES: a task that is no rule.
Missing missing_of(const std::vector<predict::TaskMemory>& memory);

/// Of each task and kind of change the plan that fits, and keeps the margin, with the shortest iteration, and of each
/// two tasks that wait for nothing of each other the best on two parts of the devices that they have together.
/// Generation with inference, and two trainings, fused where they are not (at the best threshold, with a real schedule)
/// and apart where they are, and the best other threshold, as far as the job lets them. The fastest first; nothing that
/// does not fit, nor the plan itself. ReaL's means fuse nothing. Where it is stopped, of the tasks that were looked at
/// to the end.
std::vector<Change> changes_of(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around,
                               OptionSet option_set = OptionSet::all);

}  // namespace dovetail::planner
