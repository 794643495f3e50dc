#include "report/overlay/rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using base::Ticks;

/// Devices 0 to n - 1 in rows that are drawn at random, each with a bar whose micro-batch, and a counter whose value,
/// names the row.
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

/// [device] what the bar of its row says. Each row has one bar and one counter that says the same.
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

RC_GTEST_PROP(OverlayRows, GivesBothTheSameRowsAndKeepsWhatDevicesDo, ()) {
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

TEST(OverlayRows, OfOtherNamesStayAsTheyAre) {
  timeline::Timeline a;
  a.lanes = {{"devices 0-3", 0}, {"host", 0}};
  timeline::Timeline b;
  b.lanes = {{"device 2", 0}, {"host", 0}};
  const timeline::Timeline divided = divide_rows(a, b);
  ASSERT_EQ(divided.lanes.size(), 3U);
  EXPECT_EQ(divided.lanes[0].name, "devices 0-1,3") << "those that the other does not have are together";
  EXPECT_EQ(divided.lanes[1].name, "device 2");
  EXPECT_EQ(divided.lanes[2].name, "host");
  EXPECT_EQ(divide_rows(b, a).lanes.size(), 2U);
}

}  // namespace
}  // namespace dovetail::report
