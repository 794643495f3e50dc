// The `cluster` of job files.
//
//   cluster:
//     nodes: 32
//     gpus_per_node: 8
//     gpu: H100
//     host_memory: 2TB                              # of each node
//     network: {bandwidth: 50GB/s, latency: 5us}    # between nodes, for each GPU and direction
//     price: 2.5                                    # of a GPU per hour
//
// | key             | value                                                                     | default   |
// |-----------------|---------------------------------------------------------------------------|-----------|
// | `nodes`         | number of nodes                                                           | required  |
// | `gpus_per_node` | GPUs of a node, any number                                                | required  |
// | `gpu`           | name of a bundled GPU (gpu.h), or a map of specifications                 | required  |
// | `host_memory`   | memory of a node; `0`: unusable                                           | 2 TB      |
// | `groups`        | for unequal nodes: a list of maps with the keys above, in place of them   |           |
// | `network`       | network between nodes: `bandwidth`, `latency`, `half_bandwidth_size`      | see below |
// | `networks`      | in place of `network`: a list of levels with a `name`, innermost first    |           |
// | `price`         | price of a GPU per hour, in any currency                                  | none      |
//
// Keys of a network: `bandwidth` of a GPU in one direction, `latency` of a message (default: 5us), and
// `half_bandwidth_size`, the measured size of a message that reaches half of the bandwidth. The default bandwidth is a
// GPU's share of the network cards of a typical server: 50 GB/s for H100, later NVIDIA GPUs and MI300X; 25 GB/s for
// A100 and A800; 12.5 GB/s for others; 25 GB/s for a map of specifications. With unequal GPUs the minimum applies.
//
// Each of the `networks` except the last has the key `nodes`: the number of nodes that one of its switches joins, a
// multiple of the previous level's. The last level joins all nodes: `networks: [{name: rack, nodes: 8, bandwidth:
// 50GB/s}, {name: spine, bandwidth: 25GB/s, latency: 8us}]`.
//
// Specifications of a GPU: `{name: X, memory: 80GiB, usable_memory: 78GiB, bandwidth: 3.35TB/s, bf16: 989TFLOP/s, fp16:
// 989TFLOP/s, fp8: 1979TFLOP/s, link: 450GB/s, host_link: 64GB/s}`. Required: `name`, `memory`, `bandwidth` and one of
// `bf16` and `fp16`. Defaults: usable_of(memory) for `usable_memory`; the speed of `bf16` for `fp16`; no support for
// `bf16` and `fp8`; PCIe 4's 32 GB/s for `host_link`; the speed of `host_link` for `link`.
//
// Amounts have the format of base/amount.h: `50GB/s`, `400Gb/s` (bits), `80GiB`, `5us`, or plain numbers of bytes,
// bytes/s, FLOP/s, seconds. Less than 1 MB, 1 MB/s or 1 GFLOP/s, or a latency of more than 1 s, is an Error, because a
// unit is probably missing.
#pragma once

#include "base/document.h"
#include "base/result.h"
#include "cluster/cluster.h"

namespace dovetail::cluster {

/// Reads the cluster that `node`, the value of `cluster:`, describes. Every mistake is an Error at its line and column.
base::Result<Cluster> read_cluster(const base::Node& node);

/// Reads the value of `cluster` in a YAML or JSON file: a job, a profile of the machine (cost/profile.h), or a
/// file with nothing else. Includes errors of reading the file.
base::Result<Cluster> read_cluster_file(const std::string& path);

}  // namespace dovetail::cluster
