// The layouts that a search looks at.
#pragma once

#include <cstdint>
#include <vector>

#include "llm/layout.h"

namespace dovetail::planner {

/// Which data, tensor and pipeline degrees make up a mesh.
struct LayoutRules {
  int max_tensor = 8;         ///< tensor-parallel groups stay inside a node
  bool powers_of_two = true;  ///< tensor degrees; else every divisor of the node's devices
  int stage_devices_unit =
      0;  ///< a pipeline stage has 1, 2, 4, ... of so many devices, or a multiple of it; 0: any number
  std::int64_t max_stages = 0;  ///< 0: any number
  int min_devices = 1;          ///< a smaller mesh has no layout
  int max_stage_devices = 0;    ///< 0: any number
  double max_parts = 0;         ///< of a batch: data times pipeline degree; 0: any number
};

/// The rules of ReaL's search on nodes of eight (docs/facts.md#real-layouts-and-meshes): tensor degrees 1, 2, 4 and 8;
/// stages of 1, 2, 4 or multiples of 8 devices. With meshes of four devices or more that makes 22, 58, 176, 620 and
/// 2464 pairs of mesh and layout on 1, 2, 4, 8 and 16 nodes.
LayoutRules real_rules();

/// What of these its search keeps before it looks at memory: pipelines of at most as many stages as the cluster has
/// nodes, or eight, with a sequence for each stage of each replica. Of training two for each, in each mini-batch, and
/// no stage of more devices than a node has. `mini_batches`: of training; 0 of other calls.
LayoutRules real_search_rules(int nodes, double sequences, std::int64_t mini_batches);

/// All (data, tensor, pipeline) whose product is `devices`, by tensor, then by pipeline degree. All else in them is as
/// by default. `devices_per_node`: of the mesh; tensor degrees divide it, and are at most that many.
std::vector<llm::Layout> layouts_of(int devices, int devices_per_node, const LayoutRules& rules);

}  // namespace dovetail::planner
