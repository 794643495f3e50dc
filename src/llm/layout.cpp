#include "llm/layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/descriptor_file.h"

namespace dovetail::llm {
namespace {

/// Returns the layers of each chunk of the model, in forward order.
std::vector<int> layers_of_chunks(const Layout& layout, const Transformer& model) {
  const int chunks = layout.pipeline * layout.virtual_stages;
  std::vector<int> layers(static_cast<std::size_t>(chunks));
  if (!layout.stage_layers.empty()) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int of_stage = layout.stage_layers[static_cast<std::size_t>(chunk % layout.pipeline)];
      const int turn = chunk / layout.pipeline;
      layers[static_cast<std::size_t>(chunk)] =
          of_stage / layout.virtual_stages + (turn < of_stage % layout.virtual_stages ? 1 : 0);
    }
    return layers;
  }
  for (int chunk = 0; chunk < chunks; ++chunk)
    layers[static_cast<std::size_t>(chunk)] =
        static_cast<int>(model.layers / chunks + (chunk < model.layers % chunks ? 1 : 0));
  return layers;
}

std::optional<std::string> find_expert_fault(const Layout& layout, const Transformer& model) {
  if (!model.experts) {
    if (layout.expert > 1 || layout.expert_tensor > 1)
      return "the model has no experts for expert parallelism; accepted: ep 1 and etp 1";
    return std::nullopt;
  }
  const std::int64_t ranks = std::int64_t{layout.data} * layout.context * layout.tensor;
  if (model.experts->count % layout.expert != 0)
    return fmt::format("{} experts cannot be divided evenly among {} expert-parallel ranks; accepted: a divisor of {}",
                       model.experts->count, layout.expert, model.experts->count);
  const std::int64_t expert_ranks = std::int64_t{layout.expert} * layout.expert_tensor;
  if (ranks % expert_ranks != 0)
    return fmt::format("ep x etp = {} does not divide the {} devices of a stage; accepted: a divisor of {}",
                       expert_ranks, ranks, ranks);
  return std::nullopt;
}

std::optional<std::string> find_stage_fault(const Layout& layout, const Transformer& model) {
  const std::int64_t chunks = std::int64_t{layout.pipeline} * layout.virtual_stages;
  if (chunks > model.layers)
    return fmt::format("pp x vpp = {} exceeds the {} layers of {}; accepted: at most {}", chunks, model.layers,
                       model.name, model.layers);
  if (layout.virtual_stages > 1 && layout.pipeline == 1)
    return "virtual stages need a pipeline; accepted: vpp 1, or pp of at least 2";
  if (layout.stage_layers.empty()) return std::nullopt;
  if (layout.stage_layers.size() != static_cast<std::size_t>(layout.pipeline))
    return fmt::format("stage_layers has {} values; accepted: one for each of {} stages", layout.stage_layers.size(),
                       layout.pipeline);
  if (std::any_of(layout.stage_layers.begin(), layout.stage_layers.end(), [](int layers) { return layers < 0; }))
    return "a stage has a negative number of layers; accepted: 0 or more";
  const std::int64_t sum = std::accumulate(layout.stage_layers.begin(), layout.stage_layers.end(), std::int64_t{0});
  if (sum != model.layers)
    return fmt::format("stage_layers add up to {}; accepted: the {} layers of {}", sum, model.layers, model.name);
  return std::nullopt;
}

}  // namespace

Coordinates coordinates_of(const Layout& layout, int rank) {
  Coordinates place;
  place.tensor = rank % layout.tensor;
  rank /= layout.tensor;
  place.context = rank % layout.context;
  rank /= layout.context;
  place.data = rank % layout.data;
  place.pipeline = rank / layout.data;
  return place;
}

int rank_of(const Layout& layout, const Coordinates& place) {
  return ((place.pipeline * layout.data + place.data) * layout.context + place.context) * layout.tensor + place.tensor;
}

ExpertPlace expert_place(const Layout& layout, const Coordinates& place) {
  const int within = (place.data * layout.context + place.context) * layout.tensor + place.tensor;
  const int part = within % layout.expert_tensor;
  const int group = within / layout.expert_tensor % layout.expert;
  return {group, part, within / (layout.expert_tensor * layout.expert)};
}

std::vector<Chunk> chunks_of(const Layout& layout, const Transformer& model, int stage) {
  const std::vector<int> layers = layers_of_chunks(layout, model);
  std::vector<Chunk> chunks;
  std::int64_t begin = 0;
  for (int chunk = 0; chunk < layout.pipeline * layout.virtual_stages; ++chunk) {
    const std::int64_t end = begin + layers[static_cast<std::size_t>(chunk)];
    if (chunk % layout.pipeline == stage) chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

std::optional<std::string> find_fault(const Layout& layout, const Transformer& model) {
  if (auto fault = base::find_out_of_range(layout)) return fault;
  if (model.heads % layout.tensor != 0)
    return fmt::format(
        "{} heads of {} cannot be divided evenly among {} tensor-parallel ranks; accepted: a divisor of {}",
        model.heads, model.name, layout.tensor, model.heads);
  if (!model.latent && model.key_value_heads % layout.tensor != 0 && layout.tensor % model.key_value_heads != 0)
    return fmt::format("{} key-value heads of {} and {} tensor-parallel ranks: one must divide the other",
                       model.key_value_heads, model.name, layout.tensor);
  if (model.width % layout.tensor != 0)
    return fmt::format(
        "the feed-forward width {} of {} cannot be divided evenly among {} tensor-parallel ranks; accepted: a divisor "
        "of the width",
        model.width, model.name, layout.tensor);
  if (auto fault = find_expert_fault(layout, model)) return fault;
  return find_stage_fault(layout, model);
}

std::vector<HeldTensor> tensors_of_rank(const Layout& layout, const Transformer& model, int rank) {
  const Coordinates place = coordinates_of(layout, rank);
  const ExpertPlace experts = expert_place(layout, place);
  std::vector<HeldTensor> held;
  const auto hold = [&](std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) {
      if (tensor.tied && layout.pipeline == 1) continue;
      const bool routed = tensor.expert >= 0;
      if (routed && tensor.expert / (model.experts->count / layout.expert) != experts.group) continue;
      const Slice slice =
          routed ? slice_of(tensor, layout.expert_tensor, experts.part) : slice_of(tensor, layout.tensor, place.tensor);
      held.push_back({std::move(tensor), slice});
    }
  };
  if (place.pipeline == 0) hold(embedding_tensors(model));
  for (const Chunk& chunk : chunks_of(layout, model, place.pipeline))
    for (std::int64_t layer = chunk.begin; layer < chunk.end; ++layer) hold(layer_tensors(model, layer));
  if (place.pipeline == layout.pipeline - 1) hold(head_tensors(model));
  return held;
}

std::string to_text(const Layout& layout) {
  std::string text = fmt::format("dp{} tp{} pp{}", layout.data, layout.tensor, layout.pipeline);
  for (const auto degree : {&Layout::virtual_stages, &Layout::context, &Layout::expert, &Layout::expert_tensor})
    if (layout.*degree > 1) text += fmt::format(" {}{}", base::key_of(degree), layout.*degree);
  if (layout.zero > 0) text += fmt::format(" zero{}", layout.zero);
  if (layout.sequence_parallel) text += " sp";
  if (layout.recomputation == Recomputation::selective) text += " selective";
  if (layout.recomputation == Recomputation::experts) text += " recompute-experts";
  if (layout.recomputation == Recomputation::full) text += " recompute";
  return text;
}

}  // namespace dovetail::llm
