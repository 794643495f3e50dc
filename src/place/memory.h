// What each task of a plan takes of its devices' memory, with everything else that stays there meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "place/step_seconds.h"
#include "plan/plan.h"

namespace dovetail::place {

/// A part of what a device holds.
struct MemoryPart {
  std::string name;  ///< "actor's optimizer", "keys and values", ...
  std::int64_t bytes = 0;
};

/// The worst device of a task's mesh while the task runs.
struct TaskMemory {
  std::vector<MemoryPart> parts;  ///< the largest first
  std::int64_t usable = 0;        ///< bytes that a process can allocate there
  int device = 0;                 ///< of the cluster: the first of those that hold the most
  std::int64_t host = 0;          ///< bytes of the node with the most that is off the devices meanwhile
  std::int64_t host_memory = 0;   ///< bytes that the node has

  std::int64_t needed() const;
  std::int64_t margin() const { return usable - needed(); }
  bool fits() const { return margin() >= 0 && host <= host_memory; }
};

/// [task of the workflow]; nothing for rules. While a task runs, its devices hold
/// - what the task itself needs: training by cost::training_memory; scoring its weights, the activations of one layer and the logits of a
///   micro-batch in fp32; an engine its whole share of the memory, as it takes it when it starts; one that generates with the
///   trained weights these and the cache of its batch;
/// - of each other role, or other copy of the role's weights in another mesh or layout, what is not offloaded while idle: weights, and of a
///   trained one gradients and optimizer. An engine that does not offload keeps its weights; keys and values it always gives back.
/// Stages and ranks of different tasks meet on a device in many ways: the largest of each is taken, so that this is never too little.
/// Reserved memory where the framework's factor is known. Transient copies of a reallocation are not in it.
std::vector<TaskMemory> task_memory(const Ground& ground, const plan::Plan& plan);

}  // namespace dovetail::place
