// What a task may do on a mesh: its layouts and settings, with what each costs in time and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/enum_names.h"
#include "base/quantity.h"
#include "cluster/mesh.h"
#include "plan/plan.h"
#include "predict/closed_form/weight_copies.h"

namespace dovetail::planner {

/// Which means a plan may use.
enum class OptionSet {
  all,   ///< what training frameworks and engines with weights of their own have, as far as the cost model knows it
  real,  ///< those of ReaL (docs/facts.md#real-layouts-and-meshes): its layouts, micro-batches and engine,
         ///< recomputation in all training
};
constexpr auto names_of(OptionSet) {
  return std::array{base::EnumName{"all", OptionSet::all}, base::EnumName{"real", OptionSet::real}};
}

/// One layout with settings for one task, on a mesh of one shape.
struct Choice {
  plan::TaskPlan planned;    ///< its mesh is one of that shape
  double seconds = 0;        ///< task_seconds
  base::Ticks duration;      ///< of these, in whole ns
  std::int64_t working = 0;  ///< bytes of working_memory
  predict::HeldBytes held;   ///< of its role's weights, as this task has them
  std::int64_t kept = 0;     ///< bytes of these that are on the device while the task does not run
  std::int64_t away = 0;     ///< bytes of these that are in host memory then
};

/// What `planned` costs the task. REQUIRES: no rule, and no fault.
Choice choice_of(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// What a job asks of layouts and settings, and what else is known about a task's part of a plan.
struct ChoiceRules {
  OptionSet option_set = OptionSet::all;
  /// Trainings keep their optimizer in host memory and step it there (ZeRO-Offload, arXiv 2101.06840): nothing for
  /// other tasks, where the job says what is offloaded, or with ReaL's means.
  bool optimizer_on_host = false;
};

/// All that task `task` may do on `mesh`, the fastest first, without what another choice with the same layout of
/// weights, and with what the job's framework has tasks have alike, equals or beats in time, working memory and memory
/// between tasks alike. Choices that do not fit on the devices by themselves are left out. What the job has pinned of
/// the task is kept, but for its mesh. Empty for a mesh on which nothing fits, and where it is stopped. REQUIRES: the
/// task is no rule.
std::vector<Choice> choices_of(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                               const ChoiceRules& rules);

/// What a task needs at least of a device on a mesh, fitting or not; nodes have the host memory for it.
struct MinNeed {
  std::int64_t bytes = 0;
  plan::TaskPlan planned;  ///< with which
};
/// Of the layouts that `may` takes, where it is given. Nothing where the mesh has none of these for the task. Of those
/// weighed so far where it is stopped.
std::optional<MinNeed> min_need(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                                const ChoiceRules& rules, const std::function<bool(const llm::Layout&)>& may = {});

}  // namespace dovetail::planner
