#include "runtime/training/optimizer.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/optimizer.h"
#include "runtime/model/device.h"
#include "transport/collectives.h"

namespace dovetail::runtime {
namespace {

/// Tensors of one weight's step.
struct StepTensors {
  const Tensor& value;
  const Tensor& gradient;
  const Tensor& first;
  const Tensor& second;
};

template <class Number>
void step_on_cpu(const kernels::AdamwStep& step, const StepTensors& tensors) {
  const kernels::AdamwNumbers<Number> numbers{tensors.value.data_ptr<Number>(), tensors.gradient.data_ptr<Number>(),
                                              tensors.first.data_ptr<Number>(), tensors.second.data_ptr<Number>()};
  share_out(tensors.value.numel(), tensors.value.numel(),
            [&](std::int64_t begin, std::int64_t end) { kernels::step_adamw(step, numbers, begin, end); });
}

/// Same step with ATen operators.
void step_by_tensors(const kernels::AdamwStep& step, const StepTensors& tensors) {
  const auto steps = static_cast<double>(step.step);
  const double first_bias = 1 - std::pow(step.betas[0], steps);
  const double second_root = std::sqrt(1 - std::pow(step.betas[1], steps));
  const Tensor gradient = tensors.gradient.mul(step.gradient_factor);
  tensors.value.mul_(1 - step.learning_rate * step.weight_decay);
  tensors.first.mul_(step.betas[0]).add_(gradient, 1 - step.betas[0]);
  tensors.second.mul_(step.betas[1]).addcmul_(gradient, gradient, 1 - step.betas[1]);
  const Tensor root = tensors.second.sqrt().div_(second_root).add_(step.epsilon);
  tensors.value.addcdiv_(tensors.first, root, -step.learning_rate / first_bias);
}

double squares_of(const Tensor& x) {
  if (!x.device().is_cpu()) return x.to(at::kDouble).square_().sum().item<double>();
  return x.scalar_type() == at::kDouble ? kernels::sum_of_squares(x.data_ptr<double>(), x.numel())
                                        : kernels::sum_of_squares(x.data_ptr<float>(), x.numel());
}

/// Returns the whole weight in its shape, or a vector of some elements.
Tensor part_of(const Tensor& weight, const WeightPart& part) {
  if (part.end - part.begin == weight.numel()) return weight;
  return weight.view({-1}).narrow(0, part.begin, part.end - part.begin);
}

}  // namespace

std::vector<WeightPart> all_parts(const Weights& weights) {
  std::vector<WeightPart> parts;
  for (std::size_t i = 0; i < weights.parameters.size(); ++i)
    if (!weights.parameters[i].shared) parts.push_back({i, 0, weights.parameters[i].value.numel()});
  return parts;
}

Optimizer make_optimizer(const Weights& weights, std::vector<WeightPart> parts) {
  Optimizer optimizer{at::zeros({1}, at::kLong), std::move(parts), {}, {}};
  for (const WeightPart& part : optimizer.parts)
    for (auto* const moments : {&optimizer.first, &optimizer.second})
      moments->push_back(at::zeros_like(part_of(weights.parameters[part.parameter].value, part)));
  return optimizer;
}

void join_tied_gradients(Weights& weights) {
  for (const Parameter& parameter : weights.parameters)
    if (parameter.shared) weights.parameters.front().gradient.add_(parameter.gradient);
}

double squares_of(const Weights& weights, const WeightPart& part) {
  return squares_of(part_of(weights.parameters[part.parameter].gradient, part));
}

double global_norm(const Weights& weights) {
  double sum = 0;
  for (const WeightPart& part : all_parts(weights)) sum += squares_of(weights, part);
  return std::sqrt(sum);
}

void step(Optimizer& optimizer, Weights& weights, const control::StepSettings& settings) {
  optimizer.steps.add_(1);
  const kernels::AdamwStep step{.learning_rate = settings.optimizer.learning_rate * settings.rate_part,
                                .betas = {settings.optimizer.betas[0], settings.optimizer.betas[1]},
                                .epsilon = settings.optimizer.epsilon,
                                .weight_decay = settings.optimizer.weight_decay,
                                .step = optimizer.steps.item<std::int64_t>(),
                                .gradient_factor = settings.clip_factor};
  for (std::size_t i = 0; i < optimizer.parts.size(); ++i) {
    const WeightPart& part = optimizer.parts[i];
    const Parameter& parameter = weights.parameters[part.parameter];
    const Tensor value = part_of(parameter.value, part);
    const Tensor gradient = part_of(parameter.gradient, part);
    const StepTensors tensors{value, gradient, optimizer.first[i], optimizer.second[i]};
    if (!value.device().is_cpu())
      step_by_tensors(step, tensors);
    else if (value.scalar_type() == at::kDouble)
      step_on_cpu<double>(step, tensors);
    else
      step_on_cpu<float>(step, tensors);
  }
}

std::vector<WeightPart> parts_of_share(const Weights& weights, std::size_t shares, std::size_t share) {
  std::vector<WeightPart> parts;
  const auto add_part_of = [&](std::int64_t begin, std::int64_t end) {
    const transport::Share own = transport::share_of(static_cast<std::size_t>(end - begin), shares, share);
    const std::int64_t first = begin + static_cast<std::int64_t>(own.begin);
    const std::int64_t last = first + static_cast<std::int64_t>(own.size);
    for (std::size_t i = 0; i < weights.parameters.size(); ++i) {
      const Parameter& parameter = weights.parameters[i];
      if (parameter.shared || parameter.offset < begin || parameter.offset >= end) continue;
      const std::int64_t from = std::max(first, parameter.offset);
      const std::int64_t to = std::min(last, parameter.offset + parameter.value.numel());
      if (from < to) parts.push_back({i, from - parameter.offset, to - parameter.offset});
    }
  };
  add_part_of(0, weights.apart);
  add_part_of(weights.apart, weights.values.numel());
  return parts;
}

}  // namespace dovetail::runtime
