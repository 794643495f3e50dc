#include "kernels/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/numbers.h"

namespace dovetail::kernels {
namespace {

/// By the definition, in extended precision.
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

TEST(Vocabulary, HasItsLogarithmsAndEntropy) {
  for (const std::int64_t count : {1, 2, 15, 16, 63, 64, 65, 1000, 150'000})
    for (const double temperature : {1.0, 0.7, 1.9})
      for (const double range : {0.01, 3.0, 30.0}) {
        expect_distribution(random_numbers<float>(count, 1, range), temperature, 1e-6);
        expect_distribution(random_numbers<double>(count, 1, range), temperature, 1e-11);
      }
}

TEST(Vocabulary, TakesLargeAndInfiniteLogits) {
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
