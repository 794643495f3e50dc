#include "report/overlay/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/overlay/pairs.h"
#include "report/page/chart_sections.h"
#include "simulate/iteration.h"
#include "support/example_timelines.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using testing::HasSubstr;
using timeline::Bar;
using timeline::Timeline;

const Chart& chart_of(const Page& page) { return std::get<Chart>(page.sections.at(0)); }
const Timeline& timeline_of(const Page& page) { return chart_of(page).timeline; }
const Table& bars_of(const Page& page) { return std::get<Table>(page.sections.at(1)); }
const Table& lanes_of(const Page& page) { return std::get<Table>(page.sections.back()); }
const Table& activities_table(const Page& page) { return std::get<Table>(page.sections.at(2)); }

/// A lane of simulated spans.
struct Work {
  simulate::BarKind bar_kind;
  std::int32_t task = 0;
  std::int64_t length = 0;  // seconds
  std::int64_t amount = 0;
};

Ticks seconds(std::int64_t count) { return Ticks(count * 1'000'000'000); }

simulate::Lane lane_of(std::vector<int> devices, const std::vector<Work>& work) {
  simulate::Lane lane{std::move(devices), {}, {{Ticks(0), 5}}};
  Ticks now;
  for (const Work& of : work) {
    lane.spans.push_back({now, now + seconds(of.length), of.bar_kind, of.task, of.amount, {}});
    now += seconds(of.length);
  }
  return lane;
}

simulate::Trace trace_of(std::vector<simulate::Lane> lanes) {
  const Ticks end = lanes.front().spans.back().end;
  return {end, std::move(lanes)};
}

NamedTimeline plan_of(const simulate::Trace& trace, bool repeats = true) {
  constexpr auto task = timeline::Track::Kind::task;
  return {"plan", iteration_timeline(trace, {{"gen", 0, 0, task}, {"train", 0, 0, task}}, "plan", repeats)};
}

/// Returns the trace that Dovetail writes of the iteration.
NamedTimeline trace_of_plan(const simulate::Trace& trace, bool repeats = true) {
  const auto read = timeline::parse_chrome_trace(render_chrome_trace(plan_of(trace, repeats).timeline), "t.json");
  EXPECT_TRUE(read.ok());
  return {"trace", *read};
}

using simulate::BarKind;
const Work hand_over{BarKind::hand_over, -1, 10};

/// Generation, training of two batches, the hand-over of the iteration.
simulate::Trace generation_first() {
  return trace_of({lane_of(
      {0, 1}, {{BarKind::decode, 0, 40, 8}, {BarKind::forward, 1, 20, 0}, {BarKind::backward, 1, 30, 1}, hand_over})});
}

/// The same iteration, starting 10 before the end of generation.
simulate::Trace generation_cut() {
  return trace_of({lane_of({0, 1}, {{BarKind::decode, 0, 10, 8},
                                    {BarKind::forward, 1, 20, 0},
                                    {BarKind::backward, 1, 30, 1},
                                    {BarKind::decode, 0, 30, 8},
                                    hand_over})});
}

TEST(Overlay, OfATimelineWithItselfHasNoDifferences) {
  const Timeline timeline = test::small_timeline();
  const Page page = overlay_page({"a", timeline}, {"b", timeline}, "both");
  const Timeline& joined = timeline_of(page);
  EXPECT_TRUE(bars_of(page).rows.empty());
  EXPECT_EQ(joined.bars.size(), 2 * timeline.bars.size());
  EXPECT_EQ(joined.tracks.size(), timeline.tracks.size()) << "both have the same";
  for (std::size_t bar = 0; bar < joined.bars.size(); ++bar) {
    const Bar& one = joined.bars[bar];
    if (is_idle(one.bar_kind)) continue;
    ASSERT_GE(one.partner, 0);
    const Bar& other = joined.bars[static_cast<std::size_t>(one.partner)];
    EXPECT_EQ(other.partner, static_cast<std::int32_t>(bar));
    EXPECT_EQ(title_of(joined, one), title_of(joined, other));
  }
}

TEST(Overlay, ListsTheLargestDifferenceFirst) {
  const Timeline a = test::large_timeline(3, 12);
  Timeline b = a;
  // The last bars of two lanes end later, one of them much later.
  b.bars.back().end += Ticks(1);
  bars_of(b, 0).back().end += Ticks(50);
  const Page page = overlay_page({"a", a}, {"b", b}, "both");
  ASSERT_EQ(bars_of(page).rows.size(), 2U);
  EXPECT_EQ(bars_of(page).rows[0].back(), "+50 ticks");
  EXPECT_EQ(bars_of(page).rows[1].back(), "+1 tick");
  EXPECT_THAT(bars_of(page).rows[0][1], a.lanes[0].name);
}

TEST(Overlay, OfAScheduleWithItsOwnChromeTraceMatchesEveryBar) {
  const timeline::Timeline timeline = test::large_timeline(4, 30);
  const auto trace = timeline::parse_chrome_trace(render_chrome_trace(timeline), "trace.json");
  ASSERT_TRUE(trace.ok()) << base::to_text(trace.error());
  const Page page = overlay_page({"a", timeline}, {"b", *trace}, "both");
  EXPECT_TRUE(bars_of(page).rows.empty());
  for (const auto& row : lanes_of(page).rows) {
    EXPECT_EQ(row[8], "0") << "only in A";
    EXPECT_EQ(row[9], "0") << "only in B";
  }
  EXPECT_EQ(timeline_of(page).time_unit, base::TimeUnit::us);
  EXPECT_THAT(chart_of(page).note, HasSubstr("1 tick is shown as 1 microsecond"));
}

TEST(Overlay, RotatesRepeatingTimelinesToACommonActivity) {
  const Page page = overlay_page(plan_of(generation_first()), plan_of(generation_cut()), "both");
  EXPECT_TRUE(bars_of(page).rows.empty());
  EXPECT_THAT(bars_of(page).note, HasSubstr("All matched bars are equal"));
  EXPECT_THAT(chart_of(page).note, HasSubstr("Both are aligned at the start of gen. B is rotated by"));
  EXPECT_EQ(lanes_of(page).rows[0][8], "0") << "the bar cut by the end is joined again";
  EXPECT_EQ(lanes_of(page).rows[0][9], "0");
  ASSERT_EQ(timeline_of(page).counters.size(), 2U);
  EXPECT_EQ(timeline_of(page).counters[0].steps, timeline_of(page).counters[1].steps);
  const Page both_cut = overlay_page(plan_of(generation_cut()), plan_of(generation_cut()), "both");
  EXPECT_THAT(chart_of(both_cut).note, HasSubstr("A is rotated by"));
  EXPECT_TRUE(bars_of(both_cut).rows.empty());
}

TEST(Overlay, ExcludesHostTransfersFromActivities) {
  simulate::Trace with_links = generation_cut();
  with_links.host_links.push_back({{0, 1}, {{seconds(5), seconds(15), BarKind::loading, 1, 0, {}}}, {}});
  for (const NamedTimeline& other : {plan_of(generation_first()), trace_of_plan(generation_first())}) {
    const Page page = overlay_page(plan_of(with_links), other, "both");
    EXPECT_THAT(chart_of(page).note, HasSubstr("A is rotated by"))
        << "the hand-over stays last, next to a row without one";
    for (const auto& row : activities_table(page).rows) EXPECT_THAT(row[3], testing::AnyOf("0.0 ms", "")) << row[0];
    EXPECT_TRUE(bars_of(page).rows.empty());
  }
}

TEST(Overlay, KeepsTimelinesThatBeginWithTheSameActivity) {
  const Page first = overlay_page(plan_of(generation_first()), plan_of(generation_first()), "both");
  EXPECT_EQ(chart_of(first).note.find("turned"), std::string::npos);
}

TEST(Overlay, OfAnIterationWithItsOwnTraceHasNoDifferences) {
  for (const simulate::Trace& trace : {generation_first(), generation_cut()}) {
    const NamedTimeline plan = plan_of(trace);
    for (const bool trace_first : {false, true}) {
      const Page page = trace_first ? overlay_page(trace_of_plan(trace), plan, "both")
                                    : overlay_page(plan, trace_of_plan(trace), "both");
      EXPECT_TRUE(bars_of(page).rows.empty());
      for (const auto& row : lanes_of(page).rows) {
        EXPECT_EQ(row[8], "0");
        EXPECT_EQ(row[9], "0");
      }
      const std::vector<Category> categories = legend_of(timeline_of(page)).categories;
      const std::vector<Category> of_plan = legend_of(plan.timeline).categories;
      ASSERT_EQ(categories.size(), of_plan.size()) << "the same kinds";
      for (std::size_t category = 0; category < categories.size(); ++category) {
        EXPECT_EQ(categories[category].name, of_plan[category].name);
        EXPECT_EQ(categories[category].ink.light, of_plan[category].ink.light);
        EXPECT_EQ(categories[category].ink.dark, of_plan[category].ink.dark);
      }
      EXPECT_EQ(timeline_of(page).counters.size(), 2U) << "of both";
      EXPECT_EQ(timeline_of(page).counters[0].unit, "bytes");
    }
  }
}

TEST(Overlay, FindsCausesOfIdleTimeInATrace) {
  const simulate::Trace trace = trace_of({lane_of({0}, {{BarKind::decode, 0, 40}, {BarKind::dependency, 1, 60}}),
                                          lane_of({1}, {{BarKind::dependency, 0, 40}, {BarKind::forward, 1, 60}})});
  const Page page = overlay_page(plan_of(trace), trace_of_plan(trace), "both");
  EXPECT_EQ(legend_of(timeline_of(page)).categories.size(), 3U) << "decode, forward, dependency";
}

TEST(Overlay, MatchesDevicesByName) {
  const simulate::Trace together = trace_of({lane_of({0, 1, 2}, {{BarKind::decode, 0, 40}})});
  const simulate::Trace apart = trace_of(
      {lane_of({0}, {{BarKind::decode, 0, 40}}), lane_of({1, 2}, {{BarKind::decode, 0, 30}, {BarKind::tail, 0, 10}})});
  const Page page = overlay_page(plan_of(together), trace_of_plan(apart), "both");
  ASSERT_EQ(lanes_of(page).rows.size(), 2U);
  EXPECT_EQ(lanes_of(page).rows[0][0], "device 0");
  EXPECT_EQ(lanes_of(page).rows[1][0], "devices 1-2");
  ASSERT_EQ(bars_of(page).rows.size(), 1U);
  EXPECT_EQ(bars_of(page).rows[0][1], "devices 1-2");
}

TEST(Overlay, DelaysAMeasuredTraceToTheCommonActivity) {
  const simulate::Trace measured = trace_of(
      {lane_of({0, 1}, {{BarKind::loading, -1, 25}, {BarKind::decode, 0, 45, 8}, {BarKind::forward, 1, 20, 0}})});
  const Page page = overlay_page(plan_of(generation_cut()), trace_of_plan(measured, false), "both");
  EXPECT_THAT(chart_of(page).note, HasSubstr("A is rotated by"));
  EXPECT_THAT(chart_of(page).note, HasSubstr("A is delayed by "));
  const Timeline& joined = timeline_of(page);
  const auto first_decode = [&](std::size_t lane) {
    for (const Bar& bar : timeline::bars_of(joined, lane))
      if (title_of(joined, bar) == "decode of gen") return bar.begin;
    return Ticks(-1);
  };
  EXPECT_EQ(first_decode(0), seconds(25));
  EXPECT_EQ(first_decode(1), seconds(25));
  EXPECT_EQ(page.figures[0].value, "100 s") << "the delay does not make it longer";
}

TEST(Overlay, KeepsTheTimesOfSchedules) {
  const Timeline a = test::large_timeline(3, 12);
  Timeline later = a;
  for (Bar& bar : later.bars) {
    bar.begin += Ticks(7);
    bar.end += Ticks(7);
  }
  later.end += Ticks(7);
  const Page page = overlay_page({"a", a}, {"b", later}, "both");
  EXPECT_EQ(chart_of(page).note.find("are aligned at the start"), std::string::npos);
  ASSERT_FALSE(bars_of(page).rows.empty());
  EXPECT_EQ(bars_of(page).rows[0][4], "+7 ticks");
}

TEST(Overlay, ReportsThatNothingMatches) {
  Timeline other;
  other.time_unit = base::TimeUnit::ns;
  other.end = Ticks(10);
  other.beginning = timeline::Beginning::unknown;
  add_lane(other, "host", {{Ticks(0), Ticks(10), timeline::BarKind::infer}});
  add_lane(other, "gpu", {});
  const Page page = overlay_page(plan_of(generation_first()), {"other", other}, "both");
  EXPECT_THAT(chart_of(page).note, HasSubstr("The timelines share no activity"));
  EXPECT_THAT(bars_of(page).note, HasSubstr("No bars match"));
  EXPECT_THAT(lanes_of(page).note, HasSubstr("No rows match"));
  EXPECT_TRUE(lanes_of(page).rows.empty());
  other.lanes.pop_back();
  const Page by_place = overlay_page(plan_of(generation_first()), {"other", other}, "both");
  EXPECT_THAT(chart_of(by_place).note, HasSubstr("rows are matched by position"));
}

/// Generation on one device and training on another that wraps around the end of the iteration.
simulate::Trace overlapping(std::int64_t train_begins) {
  std::vector<Work> train;
  const std::int64_t after = train_begins + 50 - 90;
  for (std::int64_t batch = 5 - after / 10; batch < 5; ++batch) train.push_back({BarKind::forward, 1, 10, batch});
  train.push_back({BarKind::dependency, 0, train_begins - after});
  for (std::int64_t batch = 0; batch < 5 - after / 10; ++batch) train.push_back({BarKind::forward, 1, 10, batch});
  train.push_back(hand_over);
  return trace_of(
      {lane_of({0}, {{BarKind::decode, 0, 60, 8}, {BarKind::dependency, 1, 30}, hand_over}), lane_of({1}, train)});
}

TEST(Overlay, CountsBarsFromTheStartOfTheirActivity) {
  const simulate::Trace a = overlapping(70);
  const simulate::Trace b = overlapping(60);
  const Page page = overlay_page(plan_of(a), plan_of(b), "both");
  ASSERT_EQ(bars_of(page).rows.size(), 5U);
  for (const auto& row : bars_of(page).rows) EXPECT_EQ(row[4], "-10.0 s") << "each starts earlier by the same amount";
  for (const Bar& bar : timeline_of(page).bars) {
    if (bar.partner < 0 || bar.microbatch < 0) continue;
    EXPECT_EQ(bar.microbatch, timeline_of(page).bars[static_cast<std::size_t>(bar.partner)].microbatch)
        << "the same batch";
  }
  const Table& activities = activities_table(page);
  EXPECT_EQ(activities.title, "Differences by activity");
  ASSERT_EQ(activities.rows.size(), 2U);
  EXPECT_EQ(activities.rows[1][0], "train");
  EXPECT_THAT(activities.rows[1],
              testing::ElementsAre("train", "70.0 s", "60.0 s", "-10.0 s", "50.0 s", "50.0 s", "0.0 ms"));
}

TEST(Overlay, GivesKindsOnlyInTheTraceUniqueColors) {
  const auto trace = [](const std::string& name) {
    const auto read = timeline::parse_chrome_trace(
        R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"name":"x"},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":")" +
            name + "\"}]",
        "t.json");
    EXPECT_TRUE(read.ok());
    return NamedTimeline{name, *read};
  };
  const Page page = overlay_page(trace("y"), trace("z"), "both");
  const std::vector<Category> categories = legend_of(timeline_of(page)).categories;
  ASSERT_EQ(categories.size(), 3U);
  EXPECT_NE(categories[1].ink.light, categories[2].ink.light);
  EXPECT_EQ(lanes_of(page).rows[0][7], "1") << "x is in both";
}

TEST(Overlay, MatchesLanesByPositionWithoutCommonNames) {
  Timeline a;
  a.lanes = {{"x", 0}, {"y", 0}};
  Timeline b;
  b.lanes = {{"p", 0}, {"q", 0}};
  ASSERT_EQ(pair_lanes(a, b).size(), 2U);
  EXPECT_EQ(pair_lanes(a, b)[1].b, 1U);
  b.lanes = {{"y", 0}, {"q", 0}};
  ASSERT_EQ(pair_lanes(a, b).size(), 1U);
  EXPECT_EQ(pair_lanes(a, b)[0].a, 1U);
  b.lanes = {{"p", 0}};
  EXPECT_TRUE(pair_lanes(a, b).empty());
}

}  // namespace
}  // namespace dovetail::report
