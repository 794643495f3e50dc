#include "workflow/workflow_edges.h"

#include <map>
#include <set>
#include <utility>

namespace dovetail::workflow {

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

}  // namespace dovetail::workflow
