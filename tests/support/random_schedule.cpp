#include "support/random_schedule.h"

#include <random>
#include <vector>

#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::test {
namespace {

using namespace pipeline;

/// Returns the ops of a graph in a random order in which each follows its predecessors.
std::vector<OpId> random_topological_order(const OpGraph& graph, std::mt19937_64& random) {
  std::vector<std::size_t> waits(graph.size());
  std::vector<OpId> ready;
  std::vector<OpId> order;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    waits[op] = graph.predecessors(OpId(op)).size();
    if (waits[op] == 0) ready.emplace_back(op);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const OpId op = ready.back();
    ready.pop_back();
    order.push_back(op);
    for (const Arc& arc : graph.successors(op))
      if (--waits[arc.op.index()] == 0) ready.push_back(arc.op);
  }
  return order;
}

}  // namespace

Schedule random_schedule(const Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::size_t slots = 0;
  for (const Model& model : problem.models)
    slots += model.replicas.size() * model.forward.size() * static_cast<std::size_t>(model.total_microbatches());
  std::vector<bool> whole(slots);
  for (std::size_t i = 0; i < slots; ++i) whole[i] = random() % 3 == 0;
  const Lowering lowering = lower(problem, whole);
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (const OpId op : random_topological_order(lowering.graph, random))
    order.devices[lowering.graph.device[op.index()].index()].push_back(op);
  return to_schedule(problem, lowering.graph, *evaluate(lowering.graph, order));
}

}  // namespace dovetail::test
