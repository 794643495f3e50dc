// All options that a search over plans chooses from, computed before the search begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/space/choices.h"

namespace dovetail::planner {

/// Choice of a task: a mesh of the space, and one of the task's choices on meshes of that shape. Unused for rules.
struct SelectedChoice {
  std::int32_t mesh = 0;
  std::int32_t choice = 0;

  friend auto operator<=>(const SelectedChoice&, const SelectedChoice&) = default;
};
/// [task of the workflow]
using Selection = std::vector<SelectedChoice>;

/// Durations of moving trained weights to an engine.
struct WeightSyncTicks {
  base::Ticks same;   ///< from devices that overlap the engine's devices
  base::Ticks apart;  ///< from other devices
};

/// Properties that two tasks share in every plan.
struct Link {
  std::size_t task = 0;  ///< the other task
  bool mesh = false;     ///< same devices
  bool weights = false;  ///< same form of weights (predict::linked_tasks)
  /// Settings that the job's framework makes both tasks share, as indices into plan::agreements_of.
  std::vector<std::size_t> agreements;
};

/// Meshes and choices of a search. A task takes the same time and memory on all meshes of one shape
/// (cluster::MeshShape), so choices are stored by shape.
struct SearchSpace {
  const predict::Scenario* scenario = nullptr;
  std::vector<cluster::Mesh> meshes;
  std::vector<std::size_t> shapes;                        ///< [mesh] index of its shape
  std::vector<cluster::Mesh> examples;                    ///< [shape] a mesh of that shape
  std::vector<std::vector<std::vector<Choice>>> choices;  ///< [task][shape] fastest first; empty for rules
  /// [task][shape][choice] weight form: equal if weights are stored in the same way on equal meshes
  std::vector<std::vector<std::vector<int>>> weight_forms;
  std::vector<std::vector<WeightSyncTicks>> weight_syncs;  ///< [task][shape] for generate tasks
  std::vector<base::Ticks> rules;                          ///< [task] duration of a rule
  std::vector<std::vector<Link>> links;                    ///< [task] links to other tasks
  /// [agreement][task][shape][choice] agreement form: equal for choices that agree
  std::vector<std::vector<std::vector<std::vector<int>>>> agreement_forms;
  std::vector<std::vector<plan::TaskPlan>> agreement_examples;  ///< [agreement][form] first choice of that form
  /// [task] meshes for which is_open() is true
  std::vector<std::vector<std::int32_t>> open;

  bool is_rule(std::size_t task) const { return scenario->job.workflow.tasks[task].kind == workflow::TaskKind::rule; }
  /// Returns whether the task is allowed on the mesh and has a choice there, regardless of linked tasks. The second
  /// overload returns whether this holds for any mesh.
  bool has_choices(std::size_t task, std::int32_t mesh) const;
  bool has_choices(std::size_t task) const;
  /// Returns whether the task and all tasks that must share its mesh have a choice on the mesh.
  bool is_open(std::size_t task, std::int32_t mesh) const;
  const Choice& choice(std::size_t task, SelectedChoice selected) const {
    return choices[task][shapes[static_cast<std::size_t>(selected.mesh)]][static_cast<std::size_t>(selected.choice)];
  }
  int weight_form(std::size_t task, SelectedChoice selected) const {
    return weight_forms[task][shapes[static_cast<std::size_t>(selected.mesh)]]
                       [static_cast<std::size_t>(selected.choice)];
  }
};

/// Returns the meshes that a search considers, including all pinned ones. On up to 16 nodes these are all of
/// cluster::meshes_of. On more nodes, a mesh of entire nodes must have a node count with at most three significant
/// binary digits. The number of its first node must be a multiple of the largest power of two that divides this count.
std::vector<cluster::Mesh> search_meshes(const plan::Job& job);

/// Computes the search space on up to `threads` threads. The result does not depend on `threads`. `scenario` must
/// outlive the space. If stopped, some shapes have no choices. The last shape, usually the full cluster, is computed
/// first. A train task has choices with the optimizer on the host only if it has no others.
SearchSpace make_search_space(const predict::Scenario& scenario, std::vector<cluster::Mesh> meshes,
                              const ChoiceRules& rules, int threads);

/// Returns the first task without a choice on any mesh. If every task has a choice, returns the first task for which no
/// mesh is_open(). nullopt if every task has an open mesh.
std::optional<std::size_t> impossible_task(const SearchSpace& space);

/// Returns the task's plan for a selected choice. REQUIRES: the task is not a rule.
plan::TaskPlan task_plan_of(const SearchSpace& space, std::size_t task, SelectedChoice selected);

/// Numbers the agreement forms of the last choice of `task` on `shape`, after it was added.
void add_agreement_forms(SearchSpace& space, std::size_t task, std::size_t shape);

/// Selects a choice for a task and updates all tasks linked to it, directly or indirectly. A linked task that disagrees
/// gets its fastest choice that agrees with all tasks updated so far. Returns false, with an unusable selection, if a
/// task has no such choice.
bool take(const SearchSpace& space, Selection& selection, std::size_t task, SelectedChoice selected);

/// Makes linked tasks agree. Each task keeps its selected choice or takes the first slower one with which the tasks
/// linked to it can agree. Returns false if no such choice exists.
bool settle(const SearchSpace& space, Selection& selection);

/// Returns the plan of a selection, labeled with the name of a placement.
plan::Plan plan_of(const SearchSpace& space, const Selection& selection, std::string placement);

/// A search space that includes a given plan, and that plan's selection in it.
struct PlanSpace {
  SearchSpace space;
  Selection selection;
};

/// Returns the usual search space, extended by the plan's meshes, its tasks' choices and variations of these choices
/// (predict::variations_of). The added choices come last. They may not fit even on otherwise empty devices. REQUIRES:
/// the plan has no fault.
PlanSpace space_around(const predict::Scenario& scenario, const plan::Plan& plan, const ChoiceRules& rules,
                       int threads);

}  // namespace dovetail::planner
