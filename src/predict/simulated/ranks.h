// Data-parallel ranks: how software distributes packs (micro-batches of packed sequences) among them, and the work of
// ranks with fewer tokens than the slowest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "llm/counts.h"
#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"
#include "simulate/trace.h"

namespace dovetail::predict {

/// Work of a task's data-parallel ranks.
struct Ranks {
  std::int32_t task = -1;     ///< index in the workflow; -1: none
  std::vector<double> parts;  ///< [rank] work relative to the slowest rank; descending from 1
};

/// Returns cost::shares_of_ranks of a train or infer task.
Ranks ranks_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns `trace` with separate lanes for the ranks of each stage, unless all ranks have equal work. In `trace`, all
/// ranks do the work of the slowest. In the result, a pass takes its rank's fraction of this time, except that launches
/// take as long as on the slowest rank. The rest of the time is idle (`imbalance`). With a single stage, passes follow
/// each other without a gap, and the rank waits before any other work and at the end. In a pipeline, each pass begins
/// when the slowest rank's does. The first rank is the slowest. More than eight ranks become eight groups: the slowest,
/// and seven groups of about equal size with their mean work. REQUIRES: all tasks have the same number of ranks, and
/// the devices of a lane are ordered by rank.
simulate::Trace with_ranks(simulate::Trace trace, const std::vector<Ranks>& tasks);

/// Micro-batches of a data-parallel rank, for an inference batch or for each training mini-batch.
struct DistributedPacks {
  int count = 0;                   ///< number of micro-batches
  llm::Tokens micro_batch;         ///< average micro-batch; all are equal if they are padded
  std::vector<double> ranks = {};  ///< [rank] tokens of each rank relative to this one (cost::shares_of_ranks)
};

/// Returns the packs of the slowest rank, for software that deals packs to its ranks in turn
/// (Conventions::deals_packs). nullopt for other software, if the plan does not limit the tokens of a micro-batch, if
/// sequences must share a micro-batch (preference pairs), or if a batch has more than 2^20 sequences.
///
/// Follows NeMo-RL (`shard_by_batch_size` and the Megatron worker of v0.3). The sequences of the entire batch are
/// padded to a multiple required by tensor and context parallelism, and packed by first-fit decreasing. For such
/// lengths, NeMo-RL's variant of this algorithm makes the same number of packs or more. Pack i goes to rank i modulo
/// the number of ranks, so some ranks have one more than others. Under pipeline parallelism, messages have one size, so
/// each pack is padded to the length of its rank's longest pack. The padding counts as part of the pack's last
/// sequence. Sequence lengths are equidistant quantiles of the batch's distribution.
///
/// The slowest rank is the one with the largest product of (packs + stages - 1) and its mean tokens per pack, which is
/// proportional to the time of its pipeline. REQUIRES: the task trains or infers, and the layout has no fault.
std::optional<DistributedPacks> distribute_packs(const Scenario& scenario, std::size_t task,
                                                 const plan::TaskPlan& planned);

}  // namespace dovetail::predict
