// dovetail/measurement@1: reading and writing measured runs.
//
//   format: dovetail/measurement@1
//   name: h100/megatron-vllm               # set of efficiencies: one GPU type, software version and site
//   source: NeMo-RL v0.3 and v0.4          # optional
//   start: {from: assumed, task: 0}        # start of the fit: a set (name or file), with some constants replaced
//   fit: [matrix_products, slot]           # constants to fit; default: all that the rows determine
//   spread: {start: 0.8, low: 0.3, high: 1.3}   # of response lengths, for rows that leave it open
//   rows:
//     - name: 8B, phases                   # unique
//       group: llama-8b                    # rows left out together; default: the name of the job's first model
//       job: ../jobs/grpo-8b.yaml          # or the content of such a file
//       plan: ../jobs/grpo-8b.plan.json    # or the content of such a file
//       seconds: 112                       # of an iteration
//       phases: {training: 28, refit: 5, generation: 58, scoring: 18}   # kinds (also offload), or task names
//       fused: [[actor_train, critic_train]]      # tasks that ran as one phase; default: the plan's fusion
//       response_length: {mean: 795, cap: 3976}   # replaces the job's lengths; the spread is fitted
//       weight: 1                          # in the fit; or `doubtful: WHY` to show the row without counting it
//
// Paths are relative to the folder of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/measured_comparison.h"
#include "measure/measurement.h"

namespace dovetail::measure {

inline constexpr std::string_view measurement_format = "dovetail/measurement@1";

/// Reads measurements from YAML or JSON text. Every Error has a line and column, including errors in a named job, plan
/// or efficiency file.
base::Result<Measurements> parse_measurements(std::string_view content, const std::string& path);

/// Names and references in a measurement file.
struct MeasurementNames {
  std::string set;  ///< name of the set of efficiencies
  std::string row;
  std::string source;
  std::string job;  ///< paths relative to the folder of the file
  std::string plan;
  std::string start = {};  ///< start of the fit: name of a set, or a relative path; empty: `assumed`
  std::vector<std::vector<std::string>> fused = {};  ///< tasks that ran as one phase
  /// Content of the job file as one line of JSON, written in place of the path; empty: the path is written.
  std::string job_text = {};
  std::string plan_text = {};  ///< like `job_text`, for the plan file
};

/// Writes one row with the iteration and the phases that match phases of the plan and take at least 1 ms. Includes the
/// mean response length if the log has one that differs from the job's by more than 5%, unless one of the default
/// spreads (Spread) is impossible with it. The cap of these lengths is the longest response of the job or of
/// the log, whichever is longer. Returns an Error without position if the log has no iteration time, or one below 1 ms.
base::Result<std::string> measurement_to_yaml(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job);
base::Result<std::string> measurement_to_json(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job);

}  // namespace dovetail::measure
