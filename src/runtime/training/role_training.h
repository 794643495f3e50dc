// One rank's work when a role is trained in a phase: micro-batches, loss sums and step decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "control/models.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/training/optimizer.h"

namespace dovetail::runtime {

/// Splits sequences into micro-batches by the rules of src/batching. Returns, per micro-batch, indexes into
/// `sequences`. A count of micro-batches takes precedence over a token limit, and a token limit over a sequence limit.
/// If none of them is set, there is one micro-batch. Sequences that are kept together count as one sequence with all
/// their tokens. No micro-batch is empty. REQUIRES: kept_together divides the number of sequences.
std::vector<std::vector<std::size_t>> micro_batches_of(std::span<const control::TokenSequence> sequences,
                                                       const control::PassSettings& settings);

/// Distributes sequences among replicas. Returns indexes into `sequences` as [replica][micro-batch]. Each replica gets
/// exactly `microbatches` micro-batches with about equal token counts (batching::exactly). The last ones may be empty.
std::vector<std::vector<std::vector<std::size_t>>> distribute_to_replicas(
    std::span<const control::TokenSequence> sequences, std::size_t kept_together, std::size_t replicas,
    std::size_t microbatches);

/// Returns the smallest number of micro-batches, at least `planned`, for which every micro-batch of every replica is
/// within the limits of `micro_batching`. A micro-batch that consists only of one unit of sequences kept together may
/// exceed them. Returns `planned` if `micro_batching` sets a count.
std::size_t microbatches_within(const plan::MicroBatching& micro_batching,
                                std::span<const control::MiniBatch> mini_batches, std::size_t replicas,
                                std::size_t planned);

using base::MicrobatchId;

/// Gradient norm and loss sums of a mini-batch, over all ranks.
struct MiniBatchResult {
  double norm = 0;
  control::TrainingSums sums;
};

/// Micro-batches of one role. Each replica numbers them consecutively across mini-batches. `training` must outlive this
/// object.
class RoleTraining {
 public:
  /// Distributes the sequences of each mini-batch among `replicas`, and those of a replica among `microbatches`
  /// micro-batches. The last micro-batches are empty if there are too few sequences.
  RoleTraining(const control::Training& training, std::size_t replicas, std::size_t microbatches);

  /// Returns the sequences of a micro-batch, which may be empty.
  MicroBatch micro_batch(std::size_t replica, MicrobatchId id) const;
  /// Returns the number of rows of a micro-batch. An empty micro-batch has one row, of zeros.
  std::int64_t rows(std::size_t replica, MicrobatchId id) const;
  double temperature() const { return training_.settings.temperature; }

  /// Returns the gradient of the loss with respect to a micro-batch's scores. Stores the loss sums for sums().
  std::vector<control::ScoreSlopes> slopes(std::size_t replica, MicrobatchId id,
                                           std::span<const control::Scores> scores);
  /// Returns the loss sums of a replica's mini-batch over the micro-batches scored on this rank, added in micro-batch
  /// order.
  control::TrainingSums sums(std::size_t replica, std::size_t minibatch) const;
  std::size_t replicas() const { return replicas_; }
  std::size_t microbatches() const { return microbatches_; }

  /// Stores the result of a mini-batch over all ranks. Must be called before decide.
  void finish(std::size_t minibatch, const MiniBatchResult& result);
  bool is_finished(std::size_t minibatch) const { return results_[minibatch].has_value(); }
  const MiniBatchResult& result(std::size_t minibatch) const { return *results_[minibatch]; }
  /// Returns the decision about the step that ends the mini-batch. Repeated calls return the same decision.
  base::Result<control::StepDecision> decide(std::size_t minibatch);
  std::size_t minibatches() const { return results_.size(); }

 private:
  std::size_t place(std::size_t replica, MicrobatchId id) const;

  const control::Training& training_;
  std::size_t replicas_;
  std::size_t microbatches_;
  std::vector<std::vector<std::size_t>> ids_;  // indexes of sequences; [place()]
  std::vector<control::TrainingSums> sums_;    // [place()]
  std::vector<std::optional<MiniBatchResult>> results_;
  std::vector<std::optional<base::Result<control::StepDecision>>> decisions_;  // [mini-batch]
};

/// The stages of one role that a rank holds in a training phase, and their joint work after the last backward of a
/// mini-batch. `training_settings` and the states must outlive this object.
class RankRole {
 public:
  RankRole(const control::Training& training_settings, std::size_t replicas, std::size_t microbatches,
           std::vector<StageState*> states_here)
      : training(training_settings, replicas, microbatches), states(std::move(states_here)) {}

  /// Sums the gradients of an embedding and head that are tied and both on this rank. Only the first call for a
  /// mini-batch has an effect.
  void close(std::size_t minibatch);

  /// Returns this rank's gradients of the tied weight that the first and last stages hold. After close(), they are
  /// equal.
  std::vector<Tensor> tied_gradients() const;

  /// Returns this rank's contribution to the sums of a mini-batch over all ranks. The first values are, for each tensor
  /// of the model, the sum of squares of the gradient parts that this rank steps. Of unsharded replicas, only the first
  /// contributes. Then come, for each replica, the loss sums scored on this rank. Values to which this rank contributes
  /// nothing are 0.
  std::vector<double> partial_sums(std::size_t minibatch) const;
  /// Stores the result of a mini-batch, given partial_sums() added up over all ranks.
  void finish(std::size_t minibatch, const std::vector<double>& partial_sums);

  /// Returns the device of the stages. REQUIRES: there is a stage.
  at::Device device() const { return states.front()->model.weights.values.device(); }

  RoleTraining training;
  std::vector<StageState*> states;

 private:
  std::size_t closed_ = 0;  // number of closed mini-batches
};

}  // namespace dovetail::runtime
