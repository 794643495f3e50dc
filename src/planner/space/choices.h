// Candidate layouts and settings of a task on a mesh, each with its time and memory cost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/enum_names.h"
#include "base/quantity.h"
#include "cluster/mesh.h"
#include "llm/layout.h"
#include "plan/plan.h"
#include "predict/closed_form/weight_copies.h"

namespace dovetail::planner {

/// Limits on the data, tensor and pipeline degrees that a layout of a mesh may have.
struct LayoutRules {
  int max_tensor = 8;         ///< max tensor degree; layouts_of() also limits it to the devices of a node
  bool powers_of_two = true;  ///< whether tensor degrees must be powers of two; they always divide the node's devices
  /// A stage has a multiple of this number of devices, or a smaller power of two; 0: any number.
  int stage_devices_unit = 0;
  std::int64_t max_stages = 0;  ///< maximum number of pipeline stages; 0: any number
  int min_devices = 1;          ///< minimum number of devices; a smaller mesh has no layout
  int max_stage_devices = 0;    ///< maximum number of devices of a stage; 0: any number
  double max_parts = 0;         ///< maximum of data degree times pipeline degree; 0: any number
};

/// Returns the layout rules of ReaL on nodes of eight devices (docs/facts.md#real-layouts-and-meshes): tensor degrees
/// 1, 2, 4 and 8, and stages of 1, 2, 4 or multiples of 8 devices. With meshes of at least four devices, this yields
/// 22, 58, 176, 620 and 2464 pairs of mesh and layout on 1, 2, 4, 8 and 16 nodes.
LayoutRules real_rules();

/// Returns the rules for the layouts that ReaL's search considers before it checks memory. A pipeline has at most
/// max(nodes, 8) stages. The data degree times the pipeline degree is at most the task's number of `sequences`; in
/// training, at most `sequences` / (2 `mini_batches`). A training stage has at most eight devices. `mini_batches` is 0
/// for tasks that do not train.
LayoutRules real_search_rules(int nodes, double sequences, std::int64_t mini_batches);

/// Returns all (data, tensor, pipeline) that the rules allow and whose product is `devices`, sorted by tensor, then by
/// pipeline degree. The other layout fields keep their defaults. Tensor degrees divide `devices_per_node`, the mesh's
/// devices per node.
std::vector<llm::Layout> layouts_of(int devices, int devices_per_node, const LayoutRules& rules);

/// Set of layouts and settings that a plan may use.
enum class OptionSet {
  all,  ///< the layouts and settings that searches consider by default, with engines that have separate weights
  /// ReaL's layouts, micro-batches and engine, with recomputation in all training
  /// (docs/facts.md#real-layouts-and-meshes).
  real,
};
constexpr auto names_of(OptionSet) {
  return std::array{base::EnumName{"all", OptionSet::all}, base::EnumName{"real", OptionSet::real}};
}

/// A layout with settings for one task, on a mesh of one shape, with its cost.
struct Choice {
  plan::TaskPlan planned;    ///< on an example mesh of the shape
  double seconds = 0;        ///< predict::task_seconds
  base::Ticks duration;      ///< `seconds` in integer ns
  std::int64_t working = 0;  ///< bytes of working_memory
  predict::HeldBytes held;   ///< bytes per device of the weights, gradients and optimizer that the task stores
  std::int64_t kept = 0;     ///< bytes of `held` on the device while the task does not run
  std::int64_t away = 0;     ///< bytes of `held` in host memory while the task does not run
};

/// Returns the cost of running the task as `planned`. REQUIRES: the task is not a rule, and `planned` has no fault.
Choice choice_of(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Options for the layouts and settings of a task.
struct ChoiceRules {
  OptionSet option_set = OptionSet::all;
  /// If true, all choices are of train tasks that store and step their optimizer on the host (ZeRO-Offload, arXiv
  /// 2101.06840). Other tasks, tasks whose offload the job fixes, and all tasks with OptionSet::real have no choices.
  bool optimizer_on_host = false;
};

/// Returns the Pareto-optimal choices of `task` on `mesh`, the fastest first. A choice is dropped if it does not
/// fit even on otherwise empty devices. It is also dropped if another one with the same layout of weights and the same
/// shared settings (plan::Agreement) is at least as good in time, working memory and memory between tasks. All choices
/// satisfy the task's pins, except the pinned mesh. Empty if nothing fits or the scenario is stopped. REQUIRES:
/// the task is not a rule.
std::vector<Choice> choices_of(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                               const ChoiceRules& rules);

/// Minimum memory per device that a task needs on a mesh, even if the devices have less. Only plans for which the host
/// memory suffices count.
struct MinNeed {
  std::int64_t bytes = 0;
  plan::TaskPlan planned;  ///< plan with this need
};
/// Returns the minimum over the layouts for which `may` is true, or over all if `may` is empty. nullopt if the mesh has
/// no such layout for the task, or if the host memory is too small for all of them. If stopped, only the layouts
/// examined so far count.
std::optional<MinNeed> min_need(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh,
                                const ChoiceRules& rules, const std::function<bool(const llm::Layout&)>& may = {});

}  // namespace dovetail::planner
