// Placement of the stages of a problem on ranks, the processes that run them. A problem describes the devices of one
// fused group, and a stage of the problem may combine several stages of a model.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/problem/fuse_layouts.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Ranks of one model, by the model's own stages. `parts` consecutive stages form one stage of the problem.
struct ModelPlacement {
  int parts = 1;
  /// [replica][stage]: the tensor-parallel ranks that compute this stage. Replicas are numbered across all copies of
  /// the problem (Placement::groups): replica r of copy g has index g x (replicas in the problem) + r.
  std::vector<std::vector<std::vector<int>>> ranks;

  int replicas() const { return static_cast<int>(ranks.size()); }
  int stages() const { return static_cast<int>(ranks.front().size()); }
  int tensor_parallel() const { return static_cast<int>(ranks.front().front().size()); }

  friend bool operator==(const ModelPlacement&, const ModelPlacement&) = default;
};

/// Ranks of all models of a problem. Each rank belongs to one device of one group.
struct Placement {
  int ranks = 0;
  int groups = 1;  ///< copies of the problem, all with the same schedule
  std::vector<ModelPlacement> models;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Places device d of `problem` on rank d.
Placement rank_per_device(const Problem& problem);

/// Places two fused layouts. Device d of group g is the `width` ranks from (g x devices + d) x width on, where `width`
/// is the larger tensor parallelism. Stages that were merged into one each take an equal, consecutive share of these
/// ranks.
Placement placement_of(const FusedLayouts& fused);

/// Checks that `placement` fits `problem`. Returns an Error for wrong sizes, a rank that is out of range or twice in a
/// stage, or a rank on two devices.
base::Status check_placement(const Problem& problem, const Placement& placement);

}  // namespace dovetail::pipeline
