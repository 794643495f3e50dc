#include "control/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace dovetail::control {
namespace {

RC_GTEST_PROP(Order, EachEpochHasEachItemOnceAndEpochsFollowWithoutGaps, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const bool shuffle = *rc::gen::arbitrary<bool>();
  std::vector<DataPlace> all;
  while (all.size() < 3 * count) {
    const auto iteration = static_cast<std::int64_t>(all.size()) / batch;
    const std::vector<DataPlace> more = places_of(seed, shuffle, count, iteration, batch);
    RC_ASSERT(static_cast<std::int64_t>(more.size()) == batch);
    all.insert(all.end(), more.begin(), more.end());
  }
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::size_t> indices;
    for (std::size_t i = epoch * count; i < (epoch + 1) * count; ++i) {
      RC_ASSERT(all[i].epoch == epoch);
      indices.push_back(all[i].index);
    }
    RC_ASSERT(shuffle || std::is_sorted(indices.begin(), indices.end()));
    std::sort(indices.begin(), indices.end());
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(indices[i] == i);
  }
  const auto iterations = iterations_of(3, count, batch);
  RC_ASSERT(iterations * batch >= static_cast<std::int64_t>(3 * count));
  RC_ASSERT((iterations - 1) * batch < static_cast<std::int64_t>(3 * count));
}

TEST(Order, EachEpochIsShuffledAnew) {
  const std::vector<DataPlace> both = places_of(1, true, 50, 0, 100);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < 50; ++i) equal += both[i].index == both[i + 50].index ? 1U : 0U;
  EXPECT_LT(equal, 10U);
}

TEST(Permutation, HangsOnSeedPurposeAndIndex) {
  const auto order = permutation(1, 1, 1, 50);
  EXPECT_EQ(order, permutation(1, 1, 1, 50));
  EXPECT_NE(order, permutation(2, 1, 1, 50));
  EXPECT_NE(order, permutation(1, 2, 1, 50));
  EXPECT_NE(order, permutation(1, 1, 2, 50));
}

TEST(Permutation, IsAnyOfThemAlikeOften) {
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++counts[permutation(seed, 1, 0, 3)];
  ASSERT_EQ(counts.size(), 6U);
  // 1000 expected each, standard deviation 29.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace dovetail::control
