#include "report/schedule/schedule_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "report/example_timelines.h"
#include "report/page/chart_sections.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using testing::ElementsAre;

std::vector<std::string> names_of(const Chart& chart) {
  std::vector<std::string> names;
  for (const Category& category : chart.categories) names.push_back(category.name);
  return names;
}

TEST(ScheduleChart, HasACategoryForWhatTakesTime) {
  const timeline::Timeline timeline = small_timeline();
  const Chart chart = schedule_chart(timeline, "Timeline");
  const std::vector<std::string> names = names_of(chart);
  EXPECT_THAT(names, testing::IsSupersetOf({"actor forward", "actor backward", "dependency", "drain"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("delay"))) << "small_timeline has none";
  for (const ChartBar& bar : chart.bars) {
    ASSERT_GE(bar.category, 0);
    ASSERT_LT(bar.category, static_cast<std::int32_t>(chart.categories.size()));
  }
}

TEST(ScheduleChart, NamesBarsAndWhatTheyAwait) {
  const Chart chart = schedule_chart(small_timeline(), "Timeline");
  EXPECT_EQ(bar_title(chart, 0), "F7 actor");
  EXPECT_EQ(bar_title(chart, 1), "dependency");
  ASSERT_GE(chart.bars[1].awaits, 0);
  EXPECT_EQ(bar_title(chart, static_cast<std::size_t>(chart.bars[1].awaits)), "B7 actor");
}

TEST(ScheduleChart, KeepsAllOfTheTime) {
  const timeline::Timeline timeline = large_timeline(7, 90);
  const Chart chart = schedule_chart(timeline, "Timeline");
  const Breakdown breakdown = time_breakdown(chart);
  ASSERT_EQ(breakdown.rows.size(), timeline.lanes.size() + 1);
  const auto sum = [](const Breakdown::Row& row) { return std::accumulate(row.amounts.begin(), row.amounts.end(), Ticks()); };
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const timeline::TimeByKind times = timeline::time_by_kind(timeline.lanes[lane]);
    EXPECT_EQ(sum(breakdown.rows[lane + 1]), std::accumulate(times.begin(), times.end(), Ticks()));
  }
  Ticks of_lanes;
  for (std::size_t row = 1; row < breakdown.rows.size(); ++row) of_lanes += sum(breakdown.rows[row]);
  EXPECT_EQ(sum(breakdown.rows[0]), of_lanes);
}

TEST(LongestWaits, AreSortedAndLeadToTheirBars) {
  const Chart chart = schedule_chart(small_timeline(), "Timeline");
  const Table waits = longest_waits(chart);
  ASSERT_FALSE(waits.rows.empty());
  ASSERT_EQ(waits.bars.size(), waits.rows.size());
  Ticks last = Ticks::max();
  for (const std::int32_t bar : waits.bars) {
    const ChartBar& wait = chart.bars[static_cast<std::size_t>(bar)];
    EXPECT_TRUE(chart.categories[static_cast<std::size_t>(wait.category)].idle);
    EXPECT_LE(wait.end - wait.begin, last);
    last = wait.end - wait.begin;
  }
}

TEST(BarTitle, FillsInFieldsAndLeavesOutWhatABarHasNot) {
  Chart chart;
  chart.categories = {{"c", "{name} {count} in {time}{none}", "", {}, false}};
  chart.lanes = {{"lane", 1}};
  chart.bars = {{Ticks(0), Ticks(1)}};
  chart.time_unit = base::TimeUnit::ms;
  chart.fields = {{"name", Field::Kind::text, {"a", "b"}, {1}},
                  {"count", Field::Kind::number, {}, {7}},
                  {"time", Field::Kind::time, {}, {1'500'000}},
                  {"none", Field::Kind::number, {}, {-1}}};
  EXPECT_EQ(bar_title(chart, 0), "b 7 in 1.5 ms");
}

}  // namespace
}  // namespace dovetail::report
