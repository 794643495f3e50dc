// AdamW over the weights of a model.
#pragma once

#include <cstdint>
#include <vector>

#include "control/models.h"
#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// The moments of each weight, [parameter] of Weights; undefined for a tied head, which has those of the embedding.
struct Optimizer {
  Tensor steps;  ///< taken so far: one whole number, so that it is saved as all else is
  std::vector<Tensor> first;
  std::vector<Tensor> second;
};

/// No step taken yet: moments of 0.
Optimizer make_optimizer(const Weights& weights);

/// Adds the gradient of a tied head to that of the embedding, whose weight it is. To be called once between the last
/// micro-batch of a mini-batch and global_norm.
void join_tied_gradients(Weights& weights);

/// The root of the sum of all gradients' squares: sums in double precision, by weight in the order of the model.
double global_norm(const Weights& weights);

/// One step of AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101, algorithm 2) with the learning rate as it stands in
/// `settings` times its part; gradients are multiplied by `clip_factor` first. Weight decay is taken off all weights.
void step(Optimizer& optimizer, Weights& weights, const control::StepSettings& settings);

}  // namespace dovetail::runtime
