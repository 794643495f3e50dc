// From the parallel layouts of two models on the same devices to one pipeline problem (RLHFuse, NSDI 2025,
// section 5.2).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// A model with its layout; costs are those of one of its own stages (one tensor-parallel group).
struct ModelLayout {
  std::string name;
  int data_parallel = 1;
  int pipeline_parallel = 1;
  int tensor_parallel = 1;
  int microbatches = 1;            ///< per pipeline
  std::vector<Ticks> forward;      ///< [stage]
  std::vector<Ticks> backward;     ///< [stage]
  std::vector<Memory> activation;  ///< [stage], per micro-batch in flight and device
};

struct FusedLayouts {
  Problem problem;
  int merged_stages = 1;    ///< s: consecutive stages of the model with the smaller tensor parallelism that become one
  int merged_model = 1;     ///< which of the two they belong to (0 or 1); meaningless where merged_stages is 1
  int copies[2] = {1, 1};   ///< K1, K2: pipelines of each that are fused together
  int tensor_parallel = 1;  ///< the larger of the two: GPUs of a device
  int groups = 1;           ///< dp1 / K1: how many such fused pipelines run side by side
  std::vector<std::string> notes;     ///< what the numbers mean
  std::vector<std::string> warnings;  ///< K1*M1 != K2*M2: micro-batches of different size
};

/// The problem of one fused group. The first model runs down the devices, the second up. An Error says which condition
/// fails (dp*pp*tp equal; s whole; s divides pp) and names the nearest layouts that would meet all of them.
base::Result<FusedLayouts> fuse_layouts(const ModelLayout& first, const ModelLayout& second, TimeUnit unit);

}  // namespace dovetail::pipeline
