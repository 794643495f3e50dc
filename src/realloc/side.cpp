#include "realloc/side.h"

#include <fmt/core.h>

#include <cstddef>

namespace dovetail::realloc {
namespace {

std::optional<std::string> find_side_fault(const cluster::Cluster& cluster, const Side& side) {
  if (auto fault = llm::find_fault(side.model)) return fault;
  if (auto fault = llm::find_fault(side.layout, side.model)) return fault;
  const std::int64_t ranks =
      std::int64_t{1} * side.layout.data * side.layout.context * side.layout.tensor * side.layout.pipeline;
  if (ranks != side.mesh.count)
    return fmt::format("layout {} uses {} devices, but its mesh has {}; accepted: a layout that uses the whole mesh",
                       llm::to_text(side.layout), ranks, side.mesh.count);
  const int devices = cluster::device_count(cluster);
  if (side.mesh.first < 0 || side.mesh.first > devices - side.mesh.count)
    return fmt::format("devices {} to {} are not all in the cluster; accepted: 0 to {}", side.mesh.first,
                       std::int64_t{side.mesh.first} + side.mesh.count - 1, devices - 1);
  return std::nullopt;
}

/// Returns the model without the properties in which the two sides may differ.
llm::Transformer common_part(llm::Transformer model) {
  model.name.clear();
  model.head = llm::Head::language_model;
  model.tied_embeddings = false;
  return model;
}

}  // namespace

std::optional<std::string> find_fault(const cluster::Cluster& cluster, const Side& source, const Side& destination) {
  for (const Side* side : {&source, &destination})
    if (auto fault = find_side_fault(cluster, *side)) return fault;
  const llm::Transformer& from = source.model;
  const llm::Transformer& to = destination.model;
  if (!(common_part(from) == common_part(to)))
    return fmt::format("{} and {} have different weights; accepted: models that differ only in their head", from.name,
                       to.name);
  if (from.head == to.head && from.tied_embeddings != to.tied_embeddings)
    return fmt::format("only one of {} and {} has a head that is tied to its embedding; accepted: both or neither",
                       from.name, to.name);
  return std::nullopt;
}

int positions_of(const llm::Layout& layout) { return layout.data * layout.context * layout.tensor; }

std::vector<int> stages_of_layers(const Side& side) {
  std::vector<int> stages(static_cast<std::size_t>(side.model.layers));
  for (int stage = 0; stage < side.layout.pipeline; ++stage)
    for (const llm::Chunk& chunk : llm::chunks_of(side.layout, side.model, stage))
      for (std::int64_t layer = chunk.begin; layer < chunk.end; ++layer)
        stages[static_cast<std::size_t>(layer)] = stage;
  return stages;
}

std::vector<int> embedding_stages(const Side& side) {
  if (side.model.tied_embeddings && side.layout.pipeline > 1) return {0, side.layout.pipeline - 1};
  return {0};
}

}  // namespace dovetail::realloc
