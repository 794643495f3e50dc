#include "simulate/iteration_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dovetail::simulate {
namespace {

using base::Memory;
using base::Ticks;
using testing::ElementsAre;
using testing::Pair;

/// Two devices decode, one decodes and trains; weights go over the link of the last.
Trace small_trace() {
  Trace trace;
  trace.end = Ticks(10);
  trace.lanes.push_back(
      {{0, 1},
       {{Ticks(0), Ticks(4), BarKind::decode, 0, 128, Ticks(1)}, {Ticks(4), Ticks(10), BarKind::tail, 0, 0}},
       {{Ticks(0), 100}, {Ticks(4), 0}}});
  trace.lanes.push_back(
      {{2}, {{Ticks(0), Ticks(7), BarKind::decode, 0, 64}, {Ticks(7), Ticks(10), BarKind::backward, 1, 3}}, {}});
  trace.host_links.push_back({{2}, {{Ticks(1), Ticks(3), BarKind::loading, 1, 0}}, {}});
  return trace;
}

timeline::Timeline small_timeline(bool repeats) {
  constexpr auto task = timeline::Track::Kind::task;
  return iteration_timeline(small_trace(), {{"gen", 0, 0, task}, {"train", 1, 0, task}}, "t", repeats);
}

TEST(IterationTimeline, HasABarForEachSpan) {
  const timeline::Timeline timeline = small_timeline(true);
  std::vector<std::string> bars;
  for (const timeline::Bar& bar : timeline.bars)
    bars.push_back(full_title(timeline, bar) + " " + std::to_string(bar.begin.count()) + "-" +
                   std::to_string(bar.end.count()));
  EXPECT_THAT(bars, ElementsAre("decode of gen 0-4", "long tail of gen 4-10", "decode of gen 0-7",
                                "backward of train 7-10", "loading of train 1-3"));
  EXPECT_EQ(timeline.bars[0].sequences, 128);
  EXPECT_EQ(timeline.bars[0].launch, Ticks(1));
  EXPECT_EQ(timeline.bars[0].microbatch, -1);
  EXPECT_EQ(timeline.bars[3].microbatch, 3);
  EXPECT_EQ(timeline.bars[3].sequences, -1);
  EXPECT_EQ(timeline.end, Ticks(10));
  EXPECT_EQ(timeline.time_unit, base::TimeUnit::ns);
}

TEST(IterationTimeline, HasLanesOfDevicesThenOfLinks) {
  const timeline::Timeline timeline = small_timeline(true);
  std::vector<std::string> names;
  for (const timeline::Lane& lane : timeline.lanes) names.push_back(lane.name);
  EXPECT_THAT(names, ElementsAre("devices 0-1", "device 2", "host link 2"));
  ASSERT_EQ(timeline.counters.size(), 1U) << "the second lane says nothing of memory";
  EXPECT_THAT(timeline.counters[0].steps, ElementsAre(Pair(Ticks(0), Memory(100)), Pair(Ticks(4), Memory(0))));
  EXPECT_EQ(timeline.counters[0].unit, "bytes");
}

TEST(IterationTimeline, RepeatsOnceIterationsAreSteady) {
  EXPECT_EQ(small_timeline(true).beginning, timeline::Beginning::repeats);
  EXPECT_EQ(small_timeline(false).beginning, timeline::Beginning::unknown);
}

}  // namespace
}  // namespace dovetail::simulate
