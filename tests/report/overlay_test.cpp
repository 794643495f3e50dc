#include "report/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_timelines.h"
#include "report/chart_sections.h"
#include "report/chrome_trace.h"
#include "report/schedule_page.h"
#include "report/trace_page.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using testing::HasSubstr;

const Chart& chart_of(const Page& page) { return std::get<Chart>(page.sections.at(0)); }
const Table& bars_of(const Page& page) { return std::get<Table>(page.sections.at(1)); }
const Table& lanes_of(const Page& page) { return std::get<Table>(page.sections.at(2)); }

TEST(Overlay, OfATimelineWithItselfHasNoDifference) {
  const Chart chart = schedule_chart(small_timeline(), "a");
  const Page page = overlay_page({"a", chart}, {"b", chart}, "both");
  EXPECT_TRUE(bars_of(page).rows.empty());
  EXPECT_EQ(chart_of(page).bars.size(), 2 * chart.bars.size());
  EXPECT_EQ(chart_of(page).categories.size(), chart.categories.size()) << "both have the same";
  for (std::size_t bar = 0; bar < chart_of(page).bars.size(); ++bar) {
    const ChartBar& one = chart_of(page).bars[bar];
    if (chart_of(page).categories[static_cast<std::size_t>(one.category)].idle) continue;
    ASSERT_GE(one.partner, 0);
    const ChartBar& other = chart_of(page).bars[static_cast<std::size_t>(one.partner)];
    EXPECT_EQ(other.partner, static_cast<std::int32_t>(bar));
    EXPECT_EQ(bar_title(chart_of(page), bar), bar_title(chart_of(page), static_cast<std::size_t>(one.partner)));
  }
}

TEST(Overlay, ListsTheLargestDifferenceFirst) {
  const Chart a = schedule_chart(large_timeline(3, 12), "a");
  Chart b = a;
  // The last bars of two lanes end later, one of them much.
  b.bars.back().end += Ticks(1);
  const std::size_t end_of_first = a.lanes[0].bars - 1;
  b.bars[end_of_first].end += Ticks(50);
  for (const std::size_t bar : {a.bars.size() - 1, end_of_first}) b.bars[bar].category = 0;
  Chart work_a = a;
  for (const std::size_t bar : {a.bars.size() - 1, end_of_first}) work_a.bars[bar].category = 0;
  const Page page = overlay_page({"a", work_a}, {"b", b}, "both");
  ASSERT_EQ(bars_of(page).rows.size(), 2U);
  EXPECT_EQ(bars_of(page).rows[0].back(), "+50 ticks");
  EXPECT_EQ(bars_of(page).rows[1].back(), "+1 tick");
  EXPECT_THAT(bars_of(page).rows[0][1], a.lanes[0].name);
}

TEST(Overlay, OfAScheduleWithItsOwnChromeTraceMatchesEveryBar) {
  const timeline::Timeline timeline = large_timeline(4, 30);
  const auto trace = timeline::parse_chrome_trace(render_chrome_trace(timeline), "trace.json");
  ASSERT_TRUE(trace.ok()) << base::to_text(trace.error());
  const Chart a = schedule_chart(timeline, "a");
  const Page page = overlay_page({"a", a}, {"b", trace_chart(*trace, "b")}, "both");
  EXPECT_TRUE(bars_of(page).rows.empty());
  for (const auto& row : lanes_of(page).rows) {
    EXPECT_EQ(row[8], "0") << "only in A";
    EXPECT_EQ(row[9], "0") << "only in B";
  }
  EXPECT_EQ(chart_of(page).time_unit, base::TimeUnit::us);
  EXPECT_THAT(chart_of(page).note, HasSubstr("A tick is shown as a microsecond"));
}

TEST(Overlay, PairsLanesByPlaceWhereNoNameIsInBoth) {
  Chart a;
  a.lanes = {{"x", 0}, {"y", 0}};
  Chart b;
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
