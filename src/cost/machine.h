// The hardware that a task runs on: its GPU, and the links of each of its parallel groups.
#pragma once

#include "cluster/cluster.h"
#include "cluster/collective.h"
#include "cluster/mesh.h"
#include "cost/efficiency.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// The devices of a mesh. If its nodes differ, `gpu` has the lowest peak FLOP/s, memory bandwidth and host bandwidth of
/// them, because all devices wait for the slowest, and the lowest usable memory.
struct Machine {
  cluster::Gpu gpu;
  cluster::Links links;
  int devices_per_node = 1;  ///< devices of the mesh on a node; the minimum if nodes differ
};

Machine machine_of(const cluster::Cluster& cluster, const cluster::Mesh& mesh, const Efficiency& efficiency);

/// Returns a parallel group of ranks that are `stride` devices apart, on nodes of `devices_per_node` devices.
cluster::RankGroup group_of(int ranks, int stride, int devices_per_node);

/// Return a parallel group of the layout. A data group also spans the context-parallel ranks. Ranks are numbered tensor
/// first, then context, data, pipeline (llm::Coordinates).
cluster::RankGroup tensor_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup context_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup data_group(const llm::Layout& layout, const Machine& machine);
cluster::RankGroup expert_group(const llm::Layout& layout, const Machine& machine);

/// Returns the seconds of a message to the next pipeline stage. It crosses nodes if a stage fills at least one node.
double next_stage_seconds(const llm::Layout& layout, const Machine& machine, double bytes);

/// Returns the seconds to move `bytes` per device to host memory, or back.
double host_seconds(const Machine& machine, double bytes, const Efficiency& efficiency);

/// Returns the dense 16-bit FLOP/s of a GPU: bf16, or fp16 if it has no bf16.
double peak_flops(const cluster::Gpu& gpu);

}  // namespace dovetail::cost
