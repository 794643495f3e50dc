// Micro-batches of software that packs a batch before it deals it out to its data-parallel ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "llm/counts.h"
#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// What a data-parallel rank does for a batch that is scored, or for each mini-batch that is trained on.
struct DealtPacks {
  int count = 0;                   ///< micro-batches
  llm::Tokens micro_batch;         ///< the average one; all are alike where they are padded
  std::vector<double> ranks = {};  ///< tokens of each rank as parts of this one's, as cost::shares_of_ranks has them
};

/// The rank that takes longest where the software deals out packs (Conventions::deals_packs), nothing where it does not
/// or where the plan does not limit the tokens of a micro-batch. As NeMo-RL does it (`shard_by_batch_size` and the
/// Megatron worker of v0.3): the sequences of the whole batch, each padded to what tensor and context parallelism
/// divide it by, are packed by first-fit decreasing (NeMo-RL modifies it, which makes no fewer packs of lengths like
/// these), and pack i goes to rank i modulo the ranks, so that some have one more than others. Under pipeline
/// parallelism every pack is padded to the longest of its rank, as part of its last sequence: messages between stages
/// have one size. Sequences have the lengths of the batch's quantiles at equal distances.
///
/// The longest is the rank with the most tokens, counted as often as a pipeline without bubbles needs: packs and
/// stages, less one. REQUIRES: the task trains or infers; the layout has no fault.
std::optional<DealtPacks> dealt_packs(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

}  // namespace dovetail::predict
