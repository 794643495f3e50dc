// Builds a problem from a CSV of measured times: rows of (model, stage, op, seconds[, activation bytes]).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/problem/op_kind.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

struct TimingsOptions {
  std::map<std::string, int> microbatches;  ///< number of micro-batches by model; required for every model in the file
  std::map<std::string, std::vector<DeviceId>> devices;  ///< device of each stage, by model; optional
};

/// Spread of the measured times of one (model, stage, op).
struct TimingSpread {
  std::string model;
  int stage = 0;
  OpKind op = OpKind::F;
  int rows = 0;
  Ticks median;
  Ticks min;
  Ticks max;
};

struct TimedProblem {
  /// Problem with the time unit ms, so that Ticks are ns. Activations are in GB (10^9 bytes), and 0 if the file has no
  /// activation_bytes.
  Problem problem;
  std::vector<TimingSpread> spread;  ///< spread of every (model, stage, op), in file order
};

/// Reads the CSV and builds a problem from the medians of each (model, stage, op). The header is
/// `model,stage,op,seconds[,activation_bytes]` in any order; op is the letter of an OpKind. Unless options specify
/// devices, stage s of the first model is on device s. Stage s of another model is on device S - 1 - s, where S is the
/// maximum number of stages of any model. Errors in the file point at a row: for example, an invalid time, a stage
/// without F or backward, or a model that is missing from options.microbatches.
base::Result<TimedProblem> problem_from_timings(std::string_view content, const std::string& path,
                                                const TimingsOptions& options);

}  // namespace dovetail::pipeline
