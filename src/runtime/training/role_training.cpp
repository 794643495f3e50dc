#include "runtime/training/role_training.h"

#include <utility>

#include "base/assert.h"
#include "runtime/training/micro_batches.h"

namespace dovetail::runtime {

using base::Result;
using control::StepDecision;
using control::TrainingSums;

RoleTraining::RoleTraining(const control::Training& training, std::size_t replicas, std::size_t microbatches)
    : training_(training),
      replicas_(replicas),
      microbatches_(microbatches),
      results_(training.mini_batches.size()),
      decisions_(training.mini_batches.size()) {
  for (const control::MiniBatch& mini_batch : training.mini_batches)
    for (const auto& replica :
         dealt_to_replicas(mini_batch.sequences, mini_batch.kept_together, replicas, microbatches))
      ids_.insert(ids_.end(), replica.begin(), replica.end());
  sums_.resize(ids_.size());
}

std::size_t RoleTraining::place(std::size_t replica, MicrobatchId id) const {
  const std::size_t minibatch = id.index() / microbatches_;
  DOVETAIL_ASSERT(replica < replicas_ && minibatch < results_.size());
  return (minibatch * replicas_ + replica) * microbatches_ + id.index() % microbatches_;
}

MicroBatch RoleTraining::micro_batch(std::size_t replica, MicrobatchId id) const {
  return {training_.mini_batches[id.index() / microbatches_].sequences, ids_[place(replica, id)]};
}

std::int64_t RoleTraining::rows(std::size_t replica, MicrobatchId id) const {
  const MicroBatch batch = micro_batch(replica, id);
  std::size_t rows = 0;
  for (const std::size_t sequence : batch.ids) rows += batch.all[sequence].tokens.size();
  return batch.ids.empty() ? 1 : static_cast<std::int64_t>(rows);
}

std::vector<control::ScoreSlopes> RoleTraining::slopes(std::size_t replica, MicrobatchId id,
                                                       std::span<const control::Scores> scores) {
  const std::size_t at = place(replica, id);
  return training_.mini_batches[id.index() / microbatches_].loss(ids_[at], scores, sums_[at]);
}

TrainingSums RoleTraining::sums(std::size_t replica, std::size_t minibatch) const {
  TrainingSums sums;
  const std::size_t begin = (minibatch * replicas_ + replica) * microbatches_;
  for (std::size_t i = 0; i < microbatches_; ++i) sums.add(sums_[begin + i]);
  return sums;
}

void RoleTraining::finish(std::size_t minibatch, const MiniBatchResult& result) { results_[minibatch] = result; }

Result<StepDecision> RoleTraining::decide(std::size_t minibatch) {
  DOVETAIL_ASSERT(results_[minibatch]);
  auto& decision = decisions_[minibatch];
  if (decision) return *decision;
  // What comes behind the end is not told of.
  const auto* const before = minibatch == 0 ? nullptr : &decisions_[minibatch - 1];
  DOVETAIL_ASSERT(before == nullptr || *before);
  if (before != nullptr && (*before)->ok() && (**before)->ends)
    decision = StepDecision{.step = std::nullopt, .ends = true};
  else
    decision = training_.decide(minibatch, results_[minibatch]->norm, results_[minibatch]->sums);
  return *decision;
}

}  // namespace dovetail::runtime
