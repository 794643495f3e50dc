#include "report/overlay/turn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/overlay/pieces.h"

namespace dovetail::report {
namespace {

using base::Ticks;

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;

Bar bar(std::int64_t begin, std::int64_t end, BarKind bar_kind, std::int32_t microbatch = -1) {
  Bar made{Ticks(begin), Ticks(end), bar_kind};
  made.microbatch = microbatch;
  return made;
}

/// Lanes of bars without gaps of three bar kinds, one of them idle time, with a counter each; behind them all, for a
/// time that may be nothing, the hand-over.
Timeline random_timeline(int stretch, int closing) {
  Timeline timeline;
  timeline.end = Ticks(stretch + closing);
  for (std::size_t lane = 0; lane < 2; ++lane) {
    std::vector<Bar> bars;
    timeline::Counter counter{"held", "bytes", lane, {}};
    for (int now = 0; now < stretch;) {
      const int until = std::min(now + *rc::gen::inRange(1, 20), stretch);
      bars.push_back(bar(now, until, *rc::gen::element(BarKind::decode, BarKind::infer, BarKind::bubble),
                         *rc::gen::inRange(0, 2)));
      const base::Memory value(*rc::gen::inRange(0, 4));
      if (counter.steps.empty() || counter.steps.back().second != value) counter.steps.emplace_back(Ticks(now), value);
      now = until;
    }
    if (closing > 0) bars.push_back(bar(stretch, stretch + closing, BarKind::hand_over));
    add_lane(timeline, "lane", bars);
    timeline.counters.push_back(std::move(counter));
  }
  return timeline;
}

using Moment = std::pair<BarKind, std::int32_t>;  // bar kind and micro-batch

/// [lane][moment] what runs then.
std::vector<std::vector<Moment>> painted(const Timeline& timeline) {
  std::vector<std::vector<Moment>> lanes;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    lanes.emplace_back();
    for (const Bar& of : bars_of(timeline, lane)) {
      RC_ASSERT(of.begin == Ticks(static_cast<std::int64_t>(lanes.back().size())));
      for (Ticks now = of.begin; now < of.end; now += Ticks(1)) lanes.back().emplace_back(of.bar_kind, of.microbatch);
    }
  }
  return lanes;
}

base::Memory value_at(const timeline::Counter& counter, Ticks time) {
  base::Memory value(-1);
  for (const auto& [from, of] : counter.steps)
    if (from <= time) value = of;
  return value;
}

RC_GTEST_PROP(OverlayTurn, ShowsEachMomentWhereItBelongs, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  const Timeline timeline = random_timeline(stretch, *rc::gen::inRange(0, 5));
  const int begin = *rc::gen::inRange(0, stretch);
  RC_ASSERT(stretch_end(timeline) == Ticks(stretch));
  const Timeline result = turned(timeline, Ticks(begin));
  const auto before = painted(timeline);
  const auto after = painted(result);
  for (std::size_t lane = 0; lane < before.size(); ++lane) {
    RC_ASSERT(after[lane].size() == before[lane].size());
    for (int time = 0; time < timeline.end.count(); ++time) {
      const int from = time < stretch ? (time + begin) % stretch : time;
      RC_ASSERT(after[lane][static_cast<std::size_t>(time)] == before[lane][static_cast<std::size_t>(from)]);
      RC_ASSERT(value_at(result.counters[lane], Ticks(time)) == value_at(timeline.counters[lane], Ticks(from)));
    }
    for (std::size_t activity = 1; activity < result.counters[lane].steps.size(); ++activity)
      RC_ASSERT(result.counters[lane].steps[activity - 1].first < result.counters[lane].steps[activity].first);
  }
}

RC_GTEST_PROP(OverlayTurn, BackGivesTheTimelineAgain, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  Timeline timeline = random_timeline(stretch, *rc::gen::inRange(0, 5));
  // Alike at both ends it would stay one bar.
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) bars_of(timeline, lane).front().microbatch = 7;
  const int begin = *rc::gen::inRange(1, stretch);
  const Timeline back = turned(turned(timeline, Ticks(begin)), Ticks(stretch - begin));
  // What was cut at `begin` is one again.
  RC_ASSERT(painted(back) == painted(timeline));
  RC_ASSERT(back.bars.size() <= timeline.bars.size());
}

TEST(OverlayTurn, JoinsWhatTheEndCutsAndCutsWhatRunsAtTheBeginning) {
  Timeline timeline;
  timeline.end = Ticks(100);
  std::vector<Bar> bars{bar(0, 20, BarKind::forward, 5), bar(20, 60, BarKind::infer), bar(60, 90, BarKind::forward, 5),
                        bar(90, 100, BarKind::hand_over)};
  for (const auto& [number, launch] : {std::pair(0, 12), std::pair(1, 25), std::pair(2, 30)})
    bars[static_cast<std::size_t>(number)].launch = Ticks(launch);
  add_lane(timeline, "device 0", bars);
  timeline.arrows = {{2, 1}};
  const Timeline result = turned(timeline, Ticks(40));
  ASSERT_EQ(result.bars.size(), 4U);
  EXPECT_EQ(result.bars[0].end, Ticks(20)) << "the rest of the second";
  EXPECT_EQ(result.bars[1].begin, Ticks(20));
  EXPECT_EQ(result.bars[1].end, Ticks(70)) << "the third and the first are one";
  EXPECT_EQ(result.bars[2].begin, Ticks(70));
  EXPECT_EQ(result.bars[2].end, Ticks(90));
  EXPECT_EQ(result.bars[3].begin, Ticks(90)) << "the hand-over stays last";
  EXPECT_EQ(result.bars[1].microbatch, 5);
  EXPECT_EQ(result.bars[0].launch, Ticks(20)) << "no longer than its part";
  EXPECT_EQ(result.bars[1].launch, Ticks(30));
  EXPECT_EQ(result.bars[2].launch, Ticks(20));
  EXPECT_EQ(result.arrows[0].from, 1);
  EXPECT_EQ(result.arrows[0].to, 0);
  EXPECT_EQ(turned(timeline, Ticks(0)).bars.size(), 4U);
}

TEST(OverlayTurn, KeepsBarsApartThatDiffer) {
  Timeline timeline;
  timeline.end = Ticks(30);
  add_lane(timeline, "device 0",
           {bar(0, 10, BarKind::forward, 1), bar(10, 20, BarKind::forward, 2), bar(20, 30, BarKind::forward, 3)});
  EXPECT_EQ(turned(timeline, Ticks(10)).bars.size(), 3U);
}

}  // namespace
}  // namespace dovetail::report
