// What in the things that a job fixes cannot be.
#pragma once

#include <optional>
#include <string>

#include "plan/pin.h"
#include "workflow/workflow.h"

namespace dovetail::plan {

/// Why no plan of a task with this model can have what is fixed, and what is accepted; nothing where one can. Looked at
/// are the mesh, by itself; that some layout of the model with these degrees fills the mesh, or, where that is free,
/// any mesh of the cluster; and settings, each by itself. Memory is not. A mesh that is fixed need not be one that
/// cluster::meshes_of lists. Takes time in the number of devices and, with unequal nodes, in the square of the number
/// of nodes.
std::optional<std::string> find_fault(const TaskPin& pin, const llm::Transformer& model,
                                      const cluster::Cluster& cluster);

/// An engine that admits a token of each of its sequences in a step: where the pin leaves one of max_num_seqs and
/// max_num_batched_tokens free, that one gives way to the other.
Engine with_room(const base::Partial<Engine>& pin, Engine engine);

}  // namespace dovetail::plan
