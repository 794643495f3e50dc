// Transfers to and from host memory as separate activities of an iteration, in parallel with work on the devices.
//
// If a task's weights or optimizer are in host memory while it does not run, it loads them before it starts. A train
// task copies them back after it ends. Software that prefetches overlaps these transfers with other tasks. The overlap
// takes device memory: before the task starts and after it ends, its state is on the devices while other activities run
// there. If the task's state and an activity do not fit together, the transfers do not overlap that activity.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// A load or an unload of a task.
struct HostTransfer {
  Activity::Kind kind = Activity::Kind::load;
  std::size_t task = 0;

  friend bool operator==(const HostTransfer&, const HostTransfer&) = default;
};

/// [task][other] whether the transferred state of `task` does not fit in memory while `other` runs, on a device that
/// both use.
using Conflicts = std::vector<std::vector<bool>>;

/// Appends these transfers to `graph` as separate activities:
/// - A task waits for its load. The load waits for the activities that produce the task's weights: reallocations and
///   trainings that the task waits for. It also waits for the task's previous run and the unload after that run.
/// - An unload waits for its task. If it moves the weights, tasks that use them in later iterations without a
///   reallocation wait for the unload.
/// - If an activity conflicts with the task, the load waits for the activity's last run before the task, and the
///   activity's next run waits for the unload. If dependencies do not already make the task and the activity alternate,
///   edges between them are added. If they are independent, a topological sort that prefers lower indices determines
///   their order in an iteration.
/// - A reallocation conflicts with a task if they have a device in common and the reallocation's train task or first
///   user (Activity::task) conflicts with the task. A fused activity conflicts with a task if one of its members does.
/// REQUIRES: the graph has no host transfers. No task in `transfers` is fused. Each transfer occurs once.
IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan,
                                   const std::vector<HostTransfer>& transfers, const Conflicts& conflicts);

}  // namespace dovetail::plan
