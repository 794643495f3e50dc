// The order that a trainer gives the activities of an iteration, beside what data and weights ask for.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// Empty: the ideal order, in which each activity begins as soon as what it uses is there and its devices are free.
/// Tasks are those of the workflow, by number.
struct IterationOrder {
  /// Task `to` of iteration k + iterations waits for task `from` of iteration k.
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    int iterations = 0;
  };
  std::vector<Edge> edges;

  /// [barrier] tasks: nothing else of the iteration begins before all of them have ended, but what they wait for
  /// themselves. Where that is all there is, nothing of the next iteration begins before. "First generation, then
  /// inference, then training" is two barriers, of generation and of inference, and a third, of training, between
  /// iterations.
  std::vector<std::vector<std::size_t>> barriers;

  bool empty() const { return edges.empty() && barriers.empty(); }
};

/// Lets the activities of the graph wait as the order says. REQUIRES: nothing is within another activity yet; edges
/// make no circle with the graph's.
void add_order(IterationGraph& graph, const IterationOrder& order);

/// Whether some activity of an iteration waits for itself.
bool has_circle(const IterationGraph& graph);

}  // namespace dovetail::plan
