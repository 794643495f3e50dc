// One role's part of a training phase, as a rank sees it: its micro-batches, what is told of them, and its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "control/models.h"
#include "runtime/model/micro_batch_pass.h"

namespace dovetail::runtime {

using base::MicrobatchId;

/// What is told of a mini-batch, over all ranks.
struct MiniBatchResult {
  double norm = 0;
  control::TrainingSums sums;
};

/// Micro-batches are numbered through the mini-batches, those of each replica by itself. `training` must stay.
class RoleTraining {
 public:
  /// Deals the sequences of each mini-batch to `replicas`, and those of a replica to `microbatches` micro-batches; the
  /// last ones are empty where there are fewer sequences.
  RoleTraining(const control::Training& training, std::size_t replicas, std::size_t microbatches);

  /// The sequences of a micro-batch, of `minibatch_of` it; none where it is empty.
  MicroBatch micro_batch(std::size_t replica, MicrobatchId id) const;
  /// Its rows: an empty one has one, that counts for nothing.
  std::int64_t rows(std::size_t replica, MicrobatchId id) const;
  double temperature() const { return training_.settings.temperature; }

  /// The slopes of a micro-batch, whose sums are kept.
  std::vector<control::ScoreSlopes> slopes(std::size_t replica, MicrobatchId id,
                                           std::span<const control::Scores> scores);
  /// The sums of a replica's mini-batch, of what was scored on this rank, in the order of micro-batches.
  control::TrainingSums sums(std::size_t replica, std::size_t minibatch) const;
  std::size_t replicas() const { return replicas_; }
  std::size_t microbatches() const { return microbatches_; }

  /// Takes what all ranks found of a mini-batch. Before decide.
  void finish(std::size_t minibatch, const MiniBatchResult& result);
  bool is_finished(std::size_t minibatch) const { return results_[minibatch].has_value(); }
  const MiniBatchResult& result(std::size_t minibatch) const { return *results_[minibatch]; }
  /// Which step the mini-batch ends with: asked once, by whoever comes first, and the same for all who ask.
  base::Result<control::StepDecision> decide(std::size_t minibatch);
  std::size_t minibatches() const { return results_.size(); }

 private:
  std::size_t place(std::size_t replica, MicrobatchId id) const;

  const control::Training& training_;
  std::size_t replicas_;
  std::size_t microbatches_;
  std::vector<std::vector<std::size_t>> ids_;  // [micro-batch of replica: place()]
  std::vector<control::TrainingSums> sums_;    // likewise
  std::vector<std::optional<MiniBatchResult>> results_;
  std::vector<std::optional<base::Result<control::StepDecision>>> decisions_;  // [mini-batch]
};

}  // namespace dovetail::runtime
