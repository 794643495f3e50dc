// dovetail/measurement@1: reading measured runs.
//
//   format: dovetail/measurement@1
//   name: h100/megatron-vllm               # of the set of efficiencies: one GPU type, software with its version, and
//                                          # site
//   source: NeMo-RL v0.3 and v0.4          # optional
//   start: {from: assumed, task: 0}        # where the fit starts: a set (a name or a file), or one with constants of
//                                          # one's own
//   fit: [matrix_products, slot]           # constants; default: all that the rows say anything of
//   spread: {start: 0.8, low: 0.3, high: 1.3}   # of responses that leave it open
//   rows:
//     - name: 8B, phases                   # each another
//       group: llama-8b                    # left out together; default: the name of the job's first model
//       job: ../jobs/grpo-8b.yaml          # or what such a file has
//       plan: ../jobs/grpo-8b.plan.json    # or what such a file has
//       seconds: 112                       # of an iteration
//       phases: {training: 28, refit: 5, generation: 58, inference: 18}   # kinds (or offload), or tasks by name
//       response_length: {mean: 795, cap: 3976}   # in place of the job's: the spread is fitted
//       weight: 1                          # in the fit; or `doubtful: WHY`, which shows the row and does not count it
//
// Paths start from the folder of the file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/measurement.h"

namespace dovetail::measure {

inline constexpr std::string_view measurement_format = "dovetail/measurement@1";

/// Reads measurements from YAML or JSON text. Every mistake is an Error at its line and column, also one in the file of
/// a job, a plan or a set of efficiencies.
base::Result<Measurements> parse_measurements(std::string_view content, const std::string& path);

}  // namespace dovetail::measure
