#include "batching/dealing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "assignments.h"

namespace dovetail::batching {
namespace {

using testing::ElementsAre;

using Ids = std::vector<std::size_t>;

TEST(DealToRanks, AsTheyComeInRuns) {
  EXPECT_THAT(deal_to_ranks({9, 1, 1, 9, 1}, 2, Dealing::as_they_come), ElementsAre(Ids{0, 1, 2}, Ids{3, 4}));
  EXPECT_THAT(deal_to_ranks({9}, 2, Dealing::as_they_come), ElementsAre(Ids{0}, Ids{}));
}

TEST(DealToRanks, BalancedByTokens) {
  EXPECT_THAT(deal_to_ranks({9, 9, 1, 1}, 2, Dealing::balanced), ElementsAre(Ids{0, 3}, Ids{1, 2}));
}

RC_GTEST_PROP(DealToRanks, EachOnceAndAboutAsMany, ()) {
  const std::vector<std::int64_t> lengths = test::random_lengths(0, 50);
  const std::size_t ranks = *rc::gen::inRange<std::size_t>(1, 9);
  for (const Dealing dealing : {Dealing::as_they_come, Dealing::balanced}) {
    const Assignment dealt = deal_to_ranks(lengths, ranks, dealing);
    test::assert_each_once(dealt, lengths.size(), ranks);
    const auto [least, most] =
        std::minmax_element(dealt.begin(), dealt.end(), [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
    RC_ASSERT(most->size() - least->size() <= 1U);
  }
}

TEST(DealInTurn, TheFirstHaveOneMore) { EXPECT_THAT(deal_in_turn(5, 3), ElementsAre(Ids{0, 3}, Ids{1, 4}, Ids{2})); }

TEST(DealToInstances, GroupsInTurnOrByLoad) {
  EXPECT_THAT(deal_to_instances({7, 7, 3, 4, 5}, {}, 2), ElementsAre(Ids{0, 1, 3}, Ids{2, 4}));
  EXPECT_THAT(deal_to_instances({7, 7, 3, 4, 5}, {910, 20, 110, 110, 110}, 2), ElementsAre(Ids{0, 1}, Ids{2, 3, 4}));
  EXPECT_THAT(deal_to_instances({0, 0, 0, 0}, {}, 2), ElementsAre(Ids{0, 2}, Ids{1, 3}))
      << "fewer groups than instances";
}

RC_GTEST_PROP(DealToInstances, GroupsStayTogether, ()) {
  const auto groups = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
  const std::size_t instances = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<std::int64_t> loads;
  if (*rc::gen::arbitrary<bool>())
    loads = *rc::gen::container<std::vector<std::int64_t>>(groups.size(), rc::gen::inRange<std::int64_t>(1, 60));
  const Assignment dealt = deal_to_instances(groups, loads, instances);
  test::assert_each_once(dealt, groups.size(), instances);
  std::map<std::int64_t, std::set<std::size_t>> instances_of;
  for (std::size_t instance = 0; instance < dealt.size(); ++instance)
    for (const std::size_t sample : dealt[instance]) instances_of[groups[sample]].insert(instance);
  if (instances_of.size() < instances) return;
  for (const auto& [group, on] : instances_of) RC_ASSERT(on.size() == 1U);
}

}  // namespace
}  // namespace dovetail::batching
