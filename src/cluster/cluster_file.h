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
// | `host_memory`   | usable host memory of a node; `0`: none                                   | 2 TB      |
// | `groups`        | if nodes differ, instead of the keys above: list of maps with these keys  |           |
// | `network`       | network between nodes: `bandwidth`, `latency`, `half_bandwidth_size`      | see below |
// | `networks`      | instead of `network`: a list of levels with a `name`, innermost first     |           |
// | `price`         | price of a GPU per hour, in any currency                                  | none      |
//
// Keys of a network: `bandwidth` of a GPU in one direction, `latency` of a message (default: 5us), and
// `half_bandwidth_size`, the measured size of a message that reaches half of the bandwidth (default:
// LinkEfficiency::half_size). The default bandwidth is a GPU's share of the network cards of a typical server
// (docs/formats.md lists them), and 25 GB/s for a map of specifications. If nodes have different GPUs, the lowest of
// their values is the default.
//
// Each of the `networks` except the last has the key `nodes`: the number of nodes that one of its switches joins, a
// larger multiple of the previous level's number. The last level joins all nodes: `networks: [{name: rack, nodes: 8,
// bandwidth: 50GB/s}, {name: spine, bandwidth: 25GB/s, latency: 8us}]`.
//
// Specifications of a GPU: `{name: X, memory: 80GiB, usable_memory: 78GiB, bandwidth: 3.35TB/s, bf16: 989TFLOP/s, fp16:
// 989TFLOP/s, fp8: 1979TFLOP/s, link: 450GB/s, host_link: 64GB/s}`. `name`, `memory`, `bandwidth` and one of `bf16` and
// `fp16` are required. `usable_memory` defaults to usable_of(memory), `fp16` to `bf16`, `host_link` to 32 GB/s (PCIe 4)
// and `link` to `host_link`. Without `bf16` or `fp8`, the GPU does not support that type.
//
// Amounts have the format of base/amount.h: `50GB/s`, `400Gb/s` (bits), `80GiB`, `5us`, or plain numbers of bytes,
// bytes/s, FLOP/s, seconds. Memory below 1 MB, a bandwidth below 1 MB/s, a speed below 1 GFLOP/s and a latency above 1
// s are Errors, because a unit is probably missing. A 0 that means "none" is accepted.
#pragma once

#include "base/document.h"
#include "base/result.h"
#include "cluster/cluster.h"

namespace dovetail::cluster {

/// Reads the cluster that `node`, the value of `cluster:`, describes. Every mistake is an Error at its line and column.
base::Result<Cluster> read_cluster(const base::Node& node);

/// Reads the value of `cluster` in a YAML or JSON file: a job, a profile of the machine (cost/profile.h), or a file
/// that has only this key. A file that cannot be read is an Error, too.
base::Result<Cluster> read_cluster_file(const std::string& path);

}  // namespace dovetail::cluster
