// Random clusters and pairs of sides for property tests.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <utility>

#include "cluster/cluster.h"
#include "llm/random_transformer.h"
#include "realloc/side.h"

namespace dovetail::realloc::test {

inline cluster::Cluster cluster_of(int nodes, int devices_per_node) {
  cluster::Cluster cluster;
  cluster.groups.push_back({.nodes = nodes,
                            .devices_per_node = devices_per_node,
                            .gpu = cluster::find_gpu("A100-80").value(),
                            .host_memory = 0});
  cluster.networks.push_back(
      {.name = "network", .nodes = 0, .bandwidth = 25e9, .latency = 5e-6, .half_bandwidth_size = std::nullopt});
  return cluster;
}

/// The layout on the devices from `first` on.
inline Side side_of(const llm::Transformer& model, const llm::Layout& layout, int first) {
  return {model, layout, {first, layout.devices()}};
}

inline llm::Layout layout_of(int data, int tensor, int pipeline) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  return layout;
}

/// A random valid layout for `model` on at most `max_devices`, including uneven and virtual stages, expert parallelism
/// and ZeRO 3.
inline llm::Layout random_layout(const llm::Transformer& model, int max_devices) {
  llm::Layout layout;
  do {
    layout =
        layout_of(*rc::gen::inRange(1, 5), *rc::gen::element(1, 1, 2, 3, 4, 6, 8), *rc::gen::element(1, 1, 2, 3, 4));
    layout.context = *rc::gen::element(1, 1, 1, 2);
    layout.virtual_stages = *rc::gen::element(1, 1, 2);
    layout.expert = *rc::gen::element(1, 1, 2, 4);
    layout.expert_tensor = *rc::gen::element(1, 1, 2, 3);
    layout.zero = *rc::gen::element(0, 1, 3);
    if (*rc::gen::inRange(0, 3) == 0) {
      layout.stage_layers.assign(static_cast<std::size_t>(layout.pipeline), 0);
      for (std::int64_t layer = 0; layer < model.layers; ++layer)
        ++layout.stage_layers[static_cast<std::size_t>(*rc::gen::inRange(0, layout.pipeline))];
    }
  } while (layout.devices() > max_devices || llm::find_fault(layout, model));
  return layout;
}

/// A random transformer that can often be divided by three.
inline llm::Transformer random_model() {
  llm::Transformer model = *llm::test::random_transformer();
  if (*rc::gen::arbitrary<bool>()) return model;
  model.heads *= 3;
  model.key_value_heads *= *rc::gen::element(1, 3);
  model.width *= 3;
  return model;
}

struct Case {
  cluster::Cluster cluster;
  Side source;
  Side destination;
};

/// Two random valid sides on a cluster of equal or unequal nodes. Their meshes may be equal, overlap or be disjoint.
/// Sometimes the models have different heads.
inline Case random_case(int max_devices) {
  const llm::Transformer model = random_model();
  const int devices_per_node = *rc::gen::element(1, 2, 3, 4, 8);
  Case made;
  made.source = side_of(model, random_layout(model, max_devices), 0);
  const llm::Transformer other = *rc::gen::inRange(0, 4) == 0 ? llm::with_scalar_head(model) : model;
  made.destination = side_of(other, random_layout(other, max_devices), 0);
  if (*rc::gen::inRange(0, 6) == 0) made.destination.layout = made.source.layout;
  made.destination.mesh.count = made.destination.layout.devices();
  made.source.mesh.first = *rc::gen::inRange(0, 5);
  made.destination.mesh.first = *rc::gen::element(
      made.source.mesh.first, made.source.mesh.first + made.source.mesh.count, *rc::gen::inRange(0, max_devices));
  made.source.shard_group = *rc::gen::element(0, 0, 2, 4);
  made.destination.shard_group = *rc::gen::element(0, 0, 2, 4);
  if (*rc::gen::arbitrary<bool>()) std::swap(made.source, made.destination);
  const cluster::Mesh hull = cluster::hull_of(made.source.mesh, made.destination.mesh);
  made.cluster = cluster_of((hull.first + hull.count) / devices_per_node + 1, devices_per_node);
  if (*rc::gen::arbitrary<bool>())
    made.cluster.groups.insert(
        made.cluster.groups.begin(),
        {.nodes = 1, .devices_per_node = 3, .gpu = made.cluster.groups[0].gpu, .host_memory = 0});
  RC_ASSERT(!find_fault(made.cluster, made.source, made.destination));
  return made;
}

}  // namespace dovetail::realloc::test
