#include "plan/pin.h"

#include "plan/plan_file_words.h"

namespace dovetail::plan {
namespace {

template <class T>
void put(const std::optional<T>& fixed, T& value) {
  if (fixed) value = *fixed;
}

}  // namespace

bool admits(const TaskPin& pin, const cluster::Mesh& mesh) { return !pin.mesh || *pin.mesh == mesh; }

bool admits(const TaskPin& pin, const llm::Layout& layout) {
  for (const DegreeWord& word : degree_words)
    if (const auto& fixed = pin.*word.fixed; fixed && *fixed != layout.*word.member) return false;
  return true;
}

bool agrees(const TaskPin& pin, const TaskPlan& plan) {
  TaskPlan with_pin = plan;
  apply(pin, with_pin);
  return with_pin == plan;
}

void apply(const TaskPin& pin, TaskPlan& plan) {
  put(pin.mesh, plan.mesh);
  for (const DegreeWord& word : degree_words) put(pin.*word.fixed, plan.layout.*word.member);
  put(pin.zero, plan.layout.zero);
  put(pin.sequence_parallel, plan.layout.sequence_parallel);
  put(pin.recomputation, plan.layout.recomputation);
  put(pin.stage_layers, plan.layout.stage_layers);
  put(pin.micro_batching, plan.micro_batching);
  put(pin.engine.memory_utilization, plan.engine.memory_utilization);
  put(pin.engine.max_num_seqs, plan.engine.max_num_seqs);
  put(pin.engine.max_num_batched_tokens, plan.engine.max_num_batched_tokens);
  put(pin.engine.chunked_prefill, plan.engine.chunked_prefill);
  put(pin.engine.longest_first, plan.engine.longest_first);
  put(pin.engine.cuda_graphs, plan.engine.cuda_graphs);
  put(pin.engine.own_weights, plan.engine.own_weights);
  put(pin.offload, plan.offload);
}

}  // namespace dovetail::plan
