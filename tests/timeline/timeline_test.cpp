#include "timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace dovetail::timeline {
namespace {

using base::Memory;
using base::Ticks;
using testing::ElementsAre;

TEST(BarKind, NamesAreUnique) {
  std::set<std::string> names;
  for (int bar_kind = 0; bar_kind < bar_kinds; ++bar_kind) names.emplace(name_of(static_cast<BarKind>(bar_kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(bar_kinds));
  EXPECT_EQ(name_of(BarKind::input_gradient), "input gradient");
  EXPECT_EQ(name_of(BarKind::hand_over), "hand-over");
  EXPECT_EQ(name_of(BarKind::warm_up), "warm-up");
  EXPECT_EQ(name_of(BarKind::awaiting), "new weights");
  EXPECT_EQ(name_of(BarKind::drain), "drain");
}

TEST(TimeByBarKind, WaitingForLaunchesIsIdleTime) {
  const Bar decode{.begin = Ticks(0), .end = Ticks(10), .bar_kind = BarKind::decode, .launch = Ticks(3)};
  const Bar infer{.begin = Ticks(10), .end = Ticks(14), .bar_kind = BarKind::infer, .launch = Ticks(1)};
  const TimeByBarKind time = time_by_bar_kind(std::vector{decode, infer});
  EXPECT_EQ(time[index_of(BarKind::decode)], Ticks(7));
  EXPECT_EQ(time[index_of(BarKind::infer)], Ticks(3));
  EXPECT_EQ(time[index_of(BarKind::launch)], Ticks(4));
}

TEST(BarKind, IsWorkOrIdle) {
  for (const BarKind op : op_bar_kinds) EXPECT_FALSE(is_idle(op));
  for (const BarKind cause : schedule_causes) EXPECT_TRUE(is_idle(cause));
  EXPECT_FALSE(is_idle(BarKind::work));
  EXPECT_TRUE(is_idle(BarKind::tail));
}

TEST(BarKind, HasLettersOfOps) {
  std::string letters;
  for (const BarKind op : op_bar_kinds) letters += letter_of(op);
  EXPECT_EQ(letters, "FBIWS");
}

TEST(Counter, PeaksAtItsFirstMaximum) {
  const Counter counter{
      "held", "", 0, {{Ticks(0), Memory(1)}, {Ticks(3), Memory(7)}, {Ticks(5), Memory(2)}, {Ticks(9), Memory(7)}}};
  EXPECT_EQ(peak_of(counter), std::pair(Ticks(3), Memory(7)));
  EXPECT_EQ(peak_of(Counter{}), std::pair(Ticks(0), Memory(0)));
}

TEST(Counter, HasAmountsInItsUnit) {
  EXPECT_EQ(amount_of({"held", "", 0, {}}, Memory(1'640'000)), 1.64);
  EXPECT_EQ(amount_of({"used", "bytes", 0, {}}, Memory(1'640'000)), 1'640'000);
}

/// Returns a timeline with a task, a pipeline, two lanes and an empty one.
Timeline example() {
  Timeline timeline;
  timeline.tracks = {{"gen", 0, 0, Track::Kind::task}, {"actor", 0, 0}};
  timeline.names = {"step 3"};
  Bar op{Ticks(0), Ticks(2), BarKind::backward, 1};
  op.microbatch = 4;
  op.stage = 2;
  Bar named{Ticks(2), Ticks(3)};
  named.name = 0;
  add_lane(timeline, "a", {op, named});
  add_lane(timeline, "b", {});
  add_lane(timeline, "c", {{Ticks(0), Ticks(5), BarKind::decode, 0}, {Ticks(5), Ticks(6), BarKind::dependency, 0}},
           true);
  return timeline;
}

TEST(Timeline, FindsBarsOfLanesAndLanesOfBars) {
  const Timeline timeline = example();
  EXPECT_EQ(bars_of(timeline, 0).size(), 2U);
  EXPECT_TRUE(bars_of(timeline, 1).empty());
  EXPECT_EQ(bars_of(timeline, 2)[1].bar_kind, BarKind::dependency);
  const std::vector<std::size_t> first = first_bars(timeline);
  EXPECT_THAT(first, ElementsAre(0, 2, 2, 4));
  EXPECT_EQ(lane_of(first, 1), 0U);
  EXPECT_EQ(lane_of(first, 2), 2U) << "not the empty one";
}

TEST(Timeline, DescribesBars) {
  const Timeline timeline = example();
  std::vector<std::string> titles;
  for (const Bar& bar : timeline.bars) titles.push_back(title_of(timeline, bar));
  EXPECT_THAT(titles, ElementsAre("B4 actor", "step 3", "decode of gen", "dependency"));
  EXPECT_EQ(full_title(timeline, timeline.bars[3]), "dependency on gen");
  EXPECT_EQ(full_title(timeline, timeline.bars[2]), "decode of gen");
  EXPECT_EQ(full_title(timeline, {Ticks(0), Ticks(1), BarKind::hand_over}), "hand-over");
  EXPECT_EQ(describe(timeline, timeline.bars[0]), "B4 of actor, stage 2");
  EXPECT_EQ(describe(BarKind::reallocation, "gen"), "reallocation for gen");
}

TEST(Timeline, DrawsTheFirstCounterOfEachLane) {
  Timeline timeline = example();
  timeline.counters = {{"held", "", 2, {}}, {"other", "", 0, {}}, {"held", "", 2, {}}};
  const std::vector<const Counter*> drawn = drawn_counters(timeline);
  EXPECT_THAT(drawn, ElementsAre(nullptr, nullptr, &timeline.counters[0]));
}

using testing::Optional;

TEST(LaneNames, MergeConsecutiveNumbers) {
  EXPECT_EQ(device_ranges({3}), "3");
  EXPECT_EQ(device_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(device_lane_name({3}), "device 3");
  EXPECT_EQ(device_lane_name({0, 1, 5}), "devices 0-1,5");
}

TEST(LaneNames, DistinguishLinksFromDevices) {
  EXPECT_EQ(host_link_lane_name({0, 1}), "host links 0-1");
  EXPECT_TRUE(is_host_link_lane(host_link_lane_name({4})));
  EXPECT_FALSE(is_host_link_lane(device_lane_name({4})));
}

TEST(LaneNames, NameDevices) {
  EXPECT_THAT(devices_of("device 3"), Optional(ElementsAre(3)));
  EXPECT_THAT(devices_of("devices 0-2,5,7-8"), Optional(ElementsAre(0, 1, 2, 5, 7, 8)));
  for (const std::string name :
       {"", "device", "device ", "device x", "device 0 · compute", "devices 3-1", "devices 1,1", "devices 2,",
        "devices -1", "devices 0-2000000000", "devices 99999999999", "GPU 3", "devices 1-"})
    EXPECT_EQ(devices_of(name), std::nullopt) << name;
}

Bar bar(std::int64_t begin, std::int64_t end, BarKind bar_kind, std::int32_t track) {
  return {Ticks(begin), Ticks(end), bar_kind, track};
}

/// Returns a timeline of a thousand decode bars, each followed by a short bubble, and one long training bar.
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

TEST(Downsampled, KeepsTimelinesWithFewBars) {
  const Timeline timeline = busy_timeline();
  const Downsampled thin = downsampled(timeline, timeline.bars.size());
  EXPECT_EQ(thin.shortest, Ticks(0));
  ASSERT_EQ(thin.timeline.lanes.size(), 1U);
  EXPECT_EQ(thin.timeline.bars.size(), timeline.bars.size());
  EXPECT_EQ(thin.timeline.counters[0].steps, timeline.counters[0].steps);
}

TEST(Downsampled, MergesShortNeighborsIntoTheirMainKind) {
  const Timeline timeline = busy_timeline();
  const Downsampled thin = downsampled(timeline, 100);
  ASSERT_GT(thin.shortest, Ticks(900));
  const std::vector<Bar>& bars = thin.timeline.bars;
  EXPECT_EQ(thin.timeline.lanes[0].bars, bars.size());
  EXPECT_LE(bars.size(), 100U);
  EXPECT_GT(bars.size(), 50U) << "only shorter stretches are merged";
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
  EXPECT_EQ(bars.back().microbatch, 3) << "long bars are kept";
  EXPECT_EQ(peak_of(thin.timeline.counters[0]).second, Memory(6));
  EXPECT_LT(thin.timeline.counters[0].steps.size(), timeline.counters[0].steps.size());
}

TEST(Downsampled, KeepsTheValueAfterAPeak) {
  Timeline timeline = busy_timeline();
  timeline.counters[0].steps = {{Ticks(0), Memory(60)}, {Ticks(1), Memory(5)}, {Ticks(1'000'000), Memory(7)}};
  const auto steps = downsampled(timeline, 100).timeline.counters[0].steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0], std::pair(Ticks(0), Memory(60)));
  EXPECT_EQ(steps[1].second, Memory(5));
  EXPECT_LT(steps[1].first, Ticks(20'000));
  EXPECT_EQ(steps[2].second, Memory(7));
}

TEST(Downsampled, KeepsLongBars) {
  Timeline timeline;
  std::vector<Bar> bars;
  for (int number = 0; number < 50; ++number)
    bars.push_back(bar(number * 1000, number * 1000 + 1000, number % 2 == 0 ? BarKind::forward : BarKind::backward, 0));
  timeline.end = Ticks(50'000);
  add_lane(timeline, "device 0", bars);
  EXPECT_EQ(downsampled(timeline, 10).timeline.bars.size(), 50U);
}

}  // namespace

}  // namespace dovetail::timeline
