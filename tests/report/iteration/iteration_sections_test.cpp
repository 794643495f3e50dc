#include "report/iteration/iteration_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "report/page/chart_sections.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Activity;
using testing::ElementsAre;

simulate::Trace small_trace() {
  simulate::Trace trace;
  trace.end = Ticks(10);
  trace.lanes.push_back({{0, 1},
                         {{Ticks(0), Ticks(4), Activity::decode, 0, 128, Ticks(1)}, {Ticks(4), Ticks(10), Activity::tail, 0, 0}},
                         {{Ticks(0), 100}, {Ticks(4), 0}}});
  trace.lanes.push_back({{2}, {{Ticks(0), Ticks(7), Activity::decode, 0, 64}, {Ticks(7), Ticks(10), Activity::backward, 1, 3}}, {}});
  return trace;
}

TEST(IterationChart, HasABarForEachSpan) {
  const simulate::Trace trace = small_trace();
  const Chart chart = iteration_chart({trace, {"actor_generate", "critic_train"}, {0, 1}, "t"}, "Timeline");
  ASSERT_EQ(chart.bars.size(), 4U);
  EXPECT_EQ(chart.lanes[0].name, "devices 0-1");
  EXPECT_EQ(chart.lanes[1].name, "device 2");
  EXPECT_EQ(bar_title(chart, 0), "decode of actor_generate");
  EXPECT_EQ(bar_title(chart, 3), "backward of critic_train");
  EXPECT_EQ(chart.bars[0].category, chart.bars[2].category);
  std::vector<std::string> names;
  for (const Category& category : chart.categories) names.push_back(category.name);
  EXPECT_THAT(names, ElementsAre("actor_generate decode", "critic_train backward", std::string(simulate::name_of(Activity::tail))));
  EXPECT_THAT(chart.fields[1].values, ElementsAre(128, -1, 64, -1)) << chart.fields[1].name;
  EXPECT_THAT(chart.fields[2].values, ElementsAre(-1, -1, -1, 3)) << chart.fields[2].name;
  EXPECT_THAT(chart.fields[3].values, ElementsAre(1, -1, -1, -1)) << chart.fields[3].name;
  ASSERT_EQ(chart.curves.size(), 1U) << "the second lane says nothing of memory";
  EXPECT_EQ(chart.curves[0].steps[0].second, 100);
}

TEST(IterationChart, HasRowsOfLinksToHostMemory) {
  simulate::Trace trace = small_trace();
  trace.host_links.push_back({{2}, {{Ticks(1), Ticks(3), Activity::loading, 1, 0, {}}}, {}});
  const IterationPicture picture{trace, {"actor_generate", "critic_train"}, {0, 1}, "t"};
  const Chart chart = iteration_chart(picture, "Timeline");
  ASSERT_EQ(chart.lanes.size(), 3U);
  EXPECT_EQ(chart.lanes[2].name, "host link 2");
  EXPECT_EQ(bar_title(chart, 4), "loading of critic_train");
  EXPECT_EQ(chart.curves.size(), 1U);
  EXPECT_EQ(use_breakdown(picture).rows.size(), 3U) << "links take no time of devices";
}

Ticks sum_of(const Breakdown::Row& row) { return std::accumulate(row.amounts.begin(), row.amounts.end(), Ticks()); }

TEST(IterationBreakdown, AttributesAllOfTheTimeOfEachDevice) {
  const simulate::Trace trace = small_trace();
  const Breakdown breakdown = use_breakdown({trace, {"actor_generate", "critic_train"}, {0, 1}, "t"});
  ASSERT_EQ(breakdown.rows.size(), 3U);
  EXPECT_EQ(breakdown.rows[0].name, "all 3 devices");
  EXPECT_EQ(sum_of(breakdown.rows[0]), trace.end * 3) << "a row that stands for two devices counts twice";
  for (std::size_t row = 1; row < breakdown.rows.size(); ++row) EXPECT_EQ(sum_of(breakdown.rows[row]), trace.end);
  std::vector<std::string> names;
  for (const Breakdown::Part& part : breakdown.parts) names.push_back(part.name);
  EXPECT_THAT(names, ElementsAre("actor_generate decode", "critic_train backward", "long tail", "launch"));
  EXPECT_THAT(breakdown.rows[0].amounts, ElementsAre(Ticks(13), Ticks(3), Ticks(12), Ticks(2)));
}

TEST(IterationBreakdown, HasIdleTimeAgainstAllTime) {
  const simulate::Trace trace = small_trace();
  const Breakdown idle = idle_use_breakdown({trace, {"actor_generate", "critic_train"}, {0, 1}, "t"});
  ASSERT_EQ(idle.rows.size(), 3U);
  EXPECT_THAT(idle.rows[0].amounts, ElementsAre(Ticks(12), Ticks(2)));
  EXPECT_EQ(idle.rows[0].whole, Ticks(30));
  EXPECT_EQ(idle.rows[1].name, "devices 0-1") << "the idlest first";
  EXPECT_EQ(idle.rows[1].whole, Ticks(10));
  EXPECT_EQ(sum_of(idle.rows[2]), Ticks());
}

}  // namespace
}  // namespace dovetail::report
