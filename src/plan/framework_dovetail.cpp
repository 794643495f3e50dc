#include "plan/framework_rules.h"

namespace dovetail::plan {

using workflow::TaskKind;

Framework dovetail_framework() {
  using llm::Layout, llm::Recomputation, llm::Transformer;
  Framework framework;
  framework.name = "dovetail";
  framework.training = "dovetail";
  framework.intra_stage = true;
  framework.not_computed = {
      {"experts", [](const Transformer& model) { return model.experts.has_value(); }},
      {"latent attention", [](const Transformer& model) { return model.latent.has_value(); }},
      {"adapters", [](const Transformer& model) { return model.adapter_rank > 0; }},
      {"layer normalization",
       [](const Transformer& model) { return model.normalization != llm::Normalization::root_mean_square; }},
      {"a feed-forward network without a gate",
       [](const Transformer& model) { return model.feed_forward != llm::FeedForward::gated; }},
      {"learned positions", [](const Transformer& model) { return model.positions > 0; }}};
  framework.computed = "dense models of the families llama, mistral, qwen2 and qwen3, without adapters";
  // Generation and inference hold the whole model on each device.
  framework.rules = {on_all_devices(),
                     layout<&Layout::tensor, 1>(),
                     layout<&Layout::pipeline, 1>(TaskKind::generate),
                     layout<&Layout::pipeline, 1>(TaskKind::infer),
                     layout<&Layout::context, 1>(),
                     layout<&Layout::expert, 1>(),
                     layout<&Layout::expert_tensor, 1>(),
                     layout<&Layout::virtual_stages, 1>(TaskKind::generate),
                     layout<&Layout::virtual_stages, 1>(TaskKind::infer),
                     layout<&Layout::zero, 0, 1>(TaskKind::train),
                     layout<&Layout::zero, 0>(TaskKind::generate),
                     layout<&Layout::zero, 0>(TaskKind::infer),
                     layout<&Layout::sequence_parallel, false>(),
                     layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(),
                     engine<&Engine::cuda_graphs, false>(),
                     engine<&Engine::longest_first, false>(),
                     engine<&Engine::own_weights, false>(),
                     no_offload()};
  return framework;
}

}  // namespace dovetail::plan
