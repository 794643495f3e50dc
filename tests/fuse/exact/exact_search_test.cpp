#include "fuse/exact/exact_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace dovetail::fuse {
namespace {

using Key = std::vector<std::uint16_t>;
using Values = std::vector<std::int64_t>;

constexpr std::size_t plenty = std::size_t{1} << 24;

TEST(FailedStates, CoversStatesThatAreNowhereLarger) {
  FailedStates states(2, plenty);
  EXPECT_FALSE(states.covers(Key{1, 2}, Values{5, 5}));
  states.insert(Key{1, 2}, Values{5, 5});
  EXPECT_TRUE(states.covers(Key{1, 2}, Values{5, 5}));
  EXPECT_TRUE(states.covers(Key{1, 2}, Values{4, 5}));
  EXPECT_FALSE(states.covers(Key{1, 2}, Values{4, 6}));
  EXPECT_FALSE(states.covers(Key{2, 1}, Values{1, 1})) << "another key";
}

TEST(FailedStates, ForgetsWhatANewStateCovers) {
  FailedStates states(1, plenty);
  states.insert(Key{1}, Values{1, 9});
  states.insert(Key{1}, Values{9, 1});
  states.insert(Key{1}, Values{2, 2});
  EXPECT_EQ(states.size(), 3U);
  states.insert(Key{1}, Values{3, 9});
  EXPECT_EQ(states.size(), 2U) << "only 9, 1 is left with it";
  EXPECT_TRUE(states.covers(Key{1}, Values{9, 1}));
  EXPECT_TRUE(states.covers(Key{1}, Values{1, 9}));
}

TEST(FailedStates, RespectsTheMemoryLimit) {
  FailedStates states(1, 0);
  states.insert(Key{1}, Values{1});
  EXPECT_EQ(states.size(), 0U);
  EXPECT_FALSE(states.covers(Key{1}, Values{1}));
  FailedStates some(1, std::size_t{1} << 16);
  for (int i = 0; i < 60000; ++i) some.insert(Key{static_cast<std::uint16_t>(i)}, Values{1});
  EXPECT_GT(some.size(), 100U);
  EXPECT_LT(some.size(), 10000U);
}

TEST(FailedStates, AgreesWithAList) {
  // Some keys have one value and others three, as different sets of started ops do.
  base::Random random(1, 0);
  FailedStates states(2, plenty);
  std::map<Key, std::vector<Values>> list;
  int covered = 0;
  for (int step = 0; step < 30000; ++step) {
    const Key key{static_cast<std::uint16_t>(random.below(40)), static_cast<std::uint16_t>(random.below(40))};
    Values values(key[0] % 2 == 0 ? 1 : 3);
    for (std::int64_t& value : values) value = random.below(50);
    const bool expected = std::any_of(list[key].begin(), list[key].end(), [&](const Values& other) {
      return std::equal(values.begin(), values.end(), other.begin(),
                        [](std::int64_t a, std::int64_t b) { return a <= b; });
    });
    ASSERT_EQ(states.covers(key, values), expected);
    covered += expected ? 1 : 0;
    if (expected) continue;
    states.insert(key, values);
    list[key].push_back(values);
  }
  EXPECT_GT(covered, 10000);
  EXPECT_LT(covered, 25000);
}

}  // namespace
}  // namespace dovetail::fuse
