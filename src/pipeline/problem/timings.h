// A problem from measured times: a CSV of (model, stage, op, seconds[, activation bytes]) rows.
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
  std::map<std::string, int> microbatches;               ///< by model; every model of the file needs one
  std::map<std::string, std::vector<DeviceId>> devices;  ///< by model: where its stages are; others as below
};

/// How much the rows of one (model, stage, op) differ.
struct TimingSpread {
  std::string model;
  int stage = 0;
  OpKind op = OpKind::F;
  int rows = 0;
  Ticks median;
  Ticks least;
  Ticks most;
};

struct TimedProblem {
  Problem problem;  ///< in ms (held in ns), activation in GB (10^9 bytes) where the file has bytes, else 0
  std::vector<TimingSpread> spread;  ///< of every (model, stage, op), in file order
};

/// Reads the CSV (header `model,stage,op,seconds[,activation_bytes]` in any order; op is the letter of a kind) and
/// makes a problem of its medians. Stage s of the first model is on device s, of the others on device (stages of the
/// largest - 1 - s), unless options say otherwise. Errors have the row's place: a stage without F or backward, a model
/// without micro-batches, a time that is no number.
base::Result<TimedProblem> problem_from_timings(std::string_view content, const std::string& path,
                                                const TimingsOptions& options);

}  // namespace dovetail::pipeline
