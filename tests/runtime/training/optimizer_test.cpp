#include "runtime/training/optimizer.h"

#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/tiny_model.h"

namespace dovetail::runtime {
namespace {

/// AdamW of one number, as in the paper.
struct Scalar {
  double value;
  double first = 0;
  double second = 0;

  void step(double gradient, double rate, double beta_1, double beta_2, double epsilon, double decay, int steps) {
    first = beta_1 * first + (1 - beta_1) * gradient;
    second = beta_2 * second + (1 - beta_2) * gradient * gradient;
    const double first_now = first / (1 - std::pow(beta_1, steps));
    const double second_now = second / (1 - std::pow(beta_2, steps));
    value = value - rate * decay * value - rate * first_now / (std::sqrt(second_now) + epsilon);
  }
};

TEST(Optimizer, MatchesThePaper) {
  Model model = tiny_model({.tied = true}, 1);
  Optimizer optimizer = make_optimizer(model.weights, all_parts(model.weights));
  control::StepSettings settings;
  settings.optimizer = {.learning_rate = 0.02, .betas = {0.8, 0.9}, .epsilon = 1e-3, .weight_decay = 0.1};
  settings.clip_factor = 0.7;
  Parameter& parameter = model.weights.find("model.layers.1.mlp.up_proj.weight");
  std::vector<Scalar> expected;
  for (std::int64_t i = 0; i < parameter.value.numel(); ++i)
    expected.push_back({parameter.value.view({-1})[i].item<double>()});
  for (int steps = 1; steps <= 4; ++steps) {
    settings.rate_part = 1.0 / steps;
    for (const Parameter& each : model.weights.parameters) each.gradient.copy_(at::randn_like(each.gradient));
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i].step(0.7 * parameter.gradient.view({-1})[static_cast<std::int64_t>(i)].item<double>(), 0.02 / steps,
                       0.8, 0.9, 1e-3, 0.1, steps);
    step(optimizer, model.weights, settings);
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(parameter.value.view({-1})[static_cast<std::int64_t>(i)].item<double>(), expected[i].value, 1e-12);
}

TEST(Optimizer, TheNormCoversAllGradientsWithTiedOnesSummed) {
  Model model = tiny_model({.tied = true}, 2);
  for (const Parameter& each : model.weights.parameters) each.gradient.copy_(at::randn_like(each.gradient));
  double squares = 0;
  const Tensor both = model.embedding->gradient.add(model.head.weight->gradient);
  for (const Parameter& each : model.weights.parameters)
    if (!each.is.tied) squares += (&each == model.embedding ? both : each.gradient).square().sum().item<double>();
  join_tied_gradients(model.weights);
  EXPECT_NEAR(global_norm(model.weights), std::sqrt(squares), 1e-12 * std::sqrt(squares));
}

}  // namespace
}  // namespace dovetail::runtime
