// Which ranks compute the stages of a problem. A problem speaks of one fused group, of devices, and of stages that may
// stand for several; ranks are the processes that run them.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/problem/fuse_layouts.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Where one model is computed, in stages as the model has them: `parts` in a row are one stage of the problem.
struct ModelPlacement {
  int parts = 1;
  /// [replica][stage] the ranks that compute it together, a tensor-parallel group. Replica r of the problem in group g
  /// is replica g x (the problem's replicas) + r here.
  std::vector<std::vector<std::vector<int>>> ranks;

  int replicas() const { return static_cast<int>(ranks.size()); }
  int stages() const { return static_cast<int>(ranks.front().size()); }
  int tensor_parallel() const { return static_cast<int>(ranks.front().front().size()); }

  friend bool operator==(const ModelPlacement&, const ModelPlacement&) = default;
};

/// Where all of a problem's models are computed. Each rank is of one device in one group.
struct Placement {
  int ranks = 0;
  int groups = 1;  ///< copies of the problem side by side, each with the same schedule
  std::vector<ModelPlacement> models;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// A rank for each device of `problem`, of the same number.
Placement rank_per_device(const Problem& problem);

/// The ranks of two fused layouts: device d of group g is the ranks from (g x devices + d) x width on, where `width` is
/// the larger tensor parallelism; the stages that were merged into one take equal shares of these in turn.
Placement placement_of(const FusedLayouts& fused);

/// What makes `placement` none of `problem`: its sizes, a rank outside it or twice in a stage, a rank of two devices.
base::Status check_placement(const Problem& problem, const Placement& placement);

}  // namespace dovetail::pipeline
