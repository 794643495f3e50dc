#include "batching/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "assignments.h"

namespace dovetail::batching {

namespace {

using test::assert_each_once;
using test::min_largest;
using test::random_lengths;
using test::tokens_of;
using testing::ElementsAre;

using Ids = std::vector<std::size_t>;

std::int64_t difference_of(const std::vector<std::int64_t>& tokens) {
  return *std::max_element(tokens.begin(), tokens.end()) - *std::min_element(tokens.begin(), tokens.end());
}

TEST(Balanced, KnownParts) {
  // Differences 8 - 7 = 1, 6 - 5 = 1, 4 - 1 = 3, 3 - 1 = 2: 16 and 14, although 15 and 15 is possible.
  EXPECT_THAT(tokens_of(balanced({4, 5, 6, 7, 8}, 2, SequenceCounts::any), {4, 5, 6, 7, 8}), ElementsAre(16, 14));
  EXPECT_THAT(balanced({10, 1, 9}, 2, SequenceCounts::any), ElementsAre(Ids{0}, Ids{1, 2}));
  EXPECT_THAT(balanced({3, 3}, 3, SequenceCounts::any), ElementsAre(Ids{0}, Ids{1}, Ids{}));
  EXPECT_THAT(balanced({}, 2, SequenceCounts::equal), ElementsAre(Ids{}, Ids{}));
}

TEST(Balanced, EqualSizesAreDealtInGroupsByLength) {
  // 20 and 9 differ most, then 4 and 3. The smaller of these joins the 20.
  EXPECT_THAT(balanced({3, 20, 4, 9}, 2, SequenceCounts::equal), ElementsAre(Ids{0, 1}, Ids{2, 3}));
  EXPECT_THAT(balanced({3, 20, 4, 9}, 2, SequenceCounts::any), ElementsAre(Ids{1}, Ids{0, 2, 3}));
}

// Tokens of the parts that verl's get_seqlen_balanced_partitions makes.
TEST(Balanced, MatchesVerl) {
  const std::vector<std::int64_t> lengths{913, 402, 87, 2210, 655, 1301, 45, 530, 77, 1999, 344, 718};
  EXPECT_THAT(tokens_of(balanced(lengths, 3, SequenceCounts::any), lengths), ElementsAre(3101, 3096, 3084));
  EXPECT_THAT(tokens_of(balanced(lengths, 4, SequenceCounts::any), lengths), ElementsAre(2358, 2343, 2293, 2287));
  EXPECT_THAT(tokens_of(balanced(lengths, 3, SequenceCounts::equal), lengths), ElementsAre(3254, 3196, 2831));
  EXPECT_THAT(tokens_of(balanced(lengths, 4, SequenceCounts::equal), lengths), ElementsAre(2657, 2606, 2043, 1975));
}

RC_GTEST_PROP(Balanced, IsNearOptimal, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(1, 9);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 5);
  const Assignment dealt = balanced(lengths, parts, SequenceCounts::any);
  assert_each_once(dealt, lengths.size(), parts);
  const std::vector<std::int64_t> tokens = tokens_of(dealt, lengths);
  RC_ASSERT(std::is_sorted(tokens.rbegin(), tokens.rend()));
  // Michiels, Korst, Aarts and van Leeuwen, Performance Ratios for the Differencing Method Applied to the Balanced
  // Number Partitioning Problem, 2003; 7/6 of two parts: Fischetti and Martello, Worst-Case Analysis of the
  // Differencing Method for the Partition Problem, 1987.
  const auto count = static_cast<std::int64_t>(parts);
  const std::int64_t best = min_largest(lengths, parts);
  RC_ASSERT(3 * count * tokens.front() <= (4 * count - 1) * best);
  if (parts == 2) RC_ASSERT(6 * tokens.front() <= 7 * best);
}

RC_GTEST_PROP(Balanced, PartsDifferByAtMostASequence, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(1, 80);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 12);
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  RC_ASSERT(difference_of(tokens_of(balanced(lengths, parts, SequenceCounts::any), lengths)) <= *longest);
  const Assignment equal = balanced(lengths, parts, SequenceCounts::equal);
  assert_each_once(equal, lengths.size(), parts);
  const bool goes_round = lengths.size() % parts == 0;
  RC_ASSERT(difference_of(tokens_of(equal, lengths)) <= *longest - (goes_round ? *shortest : 0));
  for (const Ids& part : equal) {
    RC_ASSERT(part.size() >= lengths.size() / parts);
    RC_ASSERT(part.size() <= lengths.size() / parts + (goes_round ? 0 : 1));
    RC_ASSERT(std::is_sorted(part.begin(), part.end()));
  }
}

RC_GTEST_PROP(Balanced, TokensDoNotDependOnTheOrder, ()) {
  const std::vector<std::int64_t> lengths = random_lengths(1, 60);
  const std::vector<std::int64_t> shuffled = test::shuffled(lengths);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 12);
  for (const SequenceCounts sizes : {SequenceCounts::any, SequenceCounts::equal})
    RC_ASSERT(tokens_of(balanced(lengths, parts, sizes), lengths) ==
              tokens_of(balanced(shuffled, parts, sizes), shuffled));
}

}  // namespace

namespace {

using testing::ElementsAre;

using Ids = std::vector<std::size_t>;

TEST(DealToRanks, AsTheyComeDealsRuns) {
  EXPECT_THAT(distribute_to_ranks({9, 1, 1, 9, 1}, 2, RankDistribution::in_order),
              ElementsAre(Ids{0, 1, 2}, Ids{3, 4}));
  EXPECT_THAT(distribute_to_ranks({9}, 2, RankDistribution::in_order), ElementsAre(Ids{0}, Ids{}));
}

TEST(DealToRanks, BalancedByTokens) {
  EXPECT_THAT(distribute_to_ranks({9, 9, 1, 1}, 2, RankDistribution::balanced), ElementsAre(Ids{0, 3}, Ids{1, 2}));
}

RC_GTEST_PROP(DealToRanks, DealsEachOnceAndEvenly, ()) {
  const std::vector<std::int64_t> lengths = test::random_lengths(0, 50);
  const std::size_t ranks = *rc::gen::inRange<std::size_t>(1, 9);
  for (const RankDistribution dealing : {RankDistribution::in_order, RankDistribution::balanced}) {
    const Assignment dealt = distribute_to_ranks(lengths, ranks, dealing);
    test::assert_each_once(dealt, lengths.size(), ranks);
    const auto [least, most] =
        std::minmax_element(dealt.begin(), dealt.end(), [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
    RC_ASSERT(most->size() - least->size() <= 1U);
  }
}

TEST(DistributeRoundRobin, TheFirstHaveOneMore) {
  EXPECT_THAT(distribute_round_robin(5, 3), ElementsAre(Ids{0, 3}, Ids{1, 4}, Ids{2}));
}

TEST(DistributeToInstances, GroupsInTurnOrByLoad) {
  EXPECT_THAT(distribute_to_instances({7, 7, 3, 4, 5}, {}, 2), ElementsAre(Ids{0, 1, 3}, Ids{2, 4}));
  EXPECT_THAT(distribute_to_instances({7, 7, 3, 4, 5}, {910, 20, 110, 110, 110}, 2),
              ElementsAre(Ids{0, 1}, Ids{2, 3, 4}));
  EXPECT_THAT(distribute_to_instances({0, 0, 0, 0}, {}, 2), ElementsAre(Ids{0, 2}, Ids{1, 3}))
      << "fewer groups than instances";
}

RC_GTEST_PROP(DistributeToInstances, GroupsStayTogether, ()) {
  const auto groups = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
  const std::size_t instances = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<std::int64_t> loads;
  if (*rc::gen::arbitrary<bool>())
    loads = *rc::gen::container<std::vector<std::int64_t>>(groups.size(), rc::gen::inRange<std::int64_t>(1, 60));
  const Assignment dealt = distribute_to_instances(groups, loads, instances);
  test::assert_each_once(dealt, groups.size(), instances);
  std::map<std::int64_t, std::set<std::size_t>> instances_of;
  for (std::size_t instance = 0; instance < dealt.size(); ++instance)
    for (const std::size_t sample : dealt[instance]) instances_of[groups[sample]].insert(instance);
  if (instances_of.size() < instances) return;
  for (const auto& [group, on] : instances_of) RC_ASSERT(on.size() == 1U);
}

}  // namespace

}  // namespace dovetail::batching
