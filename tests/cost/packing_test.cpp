#include "cost/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

namespace dovetail::cost {
namespace {

using testing::ElementsAre;

/// The rule word by word.
std::vector<Pack> packed_slowly(std::vector<std::int64_t> lengths, double capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<Pack> packs;
  for (const std::int64_t length : lengths) {
    auto into =
        std::find_if(packs.begin(), packs.end(), [&](const Pack& pack) { return static_cast<double>(pack.tokens + length) <= capacity; });
    if (into == packs.end()) into = packs.insert(packs.end(), Pack{});
    into->tokens += length;
    into->squares += static_cast<double>(length * length);
    into->last = length;
  }
  return packs;
}

TEST(FirstFitDecreasing, KnownPacks) {
  EXPECT_THAT(first_fit_decreasing({2, 3, 4, 5, 6}, 10), ElementsAre(Pack{10, 52, 4}, Pack{10, 38, 2}));
  EXPECT_THAT(first_fit_decreasing({7, 7, 4, 3}, 10), ElementsAre(Pack{10, 58, 3}, Pack{7, 49, 7}, Pack{4, 16, 4}));
  EXPECT_THAT(first_fit_decreasing({}, 10), ElementsAre());
}

TEST(FirstFitDecreasing, WhatIsTooLongIsAlone) {
  EXPECT_THAT(first_fit_decreasing({1, 12, 11}, 10), ElementsAre(Pack{12, 144, 12}, Pack{11, 121, 11}, Pack{1, 1, 1}));
}

RC_GTEST_PROP(FirstFitDecreasing, IsTheRule, ()) {
  const auto lengths = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 60));
  const double capacity = *rc::gen::inRange(1, 100);
  RC_ASSERT(first_fit_decreasing(lengths, capacity) == packed_slowly(lengths, capacity));
}

}  // namespace
}  // namespace dovetail::cost
