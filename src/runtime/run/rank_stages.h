// A trained role as the ranks have it: each a stage of a replica, or some, and all together the whole model.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "control/ranks/rank_talk.h"
#include "llm/layout.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "runtime/model/weights.h"
#include "runtime/training/stage_state.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

struct RankStages {
  std::vector<StageState> states;  ///< of this rank
  std::vector<LayerRange> layers;  ///< [stage]
  std::vector<int> ranks;          ///< [stage] who has it, of this rank's replica

  bool are_whole_model() const { return layers.size() == 1; }
};

/// Cuts this rank's stages of model `model` of the program out of the whole weights, with moments of 0. `layout`: that
/// of the role's train task. A stage that is the whole model shares the values of `whole`. REQUIRES: the rank has
/// stages of it, of one replica.
RankStages cut_stages(Weights& whole, const pipeline::Program& program, std::size_t model,
                      const pipeline::ModelPlacement& placement, const llm::Layout& layout);

/// Copies the whole weights into the stages.
void take_values(RankStages& stages, const Weights& whole);

/// The ranks of this rank's replica, in ascending order.
std::vector<int> ranks_of_replica(const RankStages& stages);

/// Fills the whole weights from the stages of all ranks of the replica, by `collectives` that have its group. Called on
/// all ranks.
base::Status gather_values(const RankStages& stages, Weights& whole, control::RankTalk& talk,
                           transport::Collectives& collectives);

}  // namespace dovetail::runtime
