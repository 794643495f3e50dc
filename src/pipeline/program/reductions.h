// Inside compile: which ranks reduce what together, and when all of them can have started.
#pragma once

#include <vector>

#include "pipeline/program/compile.h"
#include "pipeline/program/rank_ops.h"

namespace dovetail::pipeline {

/// A reduction of several ranks.
struct SharedReduction {
  ReductionKind kind = ReductionKind::gradients;
  ModelId model;
  int minibatch = 0;
  StageId stage;  ///< of `gradients` and `weights`, as the ranks have stages
  Ticks ready;    ///< when the last op of the schedule that adds to it has ended
  std::vector<int> ranks;
};

/// All that the models' steps need, in the order in which they start: as they get ready; together, as a step needs
/// them.
std::vector<SharedReduction> reductions_of(const Schedule& schedule, const Placement& placement,
                                           const std::vector<Exchanges>& exchanges);

/// Whether an op adds to a reduction, and whether it has to wait for it, as far as the two are of one rank.
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
