#include "cost/machine.h"

#include <algorithm>

namespace dovetail::cost {

using cluster::RankGroup;

Machine machine_of(const cluster::Cluster& cluster, const cluster::Mesh& mesh, const Efficiency& efficiency) {
  Machine machine;
  machine.links = cluster::links_of(cluster, mesh, efficiency.links);
  machine.gpu = cluster::gpu_of(cluster, base::DeviceId(mesh.first));
  int begin = mesh.first;
  bool first = true;
  while (begin < mesh.first + mesh.count) {
    const cluster::NodeId node = cluster::node_of(cluster, base::DeviceId(begin));
    const int end = std::min(mesh.first + mesh.count,
                             cluster::first_device(cluster, node).value + cluster::devices_of(cluster, node));
    const cluster::Gpu& gpu = cluster::gpu_of(cluster, base::DeviceId(begin));
    if (peak_flops(gpu) < peak_flops(machine.gpu)) {
      const cluster::Gpu before = machine.gpu;
      machine.gpu = gpu;
      machine.gpu.usable_memory = before.usable_memory;
      machine.gpu.memory_bandwidth = before.memory_bandwidth;
      machine.gpu.host_bandwidth = before.host_bandwidth;
    }
    machine.gpu.usable_memory = std::min(machine.gpu.usable_memory, gpu.usable_memory);
    machine.gpu.memory_bandwidth = std::min(machine.gpu.memory_bandwidth, gpu.memory_bandwidth);
    machine.gpu.host_bandwidth = std::min(machine.gpu.host_bandwidth, gpu.host_bandwidth);
    machine.devices_per_node = first ? end - begin : std::min(machine.devices_per_node, end - begin);
    first = false;
    begin = end;
  }
  return machine;
}

RankGroup group_of(int ranks, int stride, int devices_per_node) {
  return {ranks, std::clamp(devices_per_node / stride, 1, ranks)};
}

RankGroup tensor_group(const llm::Layout& layout, const Machine& machine) {
  return group_of(layout.tensor, 1, machine.devices_per_node);
}

RankGroup context_group(const llm::Layout& layout, const Machine& machine) {
  return group_of(layout.context, layout.tensor, machine.devices_per_node);
}

RankGroup data_group(const llm::Layout& layout, const Machine& machine) {
  return group_of(layout.data * layout.context, layout.tensor, machine.devices_per_node);
}

RankGroup expert_group(const llm::Layout& layout, const Machine& machine) {
  return group_of(layout.expert, layout.expert_tensor, machine.devices_per_node);
}

double next_stage_seconds(const llm::Layout& layout, const Machine& machine, double bytes) {
  const int stride = layout.data * layout.context * layout.tensor;
  return cluster::send_seconds(stride >= machine.devices_per_node ? machine.links.between : machine.links.inside,
                               bytes);
}

double host_seconds(const Machine& machine, double bytes, const Efficiency& efficiency) {
  return bytes / (efficiency.host_bandwidth * machine.gpu.host_bandwidth);
}

double peak_flops(const cluster::Gpu& gpu) { return gpu.bf16 > 0 ? gpu.bf16 : gpu.fp16; }

}  // namespace dovetail::cost
