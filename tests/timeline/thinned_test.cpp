#include "timeline/thinned.h"

#include <gtest/gtest.h>

namespace dovetail::timeline {
namespace {

using base::Memory;
using base::Ticks;

Bar bar(std::int64_t begin, std::int64_t end, BarKind bar_kind, std::int32_t track) {
  return {Ticks(begin), Ticks(end), bar_kind, track};
}

/// Decoding in a thousand bars with a short bubble behind each, then one long bar of training.
Timeline busy_timeline() {
  Timeline timeline;
  timeline.tracks = {{"gen", 0, 0, Track::Kind::task}, {"train", 0, 0, Track::Kind::task}};
  std::vector<Bar> bars;
  Counter memory{"memory", "bytes", 0, {}};
  std::int64_t now = 0;
  for (int number = 0; number < 1000; ++number) {
    bars.push_back(bar(now, now + 900, BarKind::decode, 0));
    bars.back().sequences = 8;
    bars.back().launch = Ticks(10);
    bars.push_back(bar(now + 900, now + 1000, BarKind::bubble, 0));
    memory.steps.emplace_back(Ticks(now), Memory(number % 7));
    now += 1000;
  }
  bars.push_back(bar(now, 2 * now, BarKind::forward, 1));
  bars.back().microbatch = 3;
  timeline.end = Ticks(2 * now);
  add_lane(timeline, "device 0", bars);
  timeline.counters.push_back(memory);
  return timeline;
}

TEST(Thinned, LeavesWhatIsFewAsItIs) {
  const Timeline timeline = busy_timeline();
  const Thinned thin = thinned(timeline, timeline.bars.size());
  EXPECT_EQ(thin.shortest, Ticks(0));
  ASSERT_EQ(thin.timeline.lanes.size(), 1U);
  EXPECT_EQ(thin.timeline.bars.size(), timeline.bars.size());
  EXPECT_EQ(thin.timeline.counters[0].steps, timeline.counters[0].steps);
}

TEST(Thinned, MakesShortNeighboursOneOfWhatMostOfTheirTimeIs) {
  const Timeline timeline = busy_timeline();
  const Thinned thin = thinned(timeline, 100);
  ASSERT_GT(thin.shortest, Ticks(900));
  const std::vector<Bar>& bars = thin.timeline.bars;
  EXPECT_EQ(thin.timeline.lanes[0].bars, bars.size());
  EXPECT_LE(bars.size(), 100U);
  EXPECT_GT(bars.size(), 50U) << "no longer than that is seen as one";
  Ticks launch;
  for (std::size_t index = 0; index + 1 < bars.size(); ++index) {
    EXPECT_EQ(bars[index].end, bars[index + 1].begin);
    EXPECT_LE(bars[index].end - bars[index].begin, thin.shortest);
    EXPECT_EQ(bars[index].bar_kind, BarKind::decode);
    launch += bars[index].launch;
  }
  EXPECT_EQ(launch, Ticks(10'000));
  EXPECT_EQ(bars.front().begin, Ticks(0));
  EXPECT_EQ(bars.back().end, timeline.end);
  EXPECT_EQ(bars.back().microbatch, 3) << "what is long stays as it is";
  EXPECT_EQ(peak_of(thin.timeline.counters[0]).second, Memory(6));
  EXPECT_LT(thin.timeline.counters[0].steps.size(), timeline.counters[0].steps.size());
}

TEST(Thinned, KeepsWhatIsHeldBehindAPeak) {
  Timeline timeline = busy_timeline();
  timeline.counters[0].steps = {{Ticks(0), Memory(60)}, {Ticks(1), Memory(5)}, {Ticks(1'000'000), Memory(7)}};
  const auto steps = thinned(timeline, 100).timeline.counters[0].steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0], std::pair(Ticks(0), Memory(60)));
  EXPECT_EQ(steps[1].second, Memory(5));
  EXPECT_LT(steps[1].first, Ticks(20'000));
  EXPECT_EQ(steps[2].second, Memory(7));
}

TEST(Thinned, MakesNoLongBarsOne) {
  Timeline timeline;
  std::vector<Bar> bars;
  for (int number = 0; number < 50; ++number)
    bars.push_back(bar(number * 1000, number * 1000 + 1000, number % 2 == 0 ? BarKind::forward : BarKind::backward, 0));
  timeline.end = Ticks(50'000);
  add_lane(timeline, "device 0", bars);
  EXPECT_EQ(thinned(timeline, 10).timeline.bars.size(), 50U);
}

}  // namespace
}  // namespace dovetail::timeline
