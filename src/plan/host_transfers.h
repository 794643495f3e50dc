// Transfers to and from host memory as activities of an iteration of their own, beside what the devices do meanwhile.
//
// A task whose weights or optimizer are in host memory while it does not run brings them before it, and a train task
// gives them back behind it. Software that prefetches need not stop the devices for that. What it needs is room: until
// the task begins, and from its end on, they are on its devices beside what other activities need there. Where there is
// none for both, the two activities follow one another.
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

/// [task][other] whether there is no room for what `task` brings or gives back while `other` runs, on a device that
/// both have.
using Conflicts = std::vector<std::vector<bool>>;

/// `graph` with these transfers as activities of their own, behind all others.
/// - A task waits for its load. That waits for what makes the weights which it brings (reallocations and trainings that
/// the task waits
///   for), and for the end of the task's last run, with its unload.
/// - An unload waits for its task. Whoever uses the weights that it gives back in a later iteration waits for it.
/// - Of each activity in conflict with the task, a load waits for the last one before its task, and the next one behind
/// the task waits for the
///   unload. The activity and the task then alternate: where they need not by themselves, edges are added, in the order
///   in which an iteration has them (of two that neither waits for the other, in the order of the activities). A
///   reallocation is in conflict where one of its tasks is, what is fused where one of its members is.
/// REQUIRES: a graph without such activities; no task of `transfers` is within an activity, or has one within it; each
/// stands there once.
IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan,
                                   const std::vector<HostTransfer>& transfers, const Conflicts& conflicts);

}  // namespace dovetail::plan
