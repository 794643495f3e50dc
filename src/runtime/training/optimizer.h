// AdamW over the weights of a model, and the state of a stage between training phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "control/models.h"
#include "llm/layout.h"
#include "runtime/model/model.h"
#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// Elements [begin, end) of a weight, given by its index in Weights::parameters.
struct WeightPart {
  std::size_t parameter = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const WeightPart&, const WeightPart&) = default;
};
/// Returns one part for each weight, which covers all of it. Omits a tied head that shares the embedding's value.
std::vector<WeightPart> all_parts(const Weights& weights);

/// AdamW moments of the weight parts that this rank steps. Moments of a whole weight have its shape.
struct Optimizer {
  Tensor steps;  ///< number of steps taken; a one-element tensor, so that it is saved like the moments
  std::vector<WeightPart> parts;
  std::vector<Tensor> first;
  std::vector<Tensor> second;
};

/// Returns an optimizer with moments of 0 that has taken no steps.
Optimizer make_optimizer(const Weights& weights, std::vector<WeightPart> parts);

/// Adds the gradient of a tied head to the embedding's gradient in the same stage. Must be called once per mini-batch,
/// after its last micro-batch and before global_norm.
void join_tied_gradients(Weights& weights);

/// Returns the sum of squares of a part's gradients, in double precision.
double squares_of(const Weights& weights, const WeightPart& part);
/// Returns the square root of the sum of squares of all gradients. Sums in double precision, weight by weight in model
/// order.
double global_norm(const Weights& weights);

/// Takes one AdamW step (Loshchilov and Hutter 2017, arXiv 1711.05101, algorithm 2) on the optimizer's parts. The
/// learning rate is `settings.optimizer.learning_rate` times `settings.rate_part`. Gradients are multiplied by
/// `settings.clip_factor` first. Weight decay applies to all weights.
void step(Optimizer& optimizer, Weights& weights, const control::StepSettings& settings);

/// Weights, gradients and optimizer state of a stage. They persist between training phases. Movable, not copyable.
struct StageState {
  std::size_t replica = 0;
  std::size_t stage = 0;
  Model model;
  Optimizer optimizer;
  llm::Recomputation recomputation = llm::Recomputation::none;
  bool is_sharded = true;  ///< whether each replica steps only its share of the weights (ZeRO-1)
};

/// Divides a stage's weights into one share per replica, and returns the parts in the share with index `share`. The
/// weights that only this stage holds and those that another stage also holds are divided separately, each by
/// transport::share_of.
std::vector<WeightPart> parts_of_share(const Weights& weights, std::size_t shares, std::size_t share);

}  // namespace dovetail::runtime
