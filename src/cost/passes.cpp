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

StageFlops forward_flops(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& tokens) {
  const double multiplications =
      stage.dense * facts.dense_layer + stage.with_experts * facts.routed_layer + (stage.last ? facts.head : 0);
  const double ranks = static_cast<double>(layout.tensor) * layout.context;
  return {2 * multiplications * tokens.count / ranks, stage.layers() * facts.scores * tokens.squares / ranks,
          2 * stage.with_experts * facts.routed * tokens.count / ranks};
}

/// `products` times the matrix products of a forward, and `scores` times its scores.
double compute_seconds(const StageFlops& flops, double products, double scores, const Machine& machine,
                       const Efficiency& efficiency) {
  const double peak = peak_flops(machine.gpu);
  return (products * flops.dense + scores * flops.scores) / (efficiency.matrix_products * peak) +
         products * flops.routed / (efficiency.expert_products * peak);
}

/// Bytes of what stands between two layers, of one context-parallel rank.
double hidden_bytes(const ModelFacts& facts, const llm::Layout& layout, double tokens) {
  return static_cast<double>(facts.model.hidden) * tokens / layout.context * bytes_an_element;
}

/// Tokens on their way to their experts and back, on all layers of a stage that have some.
double exchange_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                        const Machine& machine) {
  if (layout.expert == 1) return 0;
  const double routed =
      hidden_bytes(facts, layout, tokens) / layout.tensor * static_cast<double>(facts.model.experts->active);
  return 2 * stage.with_experts *
         cluster::expert_all_to_all_seconds(machine.links, expert_group(layout, machine), routed, 1.0);
}

double communication_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                             double tokens, const Machine& machine) {
  double seconds = exchange_seconds(facts, layout, stage, tokens, machine);
  if (layout.tensor > 1)
    seconds +=
        2 * stage.layers() *
        cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine), hidden_bytes(facts, layout, tokens));
  if (layout.context > 1) {
    const double elements = static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) /
                            static_cast<double>(facts.model.layers);
    seconds += stage.layers() * cluster::all_gather_seconds(machine.links, context_group(layout, machine),
                                                            elements * tokens * bytes_an_element);
  }
  return seconds;
}

/// Gathering again, for the gradients of weights, the inputs that sequence parallelism kept in parts: half of an
/// all-reduce each.
double gathering_again_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                               double tokens, const Machine& machine) {
  if (layout.tensor == 1) return 0;
  return 2 * stage.layers() *
         cluster::all_gather_seconds(machine.links, tensor_group(layout, machine), hidden_bytes(facts, layout, tokens));
}

/// `times` forwards through the stage, or what takes as long.
PassSeconds with_launch(PassSeconds pass, double times, const StageLayers& stage, const Efficiency& efficiency) {
  const double least = times * stage.layers() * efficiency.layer_launch;
  pass.launch = std::max(0.0, least - pass.compute - pass.communication) +
                times * stage.with_experts * efficiency.expert_launch + efficiency.slot;
  return pass;
}

/// A forward again through the networks of the layers that have experts: router, both kinds of experts, the tokens'
/// way.
PassSeconds experts_again(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                          const Machine& machine, const Efficiency& efficiency) {
  const double ranks = static_cast<double>(layout.tensor) * layout.context;
  const StageFlops flops{2 * stage.with_experts * facts.beside_routed * tokens / ranks, 0,
                         2 * stage.with_experts * facts.routed * tokens / ranks};
  PassSeconds pass;
  pass.compute = compute_seconds(flops, 1, 0, machine, efficiency);
  pass.communication = exchange_seconds(facts, layout, stage, tokens, machine);
  pass.launch = stage.with_experts * efficiency.expert_launch;
  if (layout.tensor == 1) return pass;
  pass.communication += stage.with_experts * cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine),
                                                                         hidden_bytes(facts, layout, tokens));
  return pass;
}

/// How often a pass has a forward's products and scores.
struct PassKind {
  double products = 1;
  double scores = 1;
};
constexpr PassKind forward_kind{};

PassKind backward_kind(const ModelFacts& facts) {
  constexpr double backward_scores = 2.5;
  return {facts.model.adapter_rank > 0 ? 1.0 : 2.0, backward_scores};
}

/// What the seconds of layers are calculated from, of one micro-batch.
struct LayerContext {
  const ModelFacts& facts;
  const llm::Layout& layout;
  const llm::Tokens& tokens;
  const Machine& machine;
  const Efficiency& efficiency;
};

/// The seconds of one layer by its measured table; beyond its range as the roofline goes on, without collectives and
/// never less than launching takes.
double measured_layer(const LayerContext& of, const ProfileTable& table, bool with_experts, const PassKind& kind) {
  StageLayers layer;
  (with_experts ? layer.with_experts : layer.dense) = 1;
  const auto modelled = [&](double count, double length) {
    const StageFlops flops = forward_flops(of.facts, of.layout, layer, {count, count * length});
    return std::max(compute_seconds(flops, kind.products, kind.scores, of.machine, of.efficiency),
                    kind.products * of.efficiency.layer_launch) +
           kind.products * layer.with_experts * of.efficiency.expert_launch;
  };
  return profiled_seconds(table, of.tokens.count, of.tokens.squares / of.tokens.count, modelled);
}

/// Takes the ends that were measured out of `stage`, and gives their seconds: between their points linear, beyond them
/// in proportion to the tokens. Recomputation is of layers alone.
double take_measured_ends(const LayerContext& of, StageLayers& stage, bool backward) {
  if (of.layout.context > 1) return 0;
  double seconds = 0;
  const auto take = [&](bool& is_there, EndProfile LayerProfile::* end) {
    for (const LayerProfile& profile : of.facts.profiles) {
      if (!is_there || profile.gpu != of.machine.gpu.name || profile.tensor != of.layout.tensor) continue;
      const std::vector<ProfilePoint>& points = backward ? (profile.*end).backward : (profile.*end).forward;
      if (points.empty()) continue;
      seconds += profiled_seconds(points, of.tokens.count, [](double tokens) { return tokens; });
      is_there = false;
    }
  };
  take(stage.first, &LayerProfile::embedding);
  take(stage.last, &LayerProfile::head);
  return seconds;
}

/// Takes the layers that were measured out of `stage`, and the ends, and gives their seconds: of a forward, or of a
/// backward with or without a forward again, of which both must be there.
double take_measured(const LayerContext& of, StageLayers& stage, bool backward, bool again) {
  if (of.facts.profiles.empty() || of.tokens.count <= 0) return 0;
  double seconds = take_measured_ends(of, stage, backward);
  for (const bool with_experts : {false, true}) {
    double& layers = with_experts ? stage.with_experts : stage.dense;
    const LayerProfile* profile = find_layer_profile(of.facts.profiles, of.machine.gpu.name, of.layout, with_experts);
    if (layers == 0 || profile == nullptr) continue;
    const bool forward = !backward || again;
    if ((forward && profile->forward.empty()) || (backward && profile->backward.empty())) continue;
    if (forward) seconds += layers * measured_layer(of, profile->forward, with_experts, forward_kind);
    if (backward) seconds += layers * measured_layer(of, profile->backward, with_experts, backward_kind(of.facts));
    layers = 0;
  }
  return seconds;
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

PassSeconds forward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  StageLayers modelled = stage;
  const double measured = take_measured({facts, layout, micro_batch, machine, efficiency}, modelled, false, false);
  PassSeconds pass;
  pass.compute = compute_seconds(forward_flops(facts, layout, modelled, micro_batch), 1, 1, machine, efficiency);
  pass.communication = communication_seconds(facts, layout, stage, micro_batch.count, machine);
  pass = with_launch(pass, 1, modelled, efficiency);
  pass.compute += measured;
  return pass;
}

PassSeconds backward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                          const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  const bool again = layout.recomputation == llm::Recomputation::full;
  const PassKind kind = backward_kind(facts);
  const double products = kind.products + (again ? 1 : 0);
  const double scores = kind.scores + (again ? 1 : 0);
  StageLayers modelled = stage;
  const double measured = take_measured({facts, layout, micro_batch, machine, efficiency}, modelled, true, again);
  PassSeconds pass;
  pass.compute =
      compute_seconds(forward_flops(facts, layout, modelled, micro_batch), products, scores, machine, efficiency);
  pass.communication = (again ? 2 : 1) * communication_seconds(facts, layout, stage, micro_batch.count, machine);
  if (layout.sequence_parallel)
    pass.communication += gathering_again_seconds(facts, layout, stage, micro_batch.count, machine);
  pass = with_launch(pass, products, modelled, efficiency);
  pass.compute += measured;
  if (layout.recomputation == llm::Recomputation::experts)
    pass += experts_again(facts, layout, stage, micro_batch.count, machine, efficiency);
  if (facts.head_again && stage.last && !again) {
    const StageLayers head{.dense = 0, .with_experts = 0, .first = false, .last = true};
    pass.compute += compute_seconds(forward_flops(facts, layout, head, micro_batch), 1, 1, machine, efficiency);
  }
  return pass;
}

PipelineSeconds pipeline_seconds(const std::vector<PassSeconds>& stages, double micro_batches, int virtual_stages,
                                 double hop_seconds, int hops) {
  const auto slowest = std::max_element(stages.begin(), stages.end(),
                                        [](const PassSeconds& a, const PassSeconds& b) { return a.sum() < b.sum(); });
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
