// dovetail/profile@1: measured seconds of layers and decode steps.
//
//   format: dovetail/profile@1
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
//
// Of a model with experts the layers are those with experts; `experts: false` is said of its dense ones, `expert: N` of
// expert parallelism.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cost/profile.h"

namespace dovetail::cost {

inline constexpr std::string_view profile_format = "dovetail/profile@1";

/// Reads a profile from YAML or JSON text; paths in it start from the folder of `path`. Every mistake is an Error at
/// its line and column.
base::Result<Profile> parse_profile(std::string_view content, const std::string& path);

}  // namespace dovetail::cost
