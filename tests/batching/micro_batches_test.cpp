#include "batching/micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "assignments.h"

namespace dovetail::batching {
namespace {

using test::min_largest;
using test::random_lengths;
using test::tokens_of;
using testing::ElementsAre;
using testing::IsEmpty;

using Ids = std::vector<std::size_t>;

/// A direct implementation of the rule.
Assignment packed_slowly(const std::vector<std::int64_t>& lengths, std::int64_t capacity) {
  Ids ids(lengths.size());
  for (std::size_t id = 0; id < ids.size(); ++id) ids[id] = id;
  std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  Assignment parts;
  for (const std::size_t id : ids) {
    auto into = std::find_if(parts.begin(), parts.end(),
                             [&](const Ids& part) { return test::tokens_of(part, lengths) + lengths[id] <= capacity; });
    if (into == parts.end()) into = parts.insert(parts.end(), Ids{});
    into->push_back(id);
  }
  return parts;
}

TEST(FirstFitDecreasing, KnownParts) {
  EXPECT_THAT(first_fit_decreasing({2, 3, 4, 5, 6}, 10), ElementsAre(Ids{4, 2}, Ids{3, 1, 0}));
  EXPECT_THAT(first_fit_decreasing({7, 7, 4, 3}, 10), ElementsAre(Ids{0, 3}, Ids{1}, Ids{2}));
  EXPECT_THAT(first_fit_decreasing({}, 10), IsEmpty());
}

TEST(FirstFitDecreasing, TooLongSequencesAreAlone) {
  EXPECT_THAT(first_fit_decreasing({1, 12, 11}, 10), ElementsAre(Ids{1}, Ids{2}, Ids{0}));
  EXPECT_THAT(first_fit_decreasing({1, 2}, 0), ElementsAre(Ids{1}, Ids{0}));
}

RC_GTEST_PROP(FirstFitDecreasing, MatchesTheRule, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(0, 60);
  const std::int64_t capacity = *rc::gen::inRange(1, 100);
  const Assignment parts = first_fit_decreasing(lengths, capacity);
  RC_ASSERT(parts == packed_slowly(lengths, capacity));
  RC_ASSERT(count_first_fit_decreasing(lengths, capacity) == parts.size());
}

TEST(Sums, AddUpEachPart) {
  const std::vector<std::int64_t> lengths{2, 3, 4, 5, 6};
  EXPECT_THAT(sums_of(Assignment{{4, 2}, {3, 1, 0}, {}}, lengths),
              ElementsAre(SequenceSums{10, 52, 4}, SequenceSums{10, 38, 2}, SequenceSums{}));
}

TEST(ByCount, KnownParts) {
  EXPECT_THAT(by_count(5, 2), ElementsAre(Ids{0, 1}, Ids{2, 3}, Ids{4}));
  EXPECT_THAT(by_count(0, 2), IsEmpty());
}

TEST(Exactly, KnownParts) {
  EXPECT_THAT(exactly({3, 9, 4, 5, 4}, 2), ElementsAre(Ids{1, 4}, Ids{3, 2, 0}));
  EXPECT_THAT(exactly({3, 9}, 4), ElementsAre(Ids{1}, Ids{0}, Ids{}, Ids{}));
  EXPECT_THAT(exactly({5, 5, 5}, 3), ElementsAre(Ids{0}, Ids{1}, Ids{2}));
}

RC_GTEST_PROP(Exactly, IsNearOptimalAndLargestFirst, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(1, 9);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 5);
  const Assignment dealt = exactly(lengths, parts);
  test::assert_each_once(dealt, lengths.size(), parts);
  const std::vector<std::int64_t> tokens = tokens_of(dealt, lengths);
  RC_ASSERT(std::is_sorted(tokens.rbegin(), tokens.rend()));
  const auto count = static_cast<std::int64_t>(parts);
  RC_ASSERT(3 * count * tokens.front() <= (4 * count - 1) * min_largest(lengths, parts));
}

RC_GTEST_PROP(Exactly, TokensDoNotDependOnTheOrder, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(1, 60);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 10);
  const std::vector<std::int64_t> shuffled = test::shuffled(lengths);
  RC_ASSERT(tokens_of(exactly(lengths, parts), lengths) == tokens_of(exactly(shuffled, parts), shuffled));
}

TEST(CountThatFit, AtMostTheLimitsAtLeastOne) {
  const std::vector<std::int64_t> lengths{30, 10, 20, 40};
  const auto fit = [&](std::int64_t sequences, std::int64_t tokens) {
    return count_that_fit(lengths.size(), sequences, tokens, [&](std::size_t index) { return lengths[index]; });
  };
  EXPECT_EQ(fit(0, 0), 4U);
  EXPECT_EQ(fit(3, 0), 3U);
  EXPECT_EQ(fit(9, 60), 3U);
  EXPECT_EQ(fit(2, 60), 2U);
  EXPECT_EQ(fit(0, 59), 2U);
  EXPECT_EQ(fit(0, 1), 1U);
  EXPECT_EQ(count_that_fit(0, 1, 1, [](std::size_t) { return 1; }), 0U);
}

}  // namespace
}  // namespace dovetail::batching
