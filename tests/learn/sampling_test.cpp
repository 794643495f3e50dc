#include "learn/sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace dovetail::learn {
namespace {

const std::vector<float> logits{1.0F, 3.0F, 2.0F, 3.0F, -1.0F};

std::set<std::int32_t> reachable(const SamplingLimits& limits) {
  std::set<std::int32_t> tokens;
  for (int part = 0; part < 10'000; ++part) tokens.insert(sample(logits, limits, part / 10'000.0));
  return tokens;
}

TEST(Sample, AtTemperatureZeroIsTheFirstMostLikely) {
  for (const double uniform : {0.0, 0.5, 0.999}) EXPECT_EQ(sample(logits, {.temperature = 0}, uniform), 1);
}

TEST(Sample, ObeysItsLimits) {
  EXPECT_EQ(reachable({}), (std::set<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(reachable({.top_k = 3}), (std::set<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(reachable({.top_k = 99}), (std::set<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(reachable({.top_p = 0.5}), (std::set<std::int32_t>{1, 3}));
  EXPECT_EQ(reachable({.top_p = 1e-6}), (std::set<std::int32_t>{1}));
  EXPECT_EQ(reachable({.top_k = 2, .top_p = 0.4}), (std::set<std::int32_t>{1}));
}

TEST(Sample, DividesTheUnitIntervalByProbability) {
  constexpr int draws = 200'000;
  std::map<std::int32_t, int> counts;
  for (int draw = 0; draw < draws; ++draw)
    ++counts[sample(logits, {.temperature = 2}, uniform_of({.seed = 1, .position = static_cast<std::uint64_t>(draw)}))];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit / 2);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const double expected = std::exp(logits[token] / 2) / sum;
    EXPECT_NEAR(counts[static_cast<std::int32_t>(token)] / static_cast<double>(draws), expected, 0.005) << token;
  }
}

TEST(Sample, NeverSelectsMaskedTokens) {
  constexpr float never = -std::numeric_limits<float>::infinity();
  const std::vector<float> masked{never, 0.0F, never, never};
  for (const double uniform : {0.0, 0.5, 1 - 1e-16}) EXPECT_EQ(sample(masked, {}, uniform), 1);
}

RC_GTEST_PROP(Sample, SelectsATokenWithinItsLimits, ()) {
  const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50)));
  std::vector<float> values(whole.begin(), whole.end());
  const SamplingLimits limits{*rc::gen::inRange(1, 40) / 10.0, *rc::gen::inRange<std::int64_t>(0, 10),
                              *rc::gen::inRange(1, 101) / 100.0};
  const std::int32_t found = sample(values, limits, *rc::gen::inRange(0, 1000) / 1000.0);
  const float logit = values[static_cast<std::size_t>(found)];
  const auto better = std::count_if(values.begin(), values.end(), [&](float other) { return other > logit; });
  if (limits.top_k > 0) RC_ASSERT(better < limits.top_k);
}

TEST(UniformOf, DependsOnEveryPartOfItsKey) {
  const DrawKey key{1, 2, 3, 4, 5};
  std::set<double> values{uniform_of(key)};
  for (std::uint64_t DrawKey::* part :
       {&DrawKey::seed, &DrawKey::epoch, &DrawKey::prompt, &DrawKey::copy, &DrawKey::position}) {
    DrawKey other = key;
    ++(other.*part);
    values.insert(uniform_of(other));
  }
  values.insert(uniform_of({1, 3, 2, 4, 5}));
  EXPECT_EQ(values.size(), 7U);
  EXPECT_EQ(uniform_of(key), uniform_of(key));
  double sum = 0;
  for (std::uint64_t position = 0; position < 10'000; ++position) {
    const double value = uniform_of({.seed = 3, .position = position});
    EXPECT_TRUE(value >= 0 && value < 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.01);
}

}  // namespace
}  // namespace dovetail::learn
