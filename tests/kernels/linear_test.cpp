#include "kernels/linear.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace dovetail::kernels {
namespace {

std::vector<float> random_numbers(std::int64_t count, std::uint64_t seed) {
  base::Random random(seed, 0);
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(2 * random.unit() - 1));
  return numbers;
}

RC_GTEST_PROP(Linear, IsTheSumOfProducts, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto inputs = *rc::gen::inRange<std::int64_t>(1, 80);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 20);
  const std::vector<float> x = random_numbers(rows * inputs, 1);
  const std::vector<float> weight = random_numbers(outputs * inputs, 2);
  const std::vector<float> bias = random_numbers(outputs, 3);
  std::vector<float> out(static_cast<std::size_t>(rows * outputs), NAN);
  const bool biased = *rc::gen::arbitrary<bool>();
  multiply({x.data(), weight.data(), biased ? bias.data() : nullptr, out.data(), rows, inputs, outputs}, 0, outputs);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = biased ? static_cast<double>(bias[static_cast<std::size_t>(o)]) : 0;
      for (std::int64_t i = 0; i < inputs; ++i)
        sum += static_cast<double>(x[static_cast<std::size_t>(r * inputs + i)]) *
               static_cast<double>(weight[static_cast<std::size_t>(o * inputs + i)]);
      RC_ASSERT(std::abs(static_cast<double>(out[static_cast<std::size_t>(r * outputs + o)]) - sum) < 1e-5);
    }
}

RC_GTEST_PROP(Linear, ARowHangsOnNoOtherRowAndOnNoRange, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 140);
  const auto inputs = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 30);
  const std::vector<float> x = random_numbers(rows * inputs, 4);
  const std::vector<float> weight = random_numbers(outputs * inputs, 5);
  std::vector<float> together(static_cast<std::size_t>(rows * outputs));
  std::vector<float> alone(static_cast<std::size_t>(outputs));
  const auto middle = *rc::gen::inRange<std::int64_t>(0, outputs + 1);
  const Linear all{x.data(), weight.data(), nullptr, together.data(), rows, inputs, outputs};
  multiply(all, 0, middle);
  multiply(all, middle, outputs);
  for (std::int64_t r = 0; r < rows; ++r) {
    multiply({x.data() + r * inputs, weight.data(), nullptr, alone.data(), 1, inputs, outputs}, 0, outputs);
    for (std::int64_t o = 0; o < outputs; ++o)
      RC_ASSERT(alone[static_cast<std::size_t>(o)] == together[static_cast<std::size_t>(r * outputs + o)]);
  }
}

}  // namespace
}  // namespace dovetail::kernels
