// dovetail/profile@2: measured seconds of layers and decode steps, of what is around them, and of links.
//
//   format: dovetail/profile@2
//   name: a100/megatron
//   layers:
//     - model: llama-2-7b         # as a job says it: a bundled name, the path of a config.json, or a map
//       gpu: A100-80              # a bundled GPU, or the name that a cluster's file gives one of its own
//       tensor: 2                 # degrees; default 1
//       forward:                  # seconds of one layer, collectives left out
//         - {length: 2048, tokens: [2048, 4096, 16384], seconds: [0.0011, 0.0019, 0.0073]}
//       backward:
//         - {length: 2048, tokens: [2048, 4096, 16384], seconds: [0.0022, 0.0038, 0.0146]}
//       decode:                   # seconds of a step of the whole model, collectives and sampling and all
//         - {context: 1024, sequences: [1, 64, 256], seconds: [0.0121, 0.0135, 0.0198]}
//       precision: bf16           # or fp16, fp32: whose computation it is; default: that of every job
//       embedding: {tokens: [2048, 4096], forward: [1e-5, 2e-5], backward: [2e-5, 4e-5]}
//       head: {tokens: [2048, 4096], forward: [0.001, 0.002], backward: [0.002, 0.004]}
//       optimizer: 900GB/s        # its step moves 30 bytes a parameter
//   links:                        # of a node's GPUs: work is message (the default) or all_reduce, of so many ranks
//     - {work: message, bytes: [1024, 1048576], seconds: [4e-6, 1.2e-5]}
//     - {work: all_reduce, ranks: 4, bytes: [1024, 1048576], seconds: [2e-5, 6e-5]}
//   cluster: {nodes: 1, gpus_per_node: 8, gpu: A100-80}   # a job may name the file as its own
//
// dovetail/profile@1 has the layers alone, up to `decode`.
//
// Of a model with experts the layers are those with experts; `experts: false` is said of its dense ones, `expert: N` of
// expert parallelism.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cost/profile.h"

namespace dovetail::cost {

inline constexpr std::string_view profile_format = "dovetail/profile@2";
inline constexpr std::string_view first_profile_format = "dovetail/profile@1";  ///< which is read, too

/// Reads a profile from YAML or JSON text; paths in it start from the folder of `path`. Every mistake is an Error at
/// its line and column.
base::Result<Profile> parse_profile(std::string_view content, const std::string& path);

}  // namespace dovetail::cost
