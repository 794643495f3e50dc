#include "report/iteration/iteration_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "simulate/iteration.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::BarKind;
using testing::ElementsAre;

simulate::Trace small_trace() {
  simulate::Trace trace;
  trace.end = Ticks(10);
  trace.lanes.push_back(
      {{0, 1},
       {{Ticks(0), Ticks(4), BarKind::decode, 0, 128, Ticks(1)}, {Ticks(4), Ticks(10), BarKind::tail, 0, 0}},
       {{Ticks(0), 100}, {Ticks(4), 0}}});
  trace.lanes.push_back(
      {{2}, {{Ticks(0), Ticks(7), BarKind::decode, 0, 64}, {Ticks(7), Ticks(10), BarKind::backward, 1, 3}}, {}});
  return trace;
}

std::vector<timeline::Track> tasks() {
  return {{"actor_generate", 0, 0, timeline::Track::Kind::task}, {"critic_train", 1, 0, timeline::Track::Kind::task}};
}

TEST(IterationChart, SaysWhatItsRowsAre) {
  simulate::Trace trace = small_trace();
  EXPECT_THAT(iteration_chart(iteration_timeline(trace, tasks(), "t", true), "Timeline").note,
              testing::Not(testing::HasSubstr("links")));
  trace.host_links.push_back({{2}, {{Ticks(1), Ticks(3), BarKind::loading, 1, 0, {}}}, {}});
  const Chart chart = iteration_chart(iteration_timeline(trace, tasks(), "t", true), "Timeline");
  EXPECT_THAT(chart.note, testing::HasSubstr("The last rows are what goes over links to host memory"));
  EXPECT_EQ(chart.timeline.lanes.size(), 3U);
  EXPECT_EQ(use_breakdown(trace, tasks()).rows.size(), 3U) << "links take no time of devices";
}

Ticks sum_of(const Breakdown::Row& row) { return std::accumulate(row.amounts.begin(), row.amounts.end(), Ticks()); }

TEST(IterationBreakdown, AttributesAllOfTheTimeOfEachDevice) {
  const simulate::Trace trace = small_trace();
  const Breakdown breakdown = use_breakdown(trace, tasks());
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
  const Breakdown idle = idle_use_breakdown(trace, tasks());
  ASSERT_EQ(idle.rows.size(), 3U);
  EXPECT_THAT(idle.rows[0].amounts, ElementsAre(Ticks(12), Ticks(2)));
  EXPECT_EQ(idle.rows[0].whole, Ticks(30));
  EXPECT_EQ(idle.rows[1].name, "devices 0-1") << "the idlest first";
  EXPECT_EQ(idle.rows[1].whole, Ticks(10));
  EXPECT_EQ(sum_of(idle.rows[2]), Ticks());
}

}  // namespace
}  // namespace dovetail::report
