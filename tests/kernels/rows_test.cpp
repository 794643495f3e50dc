#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/numbers.h"

namespace dovetail::kernels {
namespace {

constexpr double epsilon = 1e-5;
constexpr std::int64_t sizes[] = {1, 7, 8, 33, 576};

template <class Number>
void expect_normalized(double tolerance) {
  for (const std::int64_t size : sizes) {
    constexpr std::int64_t rows = 5;
    const auto x = random_numbers<Number>(rows * size, 1, 10);
    const auto scale = random_numbers<Number>(size, 2);
    std::vector<Number> out(x.size());
    std::vector<Number> roots(rows);
    normalize(x.data(), scale.data(), rows, size, epsilon, out.data());
    reciprocal_roots(x.data(), rows, size, epsilon, roots.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (std::int64_t i = 0; i < size; ++i)
        squares += std::pow(static_cast<double>(x[static_cast<std::size_t>(row * size + i)]), 2);
      const double root = std::sqrt(squares / static_cast<double>(size) + epsilon);
      EXPECT_NEAR(static_cast<double>(roots[static_cast<std::size_t>(row)]) * root, 1, tolerance);
      std::vector<Number> alone(static_cast<std::size_t>(size));
      normalize(x.data() + row * size, scale.data(), 1, size, epsilon, alone.data());
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(row * size + i);
        EXPECT_NEAR(static_cast<double>(out[at]),
                    static_cast<double>(x[at]) / root * static_cast<double>(scale[static_cast<std::size_t>(i)]),
                    tolerance);
        EXPECT_EQ(out[at], alone[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(Rows, AreNormalizedIndependently) {
  expect_normalized<float>(1e-6);
  expect_normalized<double>(1e-14);
}

struct NormSlopes {
  std::vector<double> x;
  std::vector<double> scale;
};

/// Computes the backward pass, with the scales in two ranges.
template <class Number>
NormSlopes norm_backward(const std::vector<double>& x, const std::vector<double>& scale, const std::vector<double>& dy,
                         std::int64_t rows, bool in_place) {
  const auto size = static_cast<std::int64_t>(scale.size());
  const std::vector<Number> of_x(x.begin(), x.end());
  const std::vector<Number> of_scale(scale.begin(), scale.end());
  const std::vector<Number> of_dy(dy.begin(), dy.end());
  std::vector<Number> roots(static_cast<std::size_t>(rows));
  reciprocal_roots(of_x.data(), rows, size, epsilon, roots.data());
  std::vector<Number> gradient(scale.size(), Number{1});
  add_scale_gradient(of_x.data(), roots.data(), of_dy.data(), rows, size, 0, size / 3, gradient.data());
  add_scale_gradient(of_x.data(), roots.data(), of_dy.data(), rows, size, size / 3, size, gradient.data());
  std::vector<Number> dx = of_dy;
  normalize_backward(of_x.data(), of_scale.data(), roots.data(), in_place ? dx.data() : of_dy.data(), rows, size,
                     dx.data());
  return {{dx.begin(), dx.end()}, {gradient.begin(), gradient.end()}};
}

TEST(Rows, BackwardOfTheNormIsItsDerivative) {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{7}, std::int64_t{33}, std::int64_t{300}}) {
    constexpr std::int64_t rows = 3;
    auto x = random_numbers<double>(rows * size, 1, 2);
    auto scale = random_numbers<double>(size, 2);
    const auto dy = random_numbers<double>(rows * size, 3);
    const auto loss = [&] {
      std::vector<double> out(x.size());
      normalize(x.data(), scale.data(), rows, size, epsilon, out.data());
      return weighed(out, dy);
    };
    const NormSlopes slopes = norm_backward<double>(x, scale, dy, rows, false);
    const NormSlopes single = norm_backward<float>(x, scale, dy, rows, true);
    const std::vector<double> by_x = differences(x, loss);
    const std::vector<double> by_scale = differences(scale, loss);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(slopes.x[i], by_x[i], 1e-7) << size;
      EXPECT_NEAR(single.x[i], slopes.x[i], 2e-5);
    }
    for (std::size_t i = 0; i < scale.size(); ++i) {
      EXPECT_NEAR(slopes.scale[i], 1 + by_scale[i], 1e-8) << size;
      EXPECT_NEAR(single.scale[i], slopes.scale[i], 1e-5);
    }
  }
}

TEST(Rows, RotatePairsByTheirAngles) {
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t size = 10;
  const auto before = random_numbers<float>(heads * size, 3);
  std::vector<float> cosines;
  std::vector<float> sines;
  for (int i = 0; i < size / 2; ++i) {
    cosines.push_back(std::cos(static_cast<float>(i)));
    sines.push_back(std::sin(static_cast<float>(i)));
  }
  std::vector<float> after = before;
  rotate(after.data(), heads, size, cosines.data(), sines.data());
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < size / 2; ++i) {
      const std::size_t first = head * size + i;
      const std::size_t second = first + size / 2;
      EXPECT_NEAR(after[first], before[first] * cosines[i] - before[second] * sines[i], 1e-6);
      EXPECT_NEAR(after[second], before[second] * cosines[i] + before[first] * sines[i], 1e-6);
    }
}

TEST(Rows, RotateByTheirPositionsAndBack) {
  constexpr std::int64_t heads = 2;
  constexpr std::int64_t size = 34;
  constexpr std::int64_t stride = heads * size + 5;
  const std::vector<std::int64_t> positions{4, 0, 7, 4};
  const auto count = static_cast<std::int64_t>(positions.size());
  std::vector<double> cosines;
  std::vector<double> sines;
  for (int position = 0; position < 8; ++position)
    for (int i = 0; i < size / 2; ++i) {
      cosines.push_back(std::cos(position / (i + 1.0)));
      sines.push_back(std::sin(position / (i + 1.0)));
    }
  const auto before = random_numbers<double>(stride * count, 4);
  std::vector<double> after = before;
  const RotaryRows<double> rows{after.data(), stride, heads, size, positions.data(), cosines.data(), sines.data()};
  rotate(rows, 0, 1, RotationDirection::forward);
  rotate(rows, 1, count, RotationDirection::forward);
  for (std::int64_t t = 0; t < count; ++t) {
    std::vector<double> expected(before.begin() + t * stride, before.begin() + t * stride + heads * size);
    const std::int64_t angles = positions[static_cast<std::size_t>(t)] * size / 2;
    rotate(expected.data(), heads, size, cosines.data() + angles, sines.data() + angles);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(after[static_cast<std::size_t>(t * stride) + i], expected[i]);
  }
  EXPECT_NE(after, before);
  rotate(rows, 0, count, RotationDirection::backward);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-15);
}

TEST(Rows, AreGated) {
  const auto gates = random_numbers<float>(1003, 4, 60);
  const auto up = random_numbers<float>(1003, 5);
  std::vector<float> in_place = gates;
  std::vector<float> out(gates.size());
  gate(in_place.data(), up.data(), 1003);
  gate(gates.data(), up.data(), 1003, out.data());
  EXPECT_EQ(in_place, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto x = static_cast<double>(gates[i]);
    EXPECT_NEAR(static_cast<double>(out[i]), x / (1 + std::exp(-x)) * static_cast<double>(up[i]),
                2e-6 * (1 + std::abs(x)));
    float alone = gates[i];
    gate(&alone, &up[i], 1);
    EXPECT_EQ(out[i], alone);
  }
}

TEST(Rows, BackwardOfTheGateIsItsDerivative) {
  constexpr std::int64_t count = 203;
  auto gates = random_numbers<double>(count, 6, 20);
  auto up = random_numbers<double>(count, 7);
  const auto dy = random_numbers<double>(count, 8);
  const auto loss = [&] {
    std::vector<double> out(gates.size());
    gate(gates.data(), up.data(), count, out.data());
    return weighed(out, dy);
  };
  std::vector<double> d_gates = gates;
  std::vector<double> d_up = dy;
  gate_backward(d_gates.data(), up.data(), d_up.data(), count, d_gates.data(), d_up.data());
  std::vector<float> single_gates(gates.begin(), gates.end());
  std::vector<float> single_up(up.begin(), up.end());
  const std::vector<float> single_dy(dy.begin(), dy.end());
  gate_backward(single_gates.data(), single_up.data(), single_dy.data(), count, single_gates.data(), single_up.data());
  const std::vector<double> by_gates = differences(gates, loss);
  const std::vector<double> by_up = differences(up, loss);
  for (std::size_t i = 0; i < gates.size(); ++i) {
    EXPECT_NEAR(d_gates[i], by_gates[i], 1e-8);
    EXPECT_NEAR(d_up[i], by_up[i], 1e-8);
    EXPECT_NEAR(static_cast<double>(single_gates[i]), d_gates[i], 2e-6);
    EXPECT_NEAR(static_cast<double>(single_up[i]), d_up[i], 1e-5);
  }
}

/// Computes the definition in extended precision.
template <class Number>
TokenDistribution naive(const std::vector<Number>& logits, double temperature) {
  long double max = -std::numeric_limits<long double>::infinity();
  for (const Number logit : logits) max = std::max(max, static_cast<long double>(logit) / temperature);
  long double sum = 0;
  for (const Number logit : logits) sum += std::exp(static_cast<long double>(logit) / temperature - max);
  const long double log_sum_exp = max + std::log(sum);
  long double entropy = 0;
  for (const Number logit : logits) {
    const long double log_share = static_cast<long double>(logit) / temperature - log_sum_exp;
    if (std::isfinite(log_share)) entropy -= std::exp(log_share) * log_share;
  }
  return {static_cast<double>(log_sum_exp), static_cast<double>(entropy)};
}

template <class Number>
void expect_distribution(const std::vector<Number>& logits, double temperature, double tolerance) {
  const auto count = static_cast<std::int64_t>(logits.size());
  const TokenDistribution expected = naive(logits, temperature);
  const TokenDistribution got = distribution_of(logits.data(), count, temperature);
  EXPECT_NEAR(got.log_sum_exp, expected.log_sum_exp, tolerance) << count << " " << temperature;
  EXPECT_NEAR(got.entropy, expected.entropy, tolerance) << count << " " << temperature;
  EXPECT_NEAR(log_probability(got, logits.data(), temperature, count - 1),
              static_cast<double>(logits.back()) / temperature - expected.log_sum_exp, tolerance);
}

TEST(Vocabulary, ComputesLogProbabilitiesAndEntropy) {
  for (const std::int64_t count : {1, 2, 15, 16, 63, 64, 65, 1000, 150'000})
    for (const double temperature : {1.0, 0.7, 1.9})
      for (const double range : {0.01, 3.0, 30.0}) {
        expect_distribution(random_numbers<float>(count, 1, range), temperature, 1e-6);
        expect_distribution(random_numbers<double>(count, 1, range), temperature, 1e-11);
      }
}

TEST(Vocabulary, HandlesLargeAndInfiniteLogits) {
  std::vector<float> logits = random_numbers<float>(5000, 2, 4);
  for (float& logit : logits) logit += 10'000;
  expect_distribution(logits, 1, 2e-6);
  logits = random_numbers<float>(5000, 2, 4);
  for (std::size_t i = 0; i < logits.size(); i += 2) logits[i] = -std::numeric_limits<float>::infinity();
  expect_distribution(logits, 1, 1e-6);
  logits.assign(200, -1000);
  logits[7] = 1000;
  const TokenDistribution sure = distribution_of(logits.data(), 200, 1);
  EXPECT_EQ(sure.log_sum_exp, 1000);
  EXPECT_EQ(sure.entropy, 0);
  EXPECT_EQ(log_probability(sure, logits.data(), 1, 7), 0);
  distribution_backward(logits.data(), 200, 1, sure, {3, 1.5, 2});
  EXPECT_EQ(logits[3], 1.5F);
  EXPECT_EQ(logits[7], -1.5F);
  EXPECT_EQ(logits[8], 0);
}

TEST(Vocabulary, BackwardIsTheDerivative) {
  for (const std::int64_t count : {1, 2, 70, 333})
    for (const double temperature : {1.0, 0.6}) {
      auto logits = random_numbers<double>(count, 3, 3);
      const TokenSlopes slopes{count / 2, 1.25, -0.75};
      const auto loss = [&] {
        const TokenDistribution distribution = naive(logits, temperature);
        return slopes.by_log_probability *
                   (logits[static_cast<std::size_t>(slopes.token)] / temperature - distribution.log_sum_exp) +
               slopes.by_entropy * distribution.entropy;
      };
      const std::vector<double> expected = differences(logits, loss);
      std::vector<float> single(logits.begin(), logits.end());
      distribution_backward(logits.data(), count, temperature, distribution_of(logits.data(), count, temperature),
                            slopes);
      distribution_backward(single.data(), count, temperature, distribution_of(single.data(), count, temperature),
                            slopes);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(logits[i], expected[i], 1e-9);
        EXPECT_NEAR(static_cast<double>(single[i]), expected[i], 1e-6);
      }
    }
}

}  // namespace
}  // namespace dovetail::kernels
