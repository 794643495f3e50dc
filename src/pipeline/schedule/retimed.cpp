#include "pipeline/schedule/retimed.h"

#include <vector>

#include "base/assert.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

/// Of each micro-batch of a stage, as pipeline::lower takes it.
std::vector<bool> whole_backwards(const Lowering& lowering) {
  std::vector<bool> whole;
  for (const MicrobatchOps& ops : lowering.microbatch_ops)
    whole.push_back(traits_of(lowering.graph.labels[ops.backward.index()].kind).backward == BackwardPart::whole);
  return whole;
}

}  // namespace

base::Result<Schedule> retimed(const Schedule& schedule, const Problem& problem) {
  if (const auto fault = find_fault(problem)) return base::bad_input(*fault);
  const LoweredSchedule given = evaluate(schedule);
  const OpGraph graph = lower(problem, whole_backwards(given.lowering)).graph;
  const base::Result<Evaluation> earliest = evaluate(graph, given.order);
  DOVETAIL_ASSERT(earliest.ok());
  return to_schedule(problem, graph, *earliest);
}

}  // namespace dovetail::pipeline
