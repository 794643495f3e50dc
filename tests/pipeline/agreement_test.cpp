// The evaluator works on the lowered graph, the validator on the problem, and they share no code. These tests compare
// them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/random_problem.h"

namespace dovetail::pipeline {
namespace {

/// Returns a lowering in which each backward of a split model is whole or split at random.
Lowering random_lowering(const Problem& problem, base::Random& random) {
  std::vector<bool> whole(lower(problem, BackwardForm::whole).microbatch_ops.size());
  for (std::size_t index = 0; index < whole.size(); ++index) whole[index] = random.below(2) == 0;
  return lower(problem, whole);
}

/// Returns a random order without deadlock: ops drawn one by one from those whose predecessors are all drawn.
Order random_order(const OpGraph& graph, base::Random& random) {
  Order order;
  order.devices.resize(static_cast<std::size_t>(graph.devices));
  std::vector<std::size_t> waits(graph.size());
  std::vector<OpId> ready;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    waits[op] = graph.predecessors(OpId(op)).size();
    if (waits[op] == 0) ready.push_back(OpId(op));
  }
  while (!ready.empty()) {
    std::swap(ready[random.below(static_cast<std::uint32_t>(ready.size()))], ready.back());
    const OpId op = ready.back();
    ready.pop_back();
    order.devices[graph.device[op.index()].index()].push_back(op);
    for (const Arc& arc : graph.successors(op))
      if (--waits[arc.op.index()] == 0) ready.push_back(arc.op);
  }
  return order;
}

/// Whether start times satisfy every arc of the graph and no two ops of a device overlap. The validator must reach the
/// same result.
bool keeps_the_graph(const OpGraph& graph, const std::vector<Ticks>& start) {
  const auto end = [&](std::size_t op) { return start[op] + graph.duration[op]; };
  for (std::size_t op = 0; op < graph.size(); ++op) {
    if (start[op] < Ticks(0)) return false;
    for (const Arc& arc : graph.predecessors(OpId(op)))
      if (start[op] < end(arc.op.index()) + arc.lag) return false;
    for (std::size_t other = 0; other < graph.size(); ++other) {
      const bool apart = end(op) <= start[other] || end(other) <= start[op];
      if (op != other && graph.device[op] == graph.device[other] && !apart) return false;
    }
  }
  return true;
}

RC_GTEST_PROP(Agreement, ValidatorAcceptsEvaluatorTimes, (std::uint64_t seed)) {
  const Problem problem = *test::problems();
  base::Random random(seed, 0);
  const Lowering lowering = random_lowering(problem, random);
  const auto evaluation = evaluate(lowering.graph, random_order(lowering.graph, random));
  RC_ASSERT(evaluation.ok());
  // The claims are the makespan and peak of the evaluator; the validator computes its own.
  const auto violation = validate(to_schedule(problem, lowering.graph, *evaluation));
  if (violation) RC_FAIL(violation->message);
}

RC_GTEST_PROP(Agreement, AgreesOnEverySmallShift, (std::uint64_t seed)) {
  test::RandomProblemOptions options;
  options.max_ops = 60;
  const Problem problem = *test::problems(options);
  base::Random random(seed, 1);
  const Lowering lowering = random_lowering(problem, random);
  const auto evaluation = evaluate(lowering.graph, random_order(lowering.graph, random));
  for (std::size_t op = 0; op < lowering.graph.size(); ++op)
    for (const std::int64_t shift : {-1, 1, 3}) {
      std::vector<Ticks> start = evaluation->start;
      start[op] += Ticks(shift);
      Schedule schedule = to_schedule(problem, lowering.graph, evaluate(lowering.graph, start));
      RC_ASSERT(keeps_the_graph(lowering.graph, start) == !validate(schedule).has_value());
    }
}

}  // namespace
}  // namespace dovetail::pipeline
