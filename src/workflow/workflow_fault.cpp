// find_fault(): what makes roles and tasks no workflow.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/fields.h"
#include "workflow/workflow.h"
#include "workflow/workflow_edges.h"

namespace dovetail::workflow {
namespace {

using Fault = std::optional<WorkflowFault>;

std::string joined_names(const auto& named) {
  std::vector<std::string_view> names;
  for (const auto& thing : named) names.emplace_back(thing.name);
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

/// Faults of the names of roles, or of tasks.
template <class Named>
Fault find_name_fault(const std::vector<Named>& named, std::string_view what, bool in_roles) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!base::is_name(named[i].name))
      return WorkflowFault{in_roles, i, "name", 0,
                           fmt::format("the name of a {} is empty or has a control character; accepted: a word", what)};
    if (!names.insert(named[i].name).second)
      return WorkflowFault{
          in_roles, i, "name", 0,
          fmt::format("two {}s have the name `{}`; accepted: a name of its own for each", what, named[i].name)};
  }
  return std::nullopt;
}

/// Faults of the roles, given the tasks.
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
    // A cycle that the role only leads into is told at the roles on it, an unknown role where it is named.
    for (std::size_t steps = 0; steps < roles_.size() && !start->initialised_from.empty(); ++steps) {
      const Role* next = role_named(roles_, start->initialised_from);
      if (next == &role)
        return fault_at(index, "initialised_from",
                        fmt::format("role `{}` is initialised from itself; accepted: another role", role.name));
      if (next == nullptr && start != &role) break;
      if (next == nullptr)
        return fault_at(index, "initialised_from",
                        fmt::format("role `{}` is initialised from `{}`, which is no role; accepted: one of {}",
                                    role.name, role.initialised_from, joined_names(roles_)));
      start = next;
    }
    return std::nullopt;
  }

  Fault find_average_fault(std::size_t index) const {
    const Role& role = roles_[index];
    if (role.averaged_from.empty()) {
      if (role.decay == 0.0) return std::nullopt;
      return fault_at(index, "decay",
                      fmt::format("role `{}` has a decay but is no average; accepted: both `averaged_from` and `decay`",
                                  role.name));
    }
    if (role_named(roles_, role.averaged_from) == nullptr || !is_trained(tasks_, role.averaged_from))
      return fault_at(
          index, "averaged_from",
          fmt::format("role `{}` is an average of `{}`, which is no trained role; accepted: a role with a train task",
                      role.name, role.averaged_from));
    if (is_trained(tasks_, role.name))
      return fault_at(index, "averaged_from",
                      fmt::format("role `{}` is an average and has a train task; accepted: either", role.name));
    if (!(role.decay >= 0.0 && role.decay < 1.0))
      return fault_at(
          index, "decay",
          fmt::format("the decay of role `{}` is {}; accepted: at least 0, less than 1", role.name, role.decay));
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
        fmt::format("role `{}` is used by no task; accepted: roles that a task, or another role's start, uses", name));
  }

  const std::vector<Role>& roles_;
  const std::vector<Task>& tasks_;
};

/// Faults of each task by itself and of what two tasks may not both do.
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
                                          : "has no role; accepted: a `role`, or the kind rule"));
    if (!is_rule && role_named(roles_, task.role) == nullptr)
      return fault_at(index, "role",
                      fmt::format("the role `{}` of task `{}` is no role; accepted: one of {}", task.role, task.name,
                                  joined_names(roles_)));
    if (task.kind != TaskKind::train) return std::nullopt;
    const auto [other, is_first] = trained_.try_emplace(task.role, task.name);
    if (is_first) return std::nullopt;
    return fault_at(index, "role",
                    fmt::format("role `{}` is trained by `{}` and `{}`; accepted: one train task of a role", task.role,
                                other->second, task.name));
  }

  static Fault find_key_fault(std::size_t index, std::string_view member, const std::vector<std::string>& keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!base::is_name(keys[i]))
        return fault_at(index, member, "a key is empty or has a control character; accepted: a word", i);
      if (std::find(keys.begin(), keys.end(), keys[i]) != keys.begin() + static_cast<std::ptrdiff_t>(i))
        return fault_at(index, member, fmt::format("the key `{}` stands twice; accepted: each key once", keys[i]), i);
    }
    return std::nullopt;
  }

  Fault find_producer_fault(std::size_t index) {
    const Task& task = tasks_[index];
    for (std::size_t i = 0; i < task.outputs.size(); ++i) {
      const auto [other, is_first] = producers_.try_emplace(task.outputs[i], task.name);
      if (!is_first)
        return fault_at(index, "outputs",
                        fmt::format("the key `{}` is written by `{}` and `{}`; accepted: one task that writes a key",
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
                      fmt::format("task `{}` has {} extra tokens; accepted: at least 0, of a train task", task.name,
                                  task.extra_tokens));
    if (task.time_per_sequence < base::Ticks(0) ||
        (task.time_per_sequence > base::Ticks(0) && task.kind != TaskKind::rule))
      return fault_at(
          index, "seconds",
          fmt::format("task `{}` has a time for each sequence; accepted: at least 0, of a rule", task.name));
    return std::nullopt;
  }

  const std::vector<Role>& roles_;
  const std::vector<Task>& tasks_;
  std::map<std::string_view, std::string_view> trained_;    ///< role -> its train task
  std::map<std::string_view, std::string_view> producers_;  ///< key -> the task that writes it
};

/// A cycle of the data edges, if there is one.
Fault find_cycle(const std::vector<Task>& tasks) {
  const std::vector<DataEdge> edges = data_edges_of(tasks);
  std::vector<bool> sorted(tasks.size(), false);
  for (const TaskId task : topological_order(tasks.size(), edges)) sorted[task.index()] = true;
  const auto first = std::find(sorted.begin(), sorted.end(), false);
  if (first == sorted.end()) return std::nullopt;
  // What could not be sorted waits for another such task: going back along these leads into a cycle.
  std::vector<TaskId> path{TaskId(static_cast<std::size_t>(first - sorted.begin()))};
  std::size_t begin = 0;  // of the cycle in the path
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

}  // namespace

Fault find_fault(const std::vector<Role>& roles, const std::vector<Task>& tasks) {
  if (tasks.empty()) return WorkflowFault{false, 0, "", 0, "there are no tasks; accepted: at least one"};
  if (Fault fault = find_name_fault(roles, "role", true)) return fault;
  if (Fault fault = find_name_fault(tasks, "task", false)) return fault;
  if (Fault fault = TaskCheck(roles, tasks).run()) return fault;
  if (Fault fault = RoleCheck(roles, tasks).run()) return fault;
  return find_cycle(tasks);
}

}  // namespace dovetail::workflow
