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

TEST(BarKind, HasANameOfItsOwnForEveryOne) {
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

TEST(Counter, PeaksAtTheFirstOfItsLargestValues) {
  const Counter counter{
      "held", "", 0, {{Ticks(0), Memory(1)}, {Ticks(3), Memory(7)}, {Ticks(5), Memory(2)}, {Ticks(9), Memory(7)}}};
  EXPECT_EQ(peak_of(counter), std::pair(Ticks(3), Memory(7)));
  EXPECT_EQ(peak_of(Counter{}), std::pair(Ticks(0), Memory(0)));
}

TEST(Counter, HasAmountsInItsUnit) {
  EXPECT_EQ(amount_of({"held", "", 0, {}}, Memory(1'640'000)), 1.64);
  EXPECT_EQ(amount_of({"used", "bytes", 0, {}}, Memory(1'640'000)), 1'640'000);
}

/// A task and a pipeline, two lanes and an empty one.
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

TEST(Timeline, SaysWhatBarsAre) {
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

}  // namespace
}  // namespace dovetail::timeline
