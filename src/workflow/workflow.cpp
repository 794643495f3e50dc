#include "workflow/workflow.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/assert.h"
#include "workflow/workflow_edges.h"

namespace dovetail::workflow {
namespace {

/// The index of the thing of that name.
template <class IdType, class Named>
std::optional<IdType> find_named(const std::vector<Named>& named, std::string_view name) {
  const auto found = std::find_if(named.begin(), named.end(), [&](const Named& thing) { return thing.name == name; });
  if (found == named.end()) return std::nullopt;
  return IdType(static_cast<std::size_t>(found - named.begin()));
}

}  // namespace

Workflow make_workflow(std::string name, std::vector<Role> roles, std::vector<Task> tasks) {
  DOVETAIL_ASSERT(!find_fault(roles, tasks));
  Workflow workflow;
  workflow.name = std::move(name);
  workflow.roles = std::move(roles);
  workflow.tasks = std::move(tasks);
  workflow.data_edges = data_edges_of(workflow.tasks);
  workflow.order = topological_order(workflow.tasks.size(), workflow.data_edges);
  workflow.trained_by.resize(workflow.roles.size());
  for (std::size_t i = 0; i < workflow.tasks.size(); ++i) {
    const std::optional<RoleId> role = find_role(workflow, workflow.tasks[i].role);
    workflow.role_of.push_back(role);
    if (workflow.tasks[i].kind == TaskKind::train) workflow.trained_by[role->index()] = TaskId(i);
  }
  return workflow;
}

std::vector<VersionEdge> version_edges(const Workflow& workflow, int steps_off_policy) {
  DOVETAIL_ASSERT(steps_off_policy >= 0);
  std::vector<VersionEdge> edges;
  for (std::size_t i = 0; i < workflow.tasks.size(); ++i) {
    if (!workflow.role_of[i]) continue;
    const RoleId role = *workflow.role_of[i];
    const std::string& averaged = workflow.roles[role.index()].averaged_from;
    const RoleId source = averaged.empty() ? role : *find_role(workflow, averaged);
    const std::optional<TaskId> train = workflow.trained_by[source.index()];
    if (!train) continue;
    const bool may_be_stale = workflow.tasks[i].kind == TaskKind::generate;
    edges.push_back({*train, TaskId(i), may_be_stale ? 1 + steps_off_policy : 1});
  }
  return edges;
}

std::vector<TaskId> predecessors(const Workflow& workflow, TaskId task) {
  std::vector<TaskId> found;
  for (const DataEdge& edge : workflow.data_edges)
    if (edge.to == task) found.push_back(edge.from);
  return found;
}

std::vector<std::string> dataset_keys(const Workflow& workflow) {
  std::set<std::string_view> known;
  for (const Task& task : workflow.tasks) known.insert(task.outputs.begin(), task.outputs.end());
  std::vector<std::string> keys;
  for (const Task& task : workflow.tasks)
    for (const std::string& key : task.inputs)
      if (known.insert(key).second) keys.push_back(key);
  return keys;
}

std::optional<RoleId> find_role(const Workflow& workflow, std::string_view name) {
  return find_named<RoleId>(workflow.roles, name);
}

std::optional<TaskId> find_task(const Workflow& workflow, std::string_view name) {
  return find_named<TaskId>(workflow.tasks, name);
}

}  // namespace dovetail::workflow
