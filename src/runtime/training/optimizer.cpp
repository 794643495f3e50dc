#include "runtime/training/optimizer.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace dovetail::runtime {

Optimizer make_optimizer(const Weights& weights) {
  Optimizer optimizer;
  optimizer.steps = at::zeros({1}, at::kLong);
  for (const Parameter& parameter : weights.parameters) {
    optimizer.first.push_back(parameter.is.tied ? Tensor() : at::zeros_like(parameter.value));
    optimizer.second.push_back(parameter.is.tied ? Tensor() : at::zeros_like(parameter.value));
  }
  return optimizer;
}

void join_tied_gradients(Weights& weights) {
  for (const Parameter& parameter : weights.parameters)
    if (parameter.is.tied) weights.parameters.front().gradient.add_(parameter.gradient);
}

double global_norm(const Weights& weights) {
  double sum = 0;
  for (const Parameter& parameter : weights.parameters)
    if (!parameter.is.tied) sum += parameter.gradient.to(at::kDouble).square_().sum().item<double>();
  return std::sqrt(sum);
}

void step(Optimizer& optimizer, Weights& weights, const control::StepSettings& settings) {
  optimizer.steps.add_(1);
  const auto steps = static_cast<double>(optimizer.steps.item<std::int64_t>());
  const double decay_1 = settings.optimizer.betas[0];
  const double decay_2 = settings.optimizer.betas[1];
  const double rate = settings.optimizer.learning_rate * settings.rate_part;
  const double first_bias = 1 - std::pow(decay_1, steps);
  const double second_root = std::sqrt(1 - std::pow(decay_2, steps));
  for (std::size_t i = 0; i < weights.parameters.size(); ++i) {
    const Parameter& parameter = weights.parameters[i];
    if (parameter.is.tied) continue;
    const Tensor gradient = parameter.gradient.mul(settings.clip_factor);
    const Tensor& value = parameter.value;
    value.mul_(1 - rate * settings.optimizer.weight_decay);
    optimizer.first[i].mul_(decay_1).add_(gradient, 1 - decay_1);
    optimizer.second[i].mul_(decay_2).addcmul_(gradient, gradient, 1 - decay_2);
    const Tensor root = optimizer.second[i].sqrt().div_(second_root).add_(settings.optimizer.epsilon);
    value.addcdiv_(optimizer.first[i], root, -rate / first_bias);
  }
}

}  // namespace dovetail::runtime
