// Which task reads from which, of tasks that need not be a sound workflow. Private to workflow.
#pragma once

#include <vector>

#include "workflow/workflow.h"

namespace dovetail::workflow {

/// An edge from the task that writes a key to each that reads it; by (to, from). A key that several write counts for
/// the last of them.
std::vector<DataEdge> data_edges_of(const std::vector<Task>& tasks);

/// The tasks, each after those that it reads from; of tasks that could be next the first. Tasks on a cycle, or behind
/// one, are left out.
std::vector<TaskId> topological_order(std::size_t tasks, const std::vector<DataEdge>& edges);

}  // namespace dovetail::workflow
