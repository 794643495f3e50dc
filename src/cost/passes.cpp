#include "cost/passes.h"

#include <algorithm>

namespace dovetail::cost {
namespace {

constexpr double bytes_an_element = 2;  // of bf16 and fp16

/// FLOPs of a stage's forward on one rank: of dense products, of attention's scores, and of routed experts.
struct StageFlops {
  double dense = 0;
  double scores = 0;
  double routed = 0;
};

StageFlops forward_flops(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, const llm::Tokens& tokens) {
  const double multiplications = stage.dense * facts.dense_layer + stage.with_experts * facts.routed_layer + (stage.last ? facts.head : 0);
  const double ranks = static_cast<double>(layout.tensor) * layout.context;
  return {2 * multiplications * tokens.count / ranks, stage.layers() * facts.scores * tokens.squares / ranks,
          2 * stage.with_experts * facts.routed * tokens.count / ranks};
}

/// `products` times the matrix products of a forward, and `scores` times its scores.
double compute_seconds(const StageFlops& flops, double products, double scores, const Machine& machine, const Efficiency& efficiency) {
  const double peak = peak_flops(machine.gpu);
  return (products * flops.dense + scores * flops.scores) / (efficiency.matrix_products * peak) +
         products * flops.routed / (efficiency.expert_products * peak);
}

double communication_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                             const Machine& machine) {
  const double own = tokens / layout.context;
  const double hidden = static_cast<double>(facts.model.hidden) * own * bytes_an_element;
  double seconds = 0;
  if (layout.tensor > 1) seconds += 2 * stage.layers() * cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine), hidden);
  if (layout.context > 1) {
    const double elements =
        static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) / static_cast<double>(facts.model.layers);
    seconds +=
        stage.layers() * cluster::all_gather_seconds(machine.links, context_group(layout, machine), elements * tokens * bytes_an_element);
  }
  if (layout.expert > 1) {
    const double routed = hidden / layout.tensor * static_cast<double>(facts.model.experts->active);
    seconds += 2 * stage.with_experts * cluster::expert_all_to_all_seconds(machine.links, expert_group(layout, machine), routed, 1.0);
  }
  return seconds;
}

/// Gathering again, for the gradients of weights, the inputs that sequence parallelism kept in parts: half of an all-reduce each.
double gathering_again_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                               const Machine& machine) {
  if (layout.tensor == 1) return 0;
  const double hidden = static_cast<double>(facts.model.hidden) * tokens / layout.context * bytes_an_element;
  return 2 * stage.layers() * cluster::all_gather_seconds(machine.links, tensor_group(layout, machine), hidden);
}

/// `times` forwards through the stage, or what takes as long.
PassSeconds with_launch(PassSeconds pass, double times, const StageLayers& stage, const Efficiency& efficiency) {
  const double least = times * stage.layers() * efficiency.layer_launch;
  pass.launch =
      std::max(0.0, least - pass.compute - pass.communication) + times * stage.with_experts * efficiency.expert_launch + efficiency.slot;
  return pass;
}

}  // namespace

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  compute += other.compute;
  communication += other.communication;
  launch += other.launch;
  return *this;
}

PassSeconds operator*(double factor, PassSeconds seconds) {
  return {factor * seconds.compute, factor * seconds.communication, factor * seconds.launch};
}

PassSeconds forward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, const llm::Tokens& micro_batch,
                         const Machine& machine, const Efficiency& efficiency) {
  PassSeconds pass;
  pass.compute = compute_seconds(forward_flops(facts, layout, stage, micro_batch), 1, 1, machine, efficiency);
  pass.communication = communication_seconds(facts, layout, stage, micro_batch.count, machine);
  return with_launch(pass, 1, stage, efficiency);
}

PassSeconds backward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, const llm::Tokens& micro_batch,
                          const Machine& machine, const Efficiency& efficiency) {
  const bool again = layout.recomputation == llm::Recomputation::full;
  const double products = (facts.model.adapter_rank > 0 ? 1 : 2) + (again ? 1 : 0);
  constexpr double backward_scores = 2.5;
  const double scores = backward_scores + (again ? 1 : 0);
  const StageFlops flops = forward_flops(facts, layout, stage, micro_batch);
  PassSeconds pass;
  pass.compute = compute_seconds(flops, products, scores, machine, efficiency);
  pass.communication = (again ? 2 : 1) * communication_seconds(facts, layout, stage, micro_batch.count, machine);
  if (layout.sequence_parallel) pass.communication += gathering_again_seconds(facts, layout, stage, micro_batch.count, machine);
  return with_launch(pass, products, stage, efficiency);
}

PipelineSeconds pipeline_seconds(const std::vector<PassSeconds>& stages, double micro_batches, int virtual_stages, double hop_seconds,
                                 int hops) {
  const auto slowest =
      std::max_element(stages.begin(), stages.end(), [](const PassSeconds& a, const PassSeconds& b) { return a.sum() < b.sum(); });
  double once = 0;
  for (const PassSeconds& stage : stages) once += stage.sum();
  PipelineSeconds pipeline;
  pipeline.slowest = micro_batches * *slowest;
  pipeline.bubbles = (once - slowest->sum()) / virtual_stages;
  pipeline.transfers = hop_seconds * hops;
  pipeline.seconds = pipeline.slowest.sum() + pipeline.bubbles + pipeline.transfers;
  return pipeline;
}

}  // namespace dovetail::cost
