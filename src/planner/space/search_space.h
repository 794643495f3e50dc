// All that a search over plans chooses from, worked out before it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/space/choices.h"

namespace dovetail::planner {

/// What a task takes: one of the space's meshes, and one of its choices on meshes of that shape. A rule has neither.
struct SelectedChoice {
  std::int32_t mesh = 0;
  std::int32_t choice = 0;

  friend auto operator<=>(const SelectedChoice&, const SelectedChoice&) = default;
};
/// [task of the workflow].
using Selection = std::vector<SelectedChoice>;

/// Weights that are moved to where a task uses them, in ns.
struct WeightSyncTicks {
  base::Ticks same;   ///< from devices that the engine's overlap
  base::Ticks apart;  ///< from others
};

/// What two tasks have alike in every plan.
struct Link {
  std::size_t task = 0;                 ///< the other one
  bool mesh = false;                    ///< the devices
  bool weights = false;                 ///< the form of weights (predict::linked_tasks)
  std::vector<std::size_t> agreements;  ///< of the job's framework (plan::agreements_of), by number
};

/// What runs on one mesh takes the same time and memory on all others of its shape (cluster::MeshShape), so that
/// choices are by shape.
struct SearchSpace {
  const predict::Scenario* scenario = nullptr;
  std::vector<cluster::Mesh> meshes;
  std::vector<std::size_t> shapes;                        ///< [mesh] its shape
  std::vector<cluster::Mesh> examples;                    ///< [shape] a mesh of it
  std::vector<std::vector<std::vector<Choice>>> choices;  ///< [task][shape], the fastest first; empty for rules
  /// [task][shape][choice]: equal where weights lie alike on equal meshes
  std::vector<std::vector<std::vector<int>>> weight_forms;
  std::vector<std::vector<WeightSyncTicks>> weight_syncs;  ///< [task][shape], of generation
  std::vector<base::Ticks> rules;                          ///< [task] how long a rule takes
  std::vector<std::vector<Link>> links;                    ///< [task] others that have its mesh, and more
  /// [agreement][task][shape][choice]: equal where choices agree
  std::vector<std::vector<std::vector<std::vector<int>>>> agreement_forms;
  std::vector<std::vector<plan::TaskPlan>> agreement_examples;  ///< [agreement][form] the first of that form
  std::vector<std::vector<std::int32_t>> open;                  ///< [task] meshes on which it may be, and has a choice

  bool is_rule(std::size_t task) const { return scenario->job.workflow.tasks[task].kind == workflow::TaskKind::rule; }
  /// Whether the task by itself may be on the mesh, and has a choice there; on any.
  bool has_choices(std::size_t task, std::int32_t mesh) const;
  bool has_choices(std::size_t task) const;
  /// Likewise, and those that have its mesh have a choice there, too.
  bool is_open(std::size_t task, std::int32_t mesh) const;
  const Choice& choice(std::size_t task, SelectedChoice selected) const {
    return choices[task][shapes[static_cast<std::size_t>(selected.mesh)]][static_cast<std::size_t>(selected.choice)];
  }
  int weight_form(std::size_t task, SelectedChoice selected) const {
    return weight_forms[task][shapes[static_cast<std::size_t>(selected.mesh)]]
                       [static_cast<std::size_t>(selected.choice)];
  }
};

/// The meshes of a cluster that a search looks at: all of cluster::meshes_of on up to 16 nodes. On more, of the runs of
/// whole nodes those with up to three significant binary digits of nodes, which start at a multiple of the last of
/// these, and all that pins ask for.
std::vector<cluster::Mesh> search_meshes(const plan::Job& job);

/// On up to `threads` threads; the answer does not depend on how many. `scenario` must outlive it. Where it is stopped,
/// shapes have no choices yet; the last, mostly the whole cluster, has them first.
SearchSpace make_search_space(const predict::Scenario& scenario, std::vector<cluster::Mesh> meshes,
                              const ChoiceRules& rules, int threads);

/// The first task that has no choice on any mesh, else the first that has none where those are that have its mesh;
/// nothing where all have one.
std::optional<std::size_t> impossible_task(const SearchSpace& space);

/// What a task of a plan gets by a selected choice. REQUIRES: the task is no rule.
plan::TaskPlan task_plan_of(const SearchSpace& space, std::size_t task, SelectedChoice selected);

/// Numbers what each agreement of the job's framework sees in a choice that was added to a task's as the last of the
/// shape's.
void add_agreement_forms(SearchSpace& space, std::size_t task, std::size_t shape);

/// Selects a choice for a task, and for the tasks linked to it, and those linked to these, what they have alike: where
/// one has something else, its fastest choice that agrees with all before it. False, with a selection of no use, where
/// one has none.
bool take(const SearchSpace& space, Selection& selection, std::size_t task, SelectedChoice selected);

/// Makes linked tasks agree: the first choice of one of them, from its own on, that the others can follow. False where
/// there is none.
bool settle(const SearchSpace& space, Selection& selection);

/// The plan of a selection, of that placement's name.
plan::Plan plan_of(const SearchSpace& space, const Selection& selection, std::string placement);

}  // namespace dovetail::planner
