#include "report/page/chart_sections.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "support/example_timelines.h"

namespace dovetail::report {
namespace {

using base::Ticks;

TEST(TimeBreakdown, CoversTheWholeTime) {
  const timeline::Timeline timeline = test::large_timeline(7, 90);
  const Breakdown breakdown = time_breakdown(timeline);
  ASSERT_EQ(breakdown.rows.size(), timeline.lanes.size() + 1);
  const auto sum = [](const Breakdown::Row& row) {
    return std::accumulate(row.amounts.begin(), row.amounts.end(), Ticks());
  };
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const timeline::TimeByBarKind times = timeline::time_by_bar_kind(bars_of(timeline, lane));
    EXPECT_EQ(sum(breakdown.rows[lane + 1]), std::accumulate(times.begin(), times.end(), Ticks()));
  }
  Ticks of_lanes;
  for (std::size_t row = 1; row < breakdown.rows.size(); ++row) of_lanes += sum(breakdown.rows[row]);
  EXPECT_EQ(sum(breakdown.rows[0]), of_lanes);
}

TEST(WaitTable, IsSortedAndLinksToBars) {
  const timeline::Timeline timeline = test::small_timeline();
  const Table waits = wait_table(timeline);
  ASSERT_FALSE(waits.rows.empty());
  ASSERT_EQ(waits.bars.size(), waits.rows.size());
  Ticks last = Ticks::max();
  for (const std::int32_t bar : waits.bars) {
    const timeline::Bar& wait = timeline.bars[static_cast<std::size_t>(bar)];
    EXPECT_TRUE(is_idle(wait.bar_kind));
    EXPECT_LE(wait.end - wait.begin, last);
    last = wait.end - wait.begin;
  }
}

TEST(WaitTable, NamesTheAwaitedBarAndLane) {
  const Table waits = wait_table(test::small_timeline());
  EXPECT_EQ(waits.rows.at(0),
            (std::vector<std::string>{"dependency", "device 0", "2 ticks", "4 ticks", "B7 actor", "device 1"}));
}

}  // namespace
}  // namespace dovetail::report
