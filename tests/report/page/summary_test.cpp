#include "report/page/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "support/example_timelines.h"

namespace dovetail::report {
namespace {

using base::Memory;
using base::Ticks;
using testing::ElementsAre;
using timeline::BarKind;

TEST(Summary, ComputesSharesAndPeaks) {
  const Summary summary = summarize(test::small_timeline());
  EXPECT_EQ(summary.work_bars, 6);
  EXPECT_DOUBLE_EQ(summary.idle_share, 0.4);
  EXPECT_DOUBLE_EQ(summary.share[index_of(BarKind::dependency)], 0.2);
  EXPECT_THAT(summary.peaks, ElementsAre(Memory(1'640'000), Memory(2'500'000)));
  EXPECT_EQ(summary.fullest_lane, 1U);
  EXPECT_EQ(summary.peak_time, Ticks(6));
  EXPECT_TRUE(summary.has_memory);
  EXPECT_THAT(summary.label_digits, ElementsAre(1U, 1U));
  EXPECT_TRUE(summary.drawn[0][index_of(BarKind::forward)]);
  EXPECT_TRUE(summary.drawn[0][index_of(BarKind::backward)]);
  EXPECT_FALSE(summary.drawn[0][index_of(BarKind::step)]);
}

TEST(Summary, CountsALaneOncePerDevice) {
  timeline::Timeline timeline;
  timeline.end = Ticks(10);
  timeline.time_unit = base::TimeUnit::ns;
  add_lane(timeline, "devices 0-2", {{Ticks(0), Ticks(10), BarKind::tail}});
  add_lane(timeline, "device 3", {{Ticks(0), Ticks(10), BarKind::hand_over}});
  add_lane(timeline, "host links 0-3", {{Ticks(0), Ticks(2), BarKind::loading}});
  EXPECT_DOUBLE_EQ(summarize(timeline).idle_share, 0.75);
  EXPECT_TRUE(summarize(timeline).drawn.back()[index_of(BarKind::hand_over)]) << "work without a track";
  EXPECT_EQ(shown_unit(timeline), base::TimeUnit::ns);
  timeline.beginning = timeline::Beginning::repeats;
  EXPECT_EQ(shown_unit(timeline), base::TimeUnit::s);
}

TEST(Summary, AcceptsAnEmptyTimeline) {
  const Summary summary = summarize({});
  EXPECT_EQ(summary.work_bars, 0);
  EXPECT_EQ(summary.idle_share, 0);
  EXPECT_FALSE(summary.has_memory);
}

TEST(Summary, RoundsAxisSteps) {
  EXPECT_EQ(round_step(0), 1);
  EXPECT_EQ(round_step(1), 1);
  EXPECT_EQ(round_step(1.5), 2);
  EXPECT_EQ(round_step(2.1), 5);
  EXPECT_EQ(round_step(5.5), 10);
  EXPECT_EQ(round_step(1e6), 1'000'000);
  EXPECT_EQ(round_step(1.01e6), 2'000'000);
  EXPECT_GT(round_step(9e18), 0);
}

TEST(Summary, PrintsShares) {
  EXPECT_EQ(percent(0), "0.0%");
  EXPECT_EQ(percent(0.0984), "9.8%");
  EXPECT_EQ(percent(1), "100.0%");
}

TEST(DominantBars, ChooseTheLookThatFillsMostOfAColumn) {
  const timeline::Timeline timeline = test::small_timeline();
  const std::span<const timeline::Bar> bars = bars_of(timeline, 1);
  EXPECT_THAT(dominant_bars(bars, 0, bars.size(), 0, 10, 10), ElementsAre(0, 0, 1, 1, 2, 2, 3, 4, 4, 5));
  // [0, 5): two ticks of warm-up, two of forward, one of backward. The first of the equal ones is shown.
  EXPECT_THAT(dominant_bars(bars, 0, bars.size(), 0, 10, 2), ElementsAre(0, 4));
  EXPECT_THAT(dominant_bars(bars, 3, 5, 6, 9, 1), ElementsAre(4));
}

TEST(DominantBars, AddUpBarsOfOneLook) {
  timeline::Timeline timeline = test::small_timeline();
  const std::span<timeline::Bar> bars = bars_of(timeline, 1);
  bars[3].track = 0;  // forward of the actor at [2, 4) and [6, 7): together more than any other look
  EXPECT_THAT(dominant_bars(bars, 1, bars.size(), 2, 10, 1), ElementsAre(1));
}

TEST(DominantBars, AreMissingWithoutLength) {
  const timeline::Timeline timeline = test::small_timeline();
  EXPECT_THAT(dominant_bars(bars_of(timeline, 0), 0, 0, 0, 10, 3), ElementsAre(-1, -1, -1));
}

}  // namespace
}  // namespace dovetail::report
