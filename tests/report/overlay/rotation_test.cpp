#include "report/overlay/rotation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

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

/// Lanes of bars without gaps, of three bar kinds including idle time, with a counter each. The hand-over follows all
/// of them and may have no length.
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

/// [lane][moment] what runs at that moment.
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

RC_GTEST_PROP(OverlayRotation, PreservesEveryMoment, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  const Timeline timeline = random_timeline(stretch, *rc::gen::inRange(0, 5));
  const int begin = *rc::gen::inRange(0, stretch);
  RC_ASSERT(cycle_end(timeline) == Ticks(stretch));
  const Timeline result = rotated(timeline, Ticks(begin));
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

RC_GTEST_PROP(OverlayRotation, IsReversible, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  Timeline timeline = random_timeline(stretch, *rc::gen::inRange(0, 5));
  // Equal bars at both ends would stay joined.
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) bars_of(timeline, lane).front().microbatch = 7;
  const int begin = *rc::gen::inRange(1, stretch);
  const Timeline back = rotated(rotated(timeline, Ticks(begin)), Ticks(stretch - begin));
  // The bar cut at `begin` is joined again.
  RC_ASSERT(painted(back) == painted(timeline));
  RC_ASSERT(back.bars.size() <= timeline.bars.size());
}

TEST(OverlayRotation, JoinsBarsCutByTheEndAndCutsBarsAtTheBeginning) {
  Timeline timeline;
  timeline.end = Ticks(100);
  std::vector<Bar> bars{bar(0, 20, BarKind::forward, 5), bar(20, 60, BarKind::infer), bar(60, 90, BarKind::forward, 5),
                        bar(90, 100, BarKind::hand_over)};
  for (const auto& [number, launch] : {std::pair(0, 12), std::pair(1, 25), std::pair(2, 30)})
    bars[static_cast<std::size_t>(number)].launch = Ticks(launch);
  add_lane(timeline, "device 0", bars);
  timeline.arrows = {{2, 1}};
  const Timeline result = rotated(timeline, Ticks(40));
  ASSERT_EQ(result.bars.size(), 4U);
  EXPECT_EQ(result.bars[0].end, Ticks(20)) << "the rest of the second bar";
  EXPECT_EQ(result.bars[1].begin, Ticks(20));
  EXPECT_EQ(result.bars[1].end, Ticks(70)) << "the third and the first bar are joined";
  EXPECT_EQ(result.bars[2].begin, Ticks(70));
  EXPECT_EQ(result.bars[2].end, Ticks(90));
  EXPECT_EQ(result.bars[3].begin, Ticks(90)) << "the hand-over stays last";
  EXPECT_EQ(result.bars[1].microbatch, 5);
  EXPECT_EQ(result.bars[0].launch, Ticks(20)) << "at most its length";
  EXPECT_EQ(result.bars[1].launch, Ticks(30));
  EXPECT_EQ(result.bars[2].launch, Ticks(20));
  EXPECT_EQ(result.arrows[0].from, 1);
  EXPECT_EQ(result.arrows[0].to, 0);
  EXPECT_EQ(rotated(timeline, Ticks(0)).bars.size(), 4U);
}

TEST(OverlayRotation, DoesNotJoinDifferentBars) {
  Timeline timeline;
  timeline.end = Ticks(30);
  add_lane(timeline, "device 0",
           {bar(0, 10, BarKind::forward, 1), bar(10, 20, BarKind::forward, 2), bar(20, 30, BarKind::forward, 3)});
  EXPECT_EQ(rotated(timeline, Ticks(10)).bars.size(), 3U);
}

using base::Ticks;

/// Devices 0 to n - 1 in random rows. Each row has a bar whose micro-batch identifies the row, and a counter with the
/// same value.
timeline::Timeline random_rows(int devices) {
  std::map<int, std::vector<int>> drawn;
  for (int device = 0; device < devices; ++device) drawn[*rc::gen::inRange(0, 4)].push_back(device);
  timeline::Timeline rows;
  rows.end = Ticks(10);
  for (const auto& [number, of] : drawn) {
    rows.counters.push_back({"held", "bytes", rows.lanes.size(), {{Ticks(0), base::Memory(number)}}});
    timeline::Bar bar{Ticks(0), Ticks(10)};
    bar.microbatch = number;
    add_lane(rows, timeline::device_lane_name(of), {bar});
  }
  return rows;
}

/// [device] micro-batch of its row's bar. Each row has one bar, and a counter with the same value.
std::map<int, std::int64_t> work_of(const timeline::Timeline& rows) {
  std::map<int, std::int64_t> work;
  for (std::size_t lane = 0; lane < rows.lanes.size(); ++lane) {
    EXPECT_EQ(rows.lanes[lane].bars, 1U);
    EXPECT_EQ(rows.counters[lane].lane, lane);
    EXPECT_EQ(rows.counters[lane].steps.front().second, base::Memory(rows.bars[lane].microbatch));
    const auto devices = timeline::devices_of(rows.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) work[device] = rows.bars[lane].microbatch;
  }
  return work;
}

RC_GTEST_PROP(OverlayRows, GivesBothTheSameRowsAndPreservesWork, ()) {
  const int devices = *rc::gen::inRange(1, 12);
  const timeline::Timeline a = random_rows(devices);
  const timeline::Timeline b = random_rows(devices);
  const timeline::Timeline divided_a = divide_rows(a, b);
  const timeline::Timeline divided_b = divide_rows(b, a);
  RC_ASSERT(divided_a.lanes.size() == divided_b.lanes.size());
  for (std::size_t lane = 0; lane < divided_a.lanes.size(); ++lane)
    RC_ASSERT(divided_a.lanes[lane].name == divided_b.lanes[lane].name);
  RC_ASSERT(work_of(divided_a) == work_of(a));
  RC_ASSERT(work_of(divided_b) == work_of(b));
}

TEST(OverlayRows, KeepsRowsThatAreNotDevices) {
  timeline::Timeline a;
  a.lanes = {{"devices 0-3", 0}, {"host", 0}};
  timeline::Timeline b;
  b.lanes = {{"device 2", 0}, {"host", 0}};
  const timeline::Timeline divided = divide_rows(a, b);
  ASSERT_EQ(divided.lanes.size(), 3U);
  EXPECT_EQ(divided.lanes[0].name, "devices 0-1,3") << "devices that the other timeline lacks stay together";
  EXPECT_EQ(divided.lanes[1].name, "device 2");
  EXPECT_EQ(divided.lanes[2].name, "host");
  EXPECT_EQ(divide_rows(b, a).lanes.size(), 2U);
}

}  // namespace

}  // namespace dovetail::report
