#include "kernels/optimizer.h"

#include <cmath>

#include "kernels/registers.h"

namespace dovetail::kernels {

template <class Number>
void step_adamw(const AdamwStep& step, const AdamwNumbers<Number>& numbers, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<double>(step.step);
  const auto kept = static_cast<Number>(1 - step.learning_rate * step.weight_decay);
  const auto factor = static_cast<Number>(step.gradient_factor);
  const auto old_first = static_cast<Number>(step.betas[0]);
  const auto new_first = static_cast<Number>(1 - step.betas[0]);
  const auto old_second = static_cast<Number>(step.betas[1]);
  const auto new_second = static_cast<Number>(1 - step.betas[1]);
  const auto rate = static_cast<Number>(step.learning_rate / (1 - std::pow(step.betas[0], count)));
  const auto second_root = static_cast<Number>(std::sqrt(1 - std::pow(step.betas[1], count)));
  const auto epsilon = static_cast<Number>(step.epsilon);
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    Number* const weights = numbers.weights;
    const Number* const gradients = numbers.gradients;
    Number* const firsts = numbers.first_moments;
    Number* const seconds = numbers.second_moments;
    DOVETAIL_INDEPENDENT
    for (std::int64_t i = begin; i < end; ++i) {
      const Number gradient = gradients[i] * factor;
      const Number first = firsts[i] * old_first + gradient * new_first;
      const Number second = seconds[i] * old_second + gradient * gradient * new_second;
      firsts[i] = first;
      seconds[i] = second;
      weights[i] = weights[i] * kept - rate * first / (std::sqrt(second) / second_root + epsilon);
    }
  });
}

template <class Number>
double sum_of_squares(const Number* numbers, std::int64_t count) {
  constexpr std::int64_t parts = 16;
  double sums[parts] = {};
  double* const all = sums;
  run_on_best_registers([=](auto) __attribute__((always_inline)) {
    double here[parts] = {};
    std::int64_t at = 0;
    for (; at + parts <= count; at += parts)
      for (std::int64_t i = 0; i < parts; ++i)
        here[i] += static_cast<double>(numbers[at + i]) * static_cast<double>(numbers[at + i]);
    for (std::int64_t i = 0; at + i < count; ++i)
      here[i] += static_cast<double>(numbers[at + i]) * static_cast<double>(numbers[at + i]);
    for (std::int64_t i = 0; i < parts; ++i) all[i] = here[i];
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

#define DOVETAIL_OPTIMIZER_FOR(Number)                                                                 \
  template void step_adamw(const AdamwStep&, const AdamwNumbers<Number>&, std::int64_t, std::int64_t); \
  template double sum_of_squares(const Number*, std::int64_t);

DOVETAIL_OPTIMIZER_FOR(float)
DOVETAIL_OPTIMIZER_FOR(double)

}  // namespace dovetail::kernels
