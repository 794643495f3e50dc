#include "plan/iteration_order.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::plan {
namespace {

/// [activity] whether the iteration has to run it before or as one of `tasks`.
std::vector<bool> needed_for(const IterationGraph& graph, const std::vector<std::size_t>& tasks) {
  std::vector<bool> needed(graph.activities.size(), false);
  std::vector<std::size_t> open = tasks;
  while (!open.empty()) {
    const std::size_t activity = open.back();
    open.pop_back();
    if (needed[activity]) continue;
    needed[activity] = true;
    for (const ActivityEdge& edge : graph.edges)
      if (edge.to == activity && edge.iterations == 0) open.push_back(edge.from);
  }
  return needed;
}

/// [activity] whether it waits for nothing of its own iteration.
std::vector<bool> first_activities(const IterationGraph& graph) {
  std::vector<bool> first(graph.activities.size(), true);
  for (const ActivityEdge& edge : graph.edges)
    if (edge.iterations == 0) first[edge.to] = false;
  return first;
}

void add_barrier(IterationGraph& graph, const std::vector<std::size_t>& tasks) {
  std::vector<bool> waits = needed_for(graph, tasks);
  waits.flip();
  const bool between_iterations = std::find(waits.begin(), waits.end(), true) == waits.end();
  if (between_iterations) waits = first_activities(graph);
  for (const std::size_t task : tasks)
    for (std::size_t activity = 0; activity < waits.size(); ++activity)
      if (waits[activity]) graph.edges.push_back({task, activity, between_iterations ? 1 : 0});
}

}  // namespace

void add_order(IterationGraph& graph, const IterationOrder& order) {
  if (order.empty()) return;
  for (const IterationOrder::Edge& edge : order.edges) graph.edges.push_back({edge.from, edge.to, edge.iterations});
  for (const std::vector<std::size_t>& tasks : order.barriers) add_barrier(graph, tasks);
  DOVETAIL_ASSERT(!has_circle(graph));
}

bool has_circle(const IterationGraph& graph) {
  std::vector<std::size_t> waits_for(graph.activities.size(), 0);
  for (const ActivityEdge& edge : graph.edges)
    if (edge.iterations == 0) ++waits_for[edge.to];
  std::vector<std::size_t> ready;
  for (std::size_t activity = 0; activity < waits_for.size(); ++activity)
    if (waits_for[activity] == 0) ready.push_back(activity);
  for (std::size_t done = 0; done < ready.size(); ++done)
    for (const ActivityEdge& edge : graph.edges)
      if (edge.iterations == 0 && edge.from == ready[done] && --waits_for[edge.to] == 0) ready.push_back(edge.to);
  return ready.size() < waits_for.size();
}

}  // namespace dovetail::plan
