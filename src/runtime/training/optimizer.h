// AdamW over the weights of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "control/models.h"
#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// Elements [begin, end) of a weight, by its index in Weights::parameters.
struct WeightPart {
  std::size_t parameter = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const WeightPart&, const WeightPart&) = default;
};
/// All weights, each whole; a tied head beside its embedding is part of that.
std::vector<WeightPart> all_parts(const Weights& weights);

/// The moments of what is stepped here, [part]: those of a whole weight have its shape.
struct Optimizer {
  Tensor steps;  ///< taken so far: one whole number, so that it is saved as all else is
  std::vector<WeightPart> parts;
  std::vector<Tensor> first;
  std::vector<Tensor> second;
};

/// No step taken yet: moments of 0.
Optimizer make_optimizer(const Weights& weights, std::vector<WeightPart> parts);

/// Adds the gradient of a tied head to that of the embedding beside it, whose weight it is. To be called once between
/// the last micro-batch of a mini-batch and global_norm.
void join_tied_gradients(Weights& weights);

/// The sum of the squares of a part's gradients, in double precision.
double squares_of(const Weights& weights, const WeightPart& part);
/// The root of the sum of all gradients' squares: sums in double precision, by weight in the order of the model.
double global_norm(const Weights& weights);

/// One step of AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101, algorithm 2) of the optimizer's parts, with the
/// learning rate as it stands in `settings` times its part; gradients are multiplied by `clip_factor` first. Weight
/// decay is taken off all weights.
void step(Optimizer& optimizer, Weights& weights, const control::StepSettings& settings);

}  // namespace dovetail::runtime
