// What an iteration of a plan does, activity by activity: its tasks, and the reallocations of weights between them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::plan {

/// One use of devices in an iteration.
struct Activity {
  enum class Kind {
    task,          ///< a task of the workflow
    reallocation,  ///< a role's new weights, from where they are trained to where another task of it uses them
    load,          ///< what a task brings from host memory, before it
    unload         ///< what a task gives back to host memory, behind it
  };
  Kind kind = Kind::task;
  std::size_t task =
      0;  ///< of a reallocation the task that uses the weights, the first of those with the same mesh and layout
  std::size_t train = 0;  ///< of a reallocation the train task that they come from
  std::optional<std::size_t> within =
      std::nullopt;  ///< the activity that does its work with its own: it takes no time and no devices then
};

/// `to` of iteration k + iterations waits for `from` of iteration k.
struct ActivityEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  int iterations = 0;
  base::Ticks early = base::Ticks(0);  ///< so long before its end `from` has made what `to` waits for
};

/// The activities of one iteration and what they wait for, built once for each plan. The first activities are the
/// workflow's tasks, in their order.
struct IterationGraph {
  std::vector<Activity> activities;
  std::vector<ActivityEdge> edges;
};

/// Data edges of the workflow within an iteration, and its version edges from each train task to the uses of its role
/// in later iterations: through a reallocation where the use has another mesh or layout than the training, or generates
/// (an engine has weights in a form of its own). Uses of one role with the same mesh and layout share it. It overwrites
/// what it brought before, and so waits for the uses of the iteration before. An average of a role is made where it is
/// used, from the reallocated weights. REQUIRES: the plan has no fault.
IterationGraph iteration_graph(const Job& job, const Plan& plan);

/// Lets activity `leader` do the work of `members` with its own: it waits for all that they wait for, and they end when
/// it does. What is within it waits for nothing of each other any more. REQUIRES: nothing that waits in the same
/// iteration for one of them is waited for by another, but for activities of their own.
void put_within(IterationGraph& graph, std::size_t leader, const std::vector<std::size_t>& members);

/// Lets what waits for the leader's own task begin `early` before the leader ends: it has no part in what its members
/// do. Loads and unloads wait for the memory of the whole activity.
void release(IterationGraph& graph, std::size_t leader, base::Ticks early);

/// Whether it is an edge that release() makes early.
bool is_released(const IterationGraph& graph, std::size_t leader, const ActivityEdge& edge);

/// Whether the weights of two tasks of one role lie alike: the same mesh, and layouts that differ in nothing that
/// weights know of.
bool share_weights(const TaskPlan& a, const TaskPlan& b);

/// Whether a task generates with weights in a form of its engine's own.
bool has_own_weights(const Job& job, const Plan& plan, std::size_t task);

/// The devices that an activity keeps busy, as meshes; none for rules, transfers to and from host memory, nor for what
/// is within another activity. A reallocation keeps those busy that it comes from and goes to.
std::vector<cluster::Mesh> meshes_of(const Activity& activity, const Job& job, const Plan& plan);

/// Whether the activity moves what a task has in host memory, beside what the devices do.
inline bool is_host_transfer(const Activity& activity) {
  return activity.kind == Activity::Kind::load || activity.kind == Activity::Kind::unload;
}

/// The devices whose links to host memory an activity keeps busy, not themselves; none of all but loads and unloads.
cluster::Mesh host_links_of(const Activity& activity, const Plan& plan);

}  // namespace dovetail::plan
