#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/numbers.h"
#include "kernels/rows.h"

namespace dovetail::kernels {
namespace {

template <class Number>
void expect_sums_of_products(double tolerance) {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto inputs = *rc::gen::inRange<std::int64_t>(1, 80);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto x = random_numbers<Number>(rows * inputs, 1);
  const auto weight = random_numbers<Number>(outputs * inputs, 2);
  const auto bias = random_numbers<Number>(outputs, 3);
  std::vector<Number> out(static_cast<std::size_t>(rows * outputs), static_cast<Number>(NAN));
  const bool biased = *rc::gen::arbitrary<bool>();
  multiply(LinearOf<Number>{x.data(), weight.data(), biased ? bias.data() : nullptr, out.data(), rows, inputs, outputs},
           0, outputs);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = biased ? static_cast<double>(bias[static_cast<std::size_t>(o)]) : 0;
      for (std::int64_t i = 0; i < inputs; ++i)
        sum += static_cast<double>(x[static_cast<std::size_t>(r * inputs + i)]) *
               static_cast<double>(weight[static_cast<std::size_t>(o * inputs + i)]);
      RC_ASSERT(std::abs(static_cast<double>(out[static_cast<std::size_t>(r * outputs + o)]) - sum) < tolerance);
    }
}

RC_GTEST_PROP(Linear, IsTheSumOfProducts, ()) { expect_sums_of_products<float>(1e-5); }
RC_GTEST_PROP(Linear, IsTheSumOfProductsInDoublePrecision, ()) { expect_sums_of_products<double>(1e-13); }

template <class Number>
void expect_same_bits_alone() {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 140);
  const auto inputs = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto outputs = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto x = random_numbers<Number>(rows * inputs, 4);
  const auto weight = random_numbers<Number>(outputs * inputs, 5);
  std::vector<Number> together(static_cast<std::size_t>(rows * outputs));
  std::vector<Number> alone(static_cast<std::size_t>(outputs));
  const auto middle = *rc::gen::inRange<std::int64_t>(0, outputs + 1);
  const LinearOf<Number> all{x.data(), weight.data(), nullptr, together.data(), rows, inputs, outputs};
  multiply(all, 0, middle);
  multiply(all, middle, outputs);
  for (std::int64_t r = 0; r < rows; ++r) {
    multiply(LinearOf<Number>{x.data() + r * inputs, weight.data(), nullptr, alone.data(), 1, inputs, outputs}, 0,
             outputs);
    for (std::int64_t o = 0; o < outputs; ++o)
      RC_ASSERT(alone[static_cast<std::size_t>(o)] == together[static_cast<std::size_t>(r * outputs + o)]);
  }
}

RC_GTEST_PROP(Linear, RowsAreIndependentOfOtherRowsAndRanges, ()) { expect_same_bits_alone<float>(); }
RC_GTEST_PROP(Linear, RowsAreIndependentInDoublePrecision, ()) { expect_same_bits_alone<double>(); }

}  // namespace
}  // namespace dovetail::kernels
