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
  EXPECT_LE(spans.size(), 100U);
  EXPECT_GT(spans.size(), 50U) << "no longer than that is seen as one";
  Ticks launch;
  for (std::size_t index = 0; index + 1 < spans.size(); ++index) {
    EXPECT_EQ(spans[index].end, spans[index + 1].begin);
    EXPECT_LE(spans[index].end - spans[index].begin, thin.shortest);
    EXPECT_EQ(spans[index].activity, Activity::decode);
    launch += spans[index].launch;
  }
  EXPECT_EQ(launch, Ticks(10'000));
  EXPECT_EQ(spans.back().amount, 3) << "what is long stays as it is";
  EXPECT_EQ(simulate::peak_of(thin.lanes[0]).second, 6);
  EXPECT_LT(thin.lanes[0].memory.size(), lane.memory.size());
  simulate::Trace trace;
  trace.end = lane.spans.back().end;
  trace.lanes = thin.lanes;
  EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
}

TEST(Thinned, KeepsWhatIsHeldBehindAPeak) {
  Lane lane = busy_lane();
  lane.memory = {{Ticks(0), 60}, {Ticks(1), 5}, {Ticks(1'000'000), 7}};
  const std::vector<std::pair<Ticks, std::int64_t>> memory = thinned_to(lane, 100).lanes[0].memory;
  ASSERT_EQ(memory.size(), 3U);
  EXPECT_EQ(memory[0], (std::pair<Ticks, std::int64_t>(Ticks(0), 60)));
  EXPECT_EQ(memory[1].second, 5);
  EXPECT_LT(memory[1].first, Ticks(20'000));
  EXPECT_EQ(memory[2].second, 7);
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
