#include "workflow/workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/fields.h"

namespace dovetail::workflow {
namespace {

/// Returns the data edges of tasks, which need not be a valid workflow: from the task that writes a key to each task
/// that reads it, ordered by (to, from). If several tasks write a key, the last one counts.
std::vector<DataEdge> data_edges_of(const std::vector<Task>& tasks) {
  std::map<std::string_view, TaskId> producers;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const std::string& key : tasks[i].outputs) producers[key] = TaskId(i);
  std::vector<DataEdge> edges;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::map<TaskId, std::vector<std::string>> keys_from;
    for (const std::string& key : tasks[i].inputs)
      if (const auto producer = producers.find(key); producer != producers.end())
        keys_from[producer->second].push_back(key);
    for (auto& [from, keys] : keys_from) edges.push_back({from, TaskId(i), std::move(keys)});
  }
  return edges;
}

/// Returns the tasks in topological order, with ties by index. Tasks on a cycle, or that depend on one, are left out.
std::vector<TaskId> topological_order(std::size_t tasks, const std::vector<DataEdge>& edges) {
  std::vector<std::size_t> waits_for(tasks, 0);
  for (const DataEdge& edge : edges) ++waits_for[edge.to.index()];
  std::set<TaskId> ready;
  for (std::size_t i = 0; i < tasks; ++i)
    if (waits_for[i] == 0) ready.insert(TaskId(i));
  std::vector<TaskId> order;
  while (!ready.empty()) {
    const TaskId next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const DataEdge& edge : edges)
      if (edge.from == next && --waits_for[edge.to.index()] == 0) ready.insert(edge.to);
  }
  return order;
}

using Fault = std::optional<WorkflowFault>;

std::string joined_names(const auto& named) {
  std::vector<std::string_view> names;
  for (const auto& element : named) names.emplace_back(element.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Role* role_named(const std::vector<Role>& roles, std::string_view name) {
  const auto found = std::find_if(roles.begin(), roles.end(), [&](const Role& role) { return role.name == name; });
  return found == roles.end() ? nullptr : &*found;
}

bool is_trained(const std::vector<Task>& tasks, std::string_view role) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const Task& task) { return task.kind == TaskKind::train && task.role == role; });
}

/// Returns the first mistake in the names of roles or tasks.
template <class Named>
Fault find_name_fault(const std::vector<Named>& named, std::string_view what, bool in_roles) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!base::is_name(named[i].name))
      return WorkflowFault{in_roles, i, "name", 0,
                           fmt::format("the name of a {} is empty or has a control character; accepted: a non-empty "
                                       "name without control characters",
                                       what)};
    if (!names.insert(named[i].name).second)
      return WorkflowFault{
          in_roles, i, "name", 0,
          fmt::format("two {}s have the name `{}`; accepted: a different name for each", what, named[i].name)};
  }
  return std::nullopt;
}

/// Checks the roles.
class RoleCheck {
 public:
  RoleCheck(const std::vector<Role>& roles, const std::vector<Task>& tasks) : roles_(roles), tasks_(tasks) {}

  Fault run() const {
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      for (const auto check :
           {&RoleCheck::find_start_fault, &RoleCheck::find_average_fault, &RoleCheck::find_use_fault})
        if (Fault fault = (this->*check)(i)) return fault;
    }
    return std::nullopt;
  }

 private:
  static Fault fault_at(std::size_t index, std::string_view key, std::string message) {
    return WorkflowFault{true, index, key, 0, std::move(message)};
  }

  Fault find_start_fault(std::size_t index) const {
    const Role& role = roles_[index];
    const Role* start = &role;
    // Ignores a cycle that does not contain this role, and an unknown role further along: both are reported elsewhere.
    for (std::size_t steps = 0; steps < roles_.size() && !start->initialised_from.empty(); ++steps) {
      const Role* next = role_named(roles_, start->initialised_from);
      if (next == &role)
        return fault_at(
            index, "initialised_from",
            fmt::format(
                "role `{}` is initialized from itself, directly or through other roles; accepted: no such cycle",
                role.name));
      if (next == nullptr && start != &role) break;
      if (next == nullptr)
        return fault_at(index, "initialised_from",
                        fmt::format("role `{}` is initialized from the unknown role `{}`; accepted: one of {}",
                                    role.name, role.initialised_from, joined_names(roles_)));
      start = next;
    }
    return std::nullopt;
  }

  Fault find_average_fault(std::size_t index) const {
    const Role& role = roles_[index];
    if (role.averaged_from.empty()) {
      if (role.decay == 0.0) return std::nullopt;
      return fault_at(
          index, "decay",
          fmt::format(
              "role `{}` has a decay but is not an average; accepted: both `averaged_from` and `decay`, or neither",
              role.name));
    }
    if (role_named(roles_, role.averaged_from) == nullptr || !is_trained(tasks_, role.averaged_from))
      return fault_at(
          index, "averaged_from",
          fmt::format(
              "role `{}` is an average of `{}`, which is not a trained role; accepted: a role with a train task",
              role.name, role.averaged_from));
    if (is_trained(tasks_, role.name))
      return fault_at(index, "averaged_from",
                      fmt::format("role `{}` is an average and has a train task; accepted: one of the two", role.name));
    if (!(role.decay >= 0.0 && role.decay < 1.0))
      return fault_at(
          index, "decay",
          fmt::format("the decay of role `{}` is {}; accepted: at least 0 and less than 1", role.name, role.decay));
    return std::nullopt;
  }

  Fault find_use_fault(std::size_t index) const {
    const std::string& name = roles_[index].name;
    const bool used =
        std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) { return task.role == name; }) ||
        std::any_of(roles_.begin(), roles_.end(), [&](const Role& other) { return other.initialised_from == name; });
    if (used) return std::nullopt;
    return fault_at(
        index, "name",
        fmt::format("role `{}` is not used; accepted: roles that a task uses, or that another role is initialized from",
                    name));
  }

  const std::vector<Role>& roles_;
  const std::vector<Task>& tasks_;
};

/// Checks each task, and pairs of tasks.
class TaskCheck {
 public:
  TaskCheck(const std::vector<Role>& roles, const std::vector<Task>& tasks) : roles_(roles), tasks_(tasks) {}

  Fault run() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (Fault fault = find_role_fault(i)) return fault;
      if (Fault fault = find_key_fault(i, "inputs", tasks_[i].inputs)) return fault;
      if (Fault fault = find_key_fault(i, "outputs", tasks_[i].outputs)) return fault;
      if (Fault fault = find_producer_fault(i)) return fault;
      if (Fault fault = find_amount_fault(i)) return fault;
    }
    return std::nullopt;
  }

 private:
  static Fault fault_at(std::size_t index, std::string_view key, std::string message, std::size_t item = 0) {
    return WorkflowFault{false, index, key, item, std::move(message)};
  }

  Fault find_role_fault(std::size_t index) {
    const Task& task = tasks_[index];
    const bool is_rule = task.kind == TaskKind::rule;
    if (is_rule != task.role.empty())
      return fault_at(index, is_rule ? "role" : "",
                      fmt::format("task `{}` {}", task.name,
                                  is_rule ? "is a rule and has a role; accepted: no `role`, or another kind"
                                          : "has no role; accepted: a `role`, or `kind: rule`"));
    if (!is_rule && role_named(roles_, task.role) == nullptr)
      return fault_at(index, "role",
                      fmt::format("task `{1}` has the unknown role `{0}`; accepted: one of {2}", task.role, task.name,
                                  joined_names(roles_)));
    if (task.kind != TaskKind::train) return std::nullopt;
    const auto [other, is_first] = trained_.try_emplace(task.role, task.name);
    if (is_first) return std::nullopt;
    return fault_at(index, "role",
                    fmt::format("role `{}` is trained by `{}` and `{}`; accepted: one train task for each role",
                                task.role, other->second, task.name));
  }

  static Fault find_key_fault(std::size_t index, std::string_view member, const std::vector<std::string>& keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!base::is_name(keys[i]))
        return fault_at(
            index, member,
            "a key is empty or has a control character; accepted: a non-empty key without control characters", i);
      if (std::find(keys.begin(), keys.end(), keys[i]) != keys.begin() + static_cast<std::ptrdiff_t>(i))
        return fault_at(index, member, fmt::format("the key `{}` appears twice; accepted: each key once", keys[i]), i);
    }
    return std::nullopt;
  }

  Fault find_producer_fault(std::size_t index) {
    const Task& task = tasks_[index];
    for (std::size_t i = 0; i < task.outputs.size(); ++i) {
      const auto [other, is_first] = producers_.try_emplace(task.outputs[i], task.name);
      if (!is_first)
        return fault_at(index, "outputs",
                        fmt::format("the key `{}` is written by `{}` and `{}`; accepted: one task that writes each key",
                                    task.outputs[i], other->second, task.name),
                        i);
    }
    return std::nullopt;
  }

  Fault find_amount_fault(std::size_t index) const {
    const Task& task = tasks_[index];
    if (task.sequences.count < 1)
      return fault_at(index, "sequences",
                      fmt::format("task `{}` has {} sequences; accepted: at least 1", task.name, task.sequences.count));
    if (task.extra_tokens < 0 || (task.extra_tokens > 0 && task.kind != TaskKind::train))
      return fault_at(index, "extra_tokens",
                      fmt::format("task `{}` has {} extra tokens; accepted: at least 0, and only for train tasks",
                                  task.name, task.extra_tokens));
    if (task.time_per_sequence < base::Ticks(0) ||
        (task.time_per_sequence > base::Ticks(0) && task.kind != TaskKind::rule))
      return fault_at(
          index, "seconds",
          fmt::format("task `{}` has an invalid time per sequence; accepted: at least 0, and only for rules",
                      task.name));
    return std::nullopt;
  }

  const std::vector<Role>& roles_;
  const std::vector<Task>& tasks_;
  std::map<std::string_view, std::string_view> trained_;    ///< role -> its train task
  std::map<std::string_view, std::string_view> producers_;  ///< key -> the task that writes it
};

/// Finds a cycle of data edges.
Fault find_cycle(const std::vector<Task>& tasks) {
  const std::vector<DataEdge> edges = data_edges_of(tasks);
  std::vector<bool> sorted(tasks.size(), false);
  for (const TaskId task : topological_order(tasks.size(), edges)) sorted[task.index()] = true;
  const auto first = std::find(sorted.begin(), sorted.end(), false);
  if (first == sorted.end()) return std::nullopt;
  // Every unsorted task depends on another unsorted task, so following these dependencies leads into a cycle.
  std::vector<TaskId> path{TaskId(static_cast<std::size_t>(first - sorted.begin()))};
  std::size_t begin = 0;  // start of the cycle in the path
  while (true) {
    const auto waits = std::find_if(edges.begin(), edges.end(), [&](const DataEdge& edge) {
      return edge.to == path.back() && !sorted[edge.from.index()];
    });
    begin = static_cast<std::size_t>(std::find(path.begin(), path.end(), waits->from) - path.begin());
    if (begin < path.size()) break;
    path.push_back(waits->from);
  }
  std::string text = fmt::format("the tasks wait for each other: `{}` reads from", tasks[path[begin].index()].name);
  for (std::size_t i = begin + 1; i < path.size(); ++i)
    text += fmt::format(" `{}`, which reads from", tasks[path[i].index()].name);
  text += fmt::format(" `{}`; accepted: a graph without cycles", tasks[path[begin].index()].name);
  return WorkflowFault{false, path[begin].index(), "inputs", 0, text};
}

/// Returns the index of the element with this name.
template <class IdType, class Named>
std::optional<IdType> find_named(const std::vector<Named>& named, std::string_view name) {
  const auto found =
      std::find_if(named.begin(), named.end(), [&](const Named& element) { return element.name == name; });
  if (found == named.end()) return std::nullopt;
  return IdType(static_cast<std::size_t>(found - named.begin()));
}

}  // namespace

Fault find_fault(const std::vector<Role>& roles, const std::vector<Task>& tasks) {
  if (tasks.empty()) return WorkflowFault{false, 0, "", 0, "there are no tasks; accepted: at least one"};
  if (Fault fault = find_name_fault(roles, "role", true)) return fault;
  if (Fault fault = find_name_fault(tasks, "task", false)) return fault;
  if (Fault fault = TaskCheck(roles, tasks).run()) return fault;
  if (Fault fault = RoleCheck(roles, tasks).run()) return fault;
  return find_cycle(tasks);
}

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
