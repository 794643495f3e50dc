// Combines the parallel layouts of two models on the same devices into one pipeline problem (RLHFuse, NSDI 2025,
// section 5.2).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// A model and its parallel layout. Costs are per stage of this layout, on one tensor-parallel group.
struct ModelLayout {
  std::string name;
  int data_parallel = 1;
  int pipeline_parallel = 1;
  int tensor_parallel = 1;
  int microbatches = 1;            ///< micro-batches per pipeline
  std::vector<Ticks> forward;      ///< [stage] duration of a forward
  std::vector<Ticks> backward;     ///< [stage] duration of a backward
  std::vector<Memory> activation;  ///< [stage] activation on each GPU, per micro-batch in flight
};

struct FusedLayouts {
  Problem problem;
  int merged_stages = 1;    ///< s: number of consecutive stages merged into one, in the model with the smaller tp
  int merged_model = 1;     ///< index (0 or 1) of the model whose stages are merged; unused if merged_stages is 1
  int copies[2] = {1, 1};   ///< K1, K2: number of pipelines of each model in a fused group
  int tensor_parallel = 1;  ///< GPUs per device: the larger of the two degrees
  int groups = 1;  ///< number of fused groups, all with the same schedule: data_parallel of the first model / K1
  std::vector<std::string> notes;     ///< explanations of the numbers above
  std::vector<std::string> warnings;  ///< not empty if the models have different numbers of micro-batches per group
};

/// Builds the problem of one fused group. The stages of the first model are on devices in ascending order, those of the
/// second model in descending order. Returns an Error unless dp*pp*tp is equal for both models, s (the larger tp
/// divided by the smaller) is an integer, and s divides the pp of the model with the smaller tp. The Error names the
/// failed condition and the nearest layouts that meet all conditions. Also returns an Error if a layout is invalid or
/// the result exceeds the limits of a problem.
base::Result<FusedLayouts> fuse_layouts(const ModelLayout& first, const ModelLayout& second, TimeUnit unit);

}  // namespace dovetail::pipeline
