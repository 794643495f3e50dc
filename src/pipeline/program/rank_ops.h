// Work of the ranks under a placement: the ops and reductions of each rank, and the schedule of all ranks.
#pragma once

#include <vector>

#include "pipeline/program/compile.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// An op on a rank. Replica and stage are numbered as in ModelPlacement.
struct RankOp {
  OpLabel label;
  int stage = 0;   ///< index into the rank's stages
  int member = 0;  ///< index of the rank among those that compute the stage together

  /// Start of this rank's part of the op. If one stage of the problem combines several stages of the model, an op of
  /// the problem has a part for each of them. Parts of F run one after the other, and parts of B and I in reverse
  /// order. Each part of W and S takes the whole time of the op.
  Ticks start;
  Ticks end;
};

/// Whether an op is the last one of a micro-batch on a stage. After it, the gradient of the micro-batch is complete,
/// and the micro-batch's activations are free.
constexpr bool ends_backward(OpKind kind) { return kind == OpKind::B || kind == OpKind::W; }

/// Stages of a rank, and its ops in order of execution.
struct RankWork {
  std::vector<ProgramStage> stages;
  std::vector<RankOp> ops;
};

/// Returns the work of each rank. REQUIRES: the schedule is valid; the placement fits its problem.
std::vector<RankWork> work_of_ranks(const Schedule& schedule, const Placement& placement);

/// Returns the schedule in which device r does the work of rank r under `placement`, at the same times. It has the
/// replicas of all groups and the original stages of the models. Parts of a merged stage share its time as in
/// work_of_ranks. The returned schedule has no capacity and no resident memory. REQUIRES: the schedule is valid; the
/// placement fits its problem, with one rank per stage; no merged stage has a split backward.
Schedule schedule_of_ranks(const Schedule& schedule, const Placement& placement);

/// A reduction, with all ranks that take part in it.
struct SharedReduction {
  ReductionKind kind = ReductionKind::gradients;
  ModelId model;
  int minibatch = 0;
  StageId stage;  ///< for `gradients` and `weights`, numbered as in ModelPlacement
  Ticks ready;    ///< end of the last op of the schedule that adds to it
  std::vector<int> ranks;
};

/// Returns all reductions among two or more ranks, in the order in which they start: by time of readiness, then by
/// kind, model and mini-batch. Models without steps have none.
std::vector<SharedReduction> reductions_of(const Schedule& schedule, const Placement& placement,
                                           const std::vector<Exchanges>& exchanges);

/// Decides whether an op adds to a reduction (`adds`) and whether an op must wait for a reduction (`needs`), given that
/// the op and the reduction are on the same rank.
class ReductionRules {
 public:
  ReductionRules(const Problem& problem, const Placement& placement) : problem_(problem), placement_(placement) {}

  bool adds(const OpLabel& op, const SharedReduction& reduction) const;
  bool needs(const OpLabel& op, const SharedReduction& reduction) const;
  int minibatch_of(const OpLabel& op) const;

 private:
  bool is_at_either_end(const OpLabel& op) const;

  const Problem& problem_;
  const Placement& placement_;
};

}  // namespace dovetail::pipeline
