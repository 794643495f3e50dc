// What is told of a loss afterwards.
#pragma once

namespace dovetail::control {

/// Sums over the micro-batches of one mini-batch, or the mini-batches of an iteration. `weight` tokens of a policy,
/// values of a critic, learned tokens of a text, or pairs.
struct TrainingSums {
  double weight = 0;
  double loss = 0;  ///< of mini-batches; as the loss weighs them
  double entropy = 0;
  double clipped = 0;
  double ratio = 0;
  double max_ratio = 0;
  double divergence = 0;  ///< from the policy before training, k3
  double gap = 0;         ///< |log-probability - the engine's|
  double max_gap = 0;
  double squared_error = 0;
  double target = 0;
  double squared_target = 0;
  double accurate = 0;  ///< pairs in order
  double margin = 0;
  double log_probability = 0;

  void add(const TrainingSums& more);
};

}  // namespace dovetail::control
