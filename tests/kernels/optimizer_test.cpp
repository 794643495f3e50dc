#include "kernels/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/numbers.h"

namespace dovetail::kernels {
namespace {

constexpr std::int64_t count = 1003;

/// Random numbers and the result of three steps.
template <class Number>
struct Weight {
  std::vector<Number> weights = random_numbers<Number>(count, 1);
  std::vector<Number> gradients = random_numbers<Number>(count, 2, 0.1);
  std::vector<Number> first_moments = std::vector<Number>(count);
  std::vector<Number> second_moments = std::vector<Number>(count);

  AdamwNumbers<Number> numbers() {
    return {weights.data(), gradients.data(), first_moments.data(), second_moments.data()};
  }
};

AdamwStep settings_of(std::int64_t step) {
  return {.learning_rate = 1e-2,
          .betas = {0.9, 0.95},
          .epsilon = 1e-8,
          .weight_decay = 0.1,
          .step = step,
          .gradient_factor = 0.5};
}

/// Computes one number by the formulas in the documentation of torch.optim.AdamW.
double naive(double weight, double gradient, std::int64_t steps) {
  double first = 0;
  double second = 0;
  for (std::int64_t t = 1; t <= steps; ++t) {
    const AdamwStep step = settings_of(t);
    const double g = gradient * step.gradient_factor;
    weight -= step.learning_rate * step.weight_decay * weight;
    first = step.betas[0] * first + (1 - step.betas[0]) * g;
    second = step.betas[1] * second + (1 - step.betas[1]) * g * g;
    const double mean = first / (1 - std::pow(step.betas[0], static_cast<double>(t)));
    const double variance = second / (1 - std::pow(step.betas[1], static_cast<double>(t)));
    weight -= step.learning_rate * mean / (std::sqrt(variance) + step.epsilon);
  }
  return weight;
}

template <class Number>
void expect_adamw(double tolerance) {
  Weight<Number> whole;
  Weight<Number> parts;
  const Weight<Number> before = whole;
  constexpr std::int64_t steps = 3;
  for (std::int64_t t = 1; t <= steps; ++t) {
    step_adamw(settings_of(t), whole.numbers(), 0, count);
    step_adamw(settings_of(t), parts.numbers(), 0, 401);
    step_adamw(settings_of(t), parts.numbers(), 401, count);
  }
  EXPECT_EQ(whole.weights, parts.weights);
  EXPECT_EQ(whole.second_moments, parts.second_moments);
  for (std::size_t i = 0; i < whole.weights.size(); ++i)
    EXPECT_NEAR(static_cast<double>(whole.weights[i]),
                naive(static_cast<double>(before.weights[i]), static_cast<double>(before.gradients[i]), steps),
                tolerance);
}

TEST(Adamw, MatchesTorch) {
  expect_adamw<float>(3e-7);
  expect_adamw<double>(1e-14);
}

TEST(Adamw, KeepsAWeightWithoutGradientAndDecay) {
  float numbers[4] = {0.25, 0, 0, 0};
  step_adamw<float>({.learning_rate = 1}, {numbers, numbers + 1, numbers + 2, numbers + 3}, 0, 1);
  EXPECT_EQ(numbers[0], 0.25F);
}

TEST(SumOfSquares, IsInDoublePrecision) {
  for (const std::int64_t length : {0, 1, 15, 16, 17, 100'003}) {
    const auto numbers = random_numbers<float>(length, 3, 1000);
    double expected = 0;
    for (const float number : numbers) expected += static_cast<double>(number) * static_cast<double>(number);
    EXPECT_NEAR(sum_of_squares(numbers.data(), length), expected, 1e-12 * expected) << length;
    const std::vector<double> wide(numbers.begin(), numbers.end());
    EXPECT_EQ(sum_of_squares(wide.data(), length), sum_of_squares(numbers.data(), length));
  }
}

}  // namespace
}  // namespace dovetail::kernels
