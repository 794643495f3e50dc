// The reductions of a training phase on tensors.
#pragma once

#include <utility>
#include <vector>

#include "execute/stage.h"
#include "runtime/training/rank_role.h"

namespace dovetail::runtime {

/// Sums and gathers.
class TorchReducer final : public execute::Reducer {
 public:
  /// [model of the program] null where this rank has none of its stages; [stage of the program]. All must stay.
  TorchReducer(std::vector<RankRole*> roles, std::vector<StageState*> stages)
      : roles_(std::move(roles)), stages_(std::move(stages)) {}

  base::Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                      transport::Deadline deadline) override;

 private:
  std::vector<RankRole*> roles_;
  std::vector<StageState*> stages_;
};

}  // namespace dovetail::runtime
