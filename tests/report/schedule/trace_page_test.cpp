#include "report/schedule/trace_page.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace dovetail::report {
namespace {

using base::Ticks;

/// A lane with a slice of each of these names, in turn work and idle time, each longer than the one behind it.
timeline::ChromeTrace trace_of(int names) {
  timeline::ChromeTrace trace;
  trace.categories = {"", std::string(timeline::idle_category)};
  trace.lanes = {{"device 0", 0, {}}};
  for (int name = 0; name < names; ++name) {
    trace.names.push_back(std::string(static_cast<std::size_t>(name) + 1, 'x'));
    trace.lanes[0].slices.push_back({trace.end, trace.end + Ticks(100 - name), name, name % 2});
    trace.end += Ticks(100 - name);
  }
  return trace;
}

TEST(TraceChart, KeepsIdleTimeApartFromWorkWhereKindsShareOne) {
  for (const int names : {1, 14, 15, 16, 30}) {
    const Chart chart = trace_chart(trace_of(names), "t");
    ASSERT_EQ(chart.bars.size(), static_cast<std::size_t>(names));
    for (std::size_t bar = 0; bar < chart.bars.size(); ++bar)
      EXPECT_EQ(chart.categories.at(static_cast<std::size_t>(chart.bars[bar].category)).idle, bar % 2 == 1) << names << " names";
  }
  EXPECT_EQ(trace_chart(trace_of(14), "t").categories.size(), 14U);
  EXPECT_EQ(trace_chart(trace_of(30), "t").categories.size(), 16U);
}

TEST(TraceChart, ShowsBytesAsSuch) {
  timeline::ChromeTrace trace = trace_of(1);
  trace.counters = {{"memory in use", "bytes", 0, {{Ticks(0), 1e9}}}};
  EXPECT_EQ(trace_chart(trace, "t").curve_unit, "bytes");
  trace.counters[0].key = "held";
  EXPECT_EQ(trace_chart(trace, "t").curve_unit, "");
}

}  // namespace
}  // namespace dovetail::report
