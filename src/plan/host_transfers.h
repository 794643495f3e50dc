// Transfers to and from host memory as separate activities of an iteration, in parallel with the devices.
//
// If a task's weights or optimizer are in host memory while it does not run, it loads them before it starts. A train
// task copies them back after it ends. Software that prefetches overlaps these transfers with other tasks. That takes
// device memory: before the task starts, and again after its end, its state is on the devices together with the state
// of other activities. If both do not fit, the two activities run one after the other.
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

/// [task][other] whether the transferred state of `task` does not fit while `other` runs, on a device that both use.
using Conflicts = std::vector<std::vector<bool>>;

/// Appends these transfers to `graph` as separate activities:
/// - A task waits for its load. The load waits for the activities that produce its weights: reallocations and
///   trainings that the task waits for. It also waits for the task's last run and its unload.
/// - An unload waits for its task. Uses of its weights in later iterations wait for the unload.
/// - If an activity conflicts with the task, the load waits for its last run before the task, and its next run waits
///   for the unload. Activity and task then alternate. Edges are added if dependencies do not ensure that, in the
///   order of an iteration (independent activities: by index).
/// - A reallocation conflicts if one of its tasks does, a fused activity if one of its members does.
/// REQUIRES: the graph has no such activities. No task of `transfers` is within an activity or has one within it.
/// Each transfer occurs once.
IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan,
                                   const std::vector<HostTransfer>& transfers, const Conflicts& conflicts);

}  // namespace dovetail::plan
