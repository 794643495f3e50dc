// The activities of one iteration and their dependencies: tasks, reallocations of weights, and host transfers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::plan {

/// A node of the iteration graph: work that happens once in each iteration.
struct Activity {
  enum class Kind {
    task,          ///< a task of the workflow
    reallocation,  ///< moves a role's new weights from their training to another task that uses them
    load,          ///< copies a task's state from host memory, before the task
    unload         ///< copies a task's state back to host memory, after the task
  };
  Kind kind = Kind::task;
  std::size_t task = 0;   ///< for a reallocation, the first task that uses the weights with this mesh and layout
  std::size_t train = 0;  ///< for a reallocation, the train task that produces the weights
  /// The activity that includes this one's work, so that this one takes no time and no devices. nullopt: not included.
  std::optional<std::size_t> within = std::nullopt;
};

/// Activity `to` of iteration k + `iterations` waits for activity `from` of iteration k.
struct ActivityEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  int iterations = 0;
  base::Ticks early = base::Ticks(0);  ///< time by which `to` may start before `from` ends
};

/// The activities of one iteration and their dependencies, built once for each plan. The workflow's tasks come first,
/// in their order.
struct IterationGraph {
  std::vector<Activity> activities;
  std::vector<ActivityEdge> edges;
};

/// Builds the graph of a plan.
///
/// Data edges of the workflow connect tasks of the same iteration. Version edges lead from each train task to the tasks
/// of later iterations that use the trained role or its average. Such an edge passes through a reallocation if the
/// using task has another mesh or layout than the train task, or an engine with a separate copy of the weights.
///
/// Tasks with the same mesh and layout that use the same version of a role's weights share a reallocation. A
/// reallocation overwrites the weights of its previous run, so it waits for the tasks that use those weights in the
/// previous iteration. An average of a role is computed where it is used, from the reallocated weights. REQUIRES: the
/// plan has no fault.
IterationGraph iteration_graph(const Job& job, const Plan& plan);

/// Makes activity `leader` do the work of `members`. The leader waits for everything that the members wait for, and the
/// members end when the leader ends. Edges among all these activities within an iteration are removed. REQUIRES: no
/// other activity of an iteration waits for one of them and precedes another of them.
void put_within(IterationGraph& graph, std::size_t leader, const std::vector<std::size_t>& members);

/// Lets activities that wait for the leader start up to `early` before the leader ends: they need the leader's own
/// task, not its members. Loads and unloads still wait for the end of the whole activity.
void release(IterationGraph& graph, std::size_t leader, base::Ticks early);

/// Whether release() changes ActivityEdge::early of this edge.
bool is_released(const IterationGraph& graph, std::size_t leader, const ActivityEdge& edge);

/// Whether two tasks of one role can use the same copy of the weights: they have the same mesh, and layouts that place
/// weights in the same way.
bool share_weights(const TaskPlan& a, const TaskPlan& b);

/// Whether a task generates with the engine's own copy of the weights.
bool has_own_weights(const Job& job, const Plan& plan, std::size_t task);

/// Meshes that an activity keeps busy. For a reallocation, these are the mesh of the train task and the mesh of the
/// task that uses the weights, or one mesh if they are equal. Empty for rules, host transfers, and activities within
/// another.
std::vector<cluster::Mesh> meshes_of(const Activity& activity, const Job& job, const Plan& plan);

/// Whether the activity moves state to or from host memory, in parallel with work on the devices.
inline bool is_host_transfer(const Activity& activity) {
  return activity.kind == Activity::Kind::load || activity.kind == Activity::Kind::unload;
}

/// Devices whose links to host memory an activity keeps busy. Empty unless it is a load or an unload.
cluster::Mesh host_links_of(const Activity& activity, const Plan& plan);

/// Constraints that a framework adds to the data and weight dependencies. Empty: the ideal order, in which each
/// activity starts as soon as its inputs are ready and its devices are free. Tasks are indices in the workflow.
struct IterationOrder {
  /// Task `to` of iteration k + `iterations` waits for task `from` of iteration k.
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    int iterations = 0;
  };
  std::vector<Edge> edges;

  /// [barrier] tasks. The iteration's other activities start after all tasks of the barrier have ended, except
  /// activities that these tasks depend on. If no other activity is left, the next iteration starts after the barrier.
  /// "Generation, then inference, then training" has three barriers: generation, inference and training. The last one
  /// separates iterations.
  std::vector<std::vector<std::size_t>> barriers;

  bool empty() const { return edges.empty() && barriers.empty(); }
};

/// Adds the edges and barriers of the order to the graph. REQUIRES: no activity is within another, and no cycle arises.
void add_order(IterationGraph& graph, const IterationOrder& order);

/// Whether some activity depends on itself within an iteration. Edges between iterations are ignored.
bool has_cycle(const IterationGraph& graph);

}  // namespace dovetail::plan
