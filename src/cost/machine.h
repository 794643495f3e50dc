// What a task under a layout sees of the cluster: its GPU, and the links of each of its parallel groups.
#pragma once

#include "cluster/cluster.h"
#include "cluster/collective.h"
#include "cluster/mesh.h"
#include "cost/efficiency.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// The devices of a mesh. On unequal nodes the slowest GPU and the smallest memory of them: all wait for it.
struct Machine {
  cluster::Gpu gpu;
  cluster::Links links;
  int devices_per_node = 1;  ///< of the mesh
};

Machine machine_of(const cluster::Cluster& cluster, const cluster::Mesh& mesh, const Efficiency& efficiency);

/// Ranks of a parallel group that are `stride` devices apart, on nodes of `devices_per_node`.
cluster::RankGroup group_of(int ranks, int stride, int devices_per_node);

/// The groups of a layout whose ranks count tensor first, then context, data, pipeline (llm::Coordinates).
cluster::RankGroup tensor_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup context_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup data_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup expert_group(const llm::Layout& layout, const Machine& machine);
/// Seconds of a message from one pipeline stage to the next: between nodes where a stage fills at least one.
double next_stage_seconds(const llm::Layout& layout, const Machine& machine, double bytes);

/// Seconds to move `bytes` of each device to host memory, or back.
double host_seconds(const Machine& machine, double bytes, const Efficiency& efficiency);

/// FLOP/s of dense products of 16-bit numbers: bf16, or fp16 where the GPU has no bf16.
double peak_flops(const cluster::Gpu& gpu);

}  // namespace dovetail::cost
