#include "report/iteration/thinned.h"

#include <gtest/gtest.h>

#include "simulate/accounting.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Activity;
using simulate::Lane;

/// Decoding in a thousand spans with a short bubble behind each, then one long span of training.
Lane busy_lane() {
  Lane lane;
  lane.devices = {0};
  std::int64_t now = 0;
  for (int span = 0; span < 1000; ++span) {
    lane.spans.push_back({Ticks(now), Ticks(now + 900), Activity::decode, 0, 8, Ticks(10)});
    lane.spans.push_back({Ticks(now + 900), Ticks(now + 1000), Activity::bubble, 0, 0, {}});
    lane.memory.emplace_back(Ticks(now), span % 7);
    now += 1000;
  }
  lane.spans.push_back({Ticks(now), Ticks(2 * now), Activity::forward, 1, 3, {}});
  return lane;
}

ThinnedLanes thinned_to(const Lane& lane, std::size_t most) { return thinned({{"device 0", lane}}, lane.spans.back().end, most); }

TEST(Thinned, LeavesWhatIsFewAsItIs) {
  const Lane lane = busy_lane();
  const ThinnedLanes thin = thinned_to(lane, lane.spans.size());
  EXPECT_EQ(thin.shortest, Ticks(0));
  ASSERT_EQ(thin.lanes.size(), 1U);
  EXPECT_EQ(thin.lanes[0].spans.size(), lane.spans.size());
  EXPECT_EQ(thin.lanes[0].memory, lane.memory);
}

TEST(Thinned, MakesShortNeighboursOneOfWhatMostOfTheirTimeIs) {
  const Lane lane = busy_lane();
  const ThinnedLanes thin = thinned_to(lane, 100);
  ASSERT_GT(thin.shortest, Ticks(900));
  const std::vector<simulate::Span>& spans = thin.lanes[0].spans;
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].begin, Ticks(0));
  EXPECT_EQ(spans[0].end, spans[1].begin);
  EXPECT_EQ(spans[0].activity, Activity::decode);
  EXPECT_EQ(spans[0].launch, Ticks(10'000));
  EXPECT_EQ(spans[1].amount, 3) << "what is long stays as it is";
  EXPECT_EQ(simulate::peak_of(thin.lanes[0]).second, 6);
  EXPECT_LT(thin.lanes[0].memory.size(), lane.memory.size());
}

TEST(Thinned, MakesNoLongSpansOne) {
  Lane lane;
  lane.devices = {0};
  for (int span = 0; span < 50; ++span)
    lane.spans.push_back({Ticks(span * 1000), Ticks(span * 1000 + 1000), span % 2 == 0 ? Activity::forward : Activity::backward, 0, 0, {}});
  EXPECT_EQ(thinned_to(lane, 10).lanes[0].spans.size(), 50U);
}

}  // namespace
}  // namespace dovetail::report
