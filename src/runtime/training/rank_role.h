// The stages that a rank has of one role in a training phase, and what they do together behind a mini-batch's last
// backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/training/role_training.h"
#include "runtime/training/stage_state.h"

namespace dovetail::runtime {

/// What is asked and the states must stay.
class RankRole {
 public:
  RankRole(const control::Training& asked, std::size_t replicas, std::size_t microbatches,
           std::vector<StageState*> states_here)
      : training(asked, replicas, microbatches), states(std::move(states_here)) {}

  /// Adds up the gradients of a weight that is tied within this rank; once for a mini-batch, whoever asks.
  void close(std::size_t minibatch);

  /// The gradients of a weight that the first and the last stage have, of those of both that are here; they are the
  /// same once the mini-batch is closed.
  std::vector<Tensor> tied_gradients() const;

  // What ranks tell each other of a mini-batch: of each tensor of the model the sum of the squares of what of its
  // gradient is stepped here, and the sums of each replica whose scores are here. Both are 0 for what others have.
  std::vector<double> findings(std::size_t minibatch) const;
  /// Takes the sum of all ranks' findings.
  void finish(std::size_t minibatch, const std::vector<double>& findings);

  /// Of its stages. REQUIRES: there are some.
  at::Device device() const { return states.front()->model.weights.values.device(); }

  RoleTraining training;
  std::vector<StageState*> states;

 private:
  std::size_t closed_ = 0;  // mini-batches
};

}  // namespace dovetail::runtime
