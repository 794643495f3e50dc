// The `cluster:` map of a job file.
//
//   cluster:
//     nodes: 32
//     gpus_per_node: 8
//     gpu: H100
//     host_memory: 2TB                              # of a node
//     network: {bandwidth: 50GB/s, latency: 5us}    # of a GPU and direction, between nodes
//     price: 2.5                                    # of a GPU for an hour
//
// | key             | what it is                                                                | where it is missing |
// |-----------------|---------------------------------------------------------------------------|---------------------|
// | `nodes`         | how many nodes                                                            | needed              |
// | `gpus_per_node` | GPUs of a node, any number                                                | needed              |
// | `gpu`           | the name of a bundled GPU (gpu.h), or a map of figures                    | needed              |
// | `host_memory`   | of a node; `0` where none may be used                                     | 2 TB                |
// | `groups`        | in place of the four above: a list of maps of them, for unequal nodes     |                     |
// | `network`       | what joins the nodes: `bandwidth`, `latency`, `half_bandwidth_size`       | as below            |
// | `networks`      | in its place: a list from the innermost level outwards, each with a       |                     |
// |                 | `name`                                                                    |                     |
// | `price`         | of a GPU for an hour, in any currency                                     | none                |
//
// A network: `bandwidth` of a GPU in one direction, where it is missing its share of the cards of the usual server (50
// GB/s for H100, what came after it and MI300X; 25 GB/s for A100 and A800; 12.5 GB/s for the others; 25 GB/s for
// figures; of unequal GPUs the least); `latency` of a message, 5us where it is missing; `half_bandwidth_size`, the
// message that reaches half of the bandwidth, where it was measured.
//
// Of `networks` all but the last say how many `nodes` one of their switches joins, a multiple of that of the level
// before; the last joins all: `networks: [{name: rack, nodes: 8, bandwidth: 50GB/s}, {name: spine, bandwidth: 25GB/s,
// latency: 8us}]`.
//
// Figures of a GPU: `{name: X, memory: 80GiB, usable_memory: 78GiB, bandwidth: 3.35TB/s, bf16: 989TFLOP/s, fp16:
// 989TFLOP/s, fp8: 1979TFLOP/s, link: 450GB/s, host_link: 64GB/s}`. Needed: `name`, `memory`, `bandwidth` and one of
// `bf16` and `fp16`. Where others are missing: `usable_memory` is usable_of(memory); `fp16` is as fast as `bf16`; there
// is no `bf16` and no `fp8`; `host_link` is PCIe 4's 32 GB/s; `link` is as fast as `host_link`.
//
// Amounts are as in base/amount.h: `50GB/s`, `400Gb/s` (bits), `80GiB`, `5us`, or plain numbers of bytes, bytes/s,
// FLOP/s, seconds. What is less than 1 MB, 1 MB/s or 1 GFLOP/s, or a latency of more than 1 s, is refused: its unit was
// forgotten.
#pragma once

#include "base/document.h"
#include "base/result.h"
#include "cluster/cluster.h"

namespace dovetail::cluster {

/// The cluster that `node`, the value of `cluster:`, describes. Every mistake is an Error at its line and column that
/// says what is accepted.
base::Result<Cluster> read_cluster(const base::Node& node);

/// The value of `cluster` in a YAML or JSON file that has one: a job, a profile of the machine
/// (cost/profile_file.h), or a file with nothing else. Errors of reading it.
base::Result<Cluster> read_cluster_file(const std::string& path);

}  // namespace dovetail::cluster
