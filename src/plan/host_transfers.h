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

/// [task][other] true if the transferred state of `task` does not fit, while `other` runs, on a device that both use.
using Conflicts = std::vector<std::vector<bool>>;

/// Returns `graph` with these transfers appended as separate activities:
/// - A task waits for its load. The load waits for the activities that produce the task's weights: reallocations and
///   trainings that the task waits for. The load also waits for the task's previous run and its unload.
/// - An unload waits for its task. If the unload moves the weights, tasks that use these weights in later iterations
///   without a reallocation wait for it.
/// - If an activity conflicts with the task, the load waits for the activity's last run before the task, and the
///   activity's next run waits for the unload. If dependencies do not already make the task and the activity alternate,
///   edges between them are added. If neither depends on the other within an iteration, the one that comes first in
///   topological order, with ties by index, runs first.
/// - A reallocation conflicts with a task if they share devices, and its train task or the first task that uses its
///   weights conflicts with the task. A fused activity conflicts with a task if one of its members does.
/// REQUIRES: the graph has no host transfers. No task in `transfers` is fused. Each transfer occurs once.
IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan,
                                   const std::vector<HostTransfer>& transfers, const Conflicts& conflicts);

}  // namespace dovetail::plan
