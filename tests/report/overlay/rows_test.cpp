#include "report/overlay/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "report/iteration/iteration_picture.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using testing::ElementsAre;
using testing::Optional;

/// Devices 0 to n - 1 in rows that are drawn at random, each with a bar whose field, and a curve whose value, names the row.
Chart random_rows(int devices) {
  std::map<int, std::vector<int>> rows;
  for (int device = 0; device < devices; ++device) rows[*rc::gen::inRange(0, 4)].push_back(device);
  Chart chart;
  chart.end = Ticks(10);
  chart.categories = {{"work", "work", "", {}, false}};
  chart.fields = {{"row"}};
  for (const auto& [number, of] : rows) {
    chart.curves.push_back({chart.lanes.size(), {{Ticks(0), number}}});
    chart.lanes.push_back({device_row_name(of), 1});
    chart.bars.push_back({Ticks(0), Ticks(10), 0});
    chart.fields[0].values.push_back(number);
  }
  return chart;
}

/// [device] what the bar of its row says. Each row has one bar and one curve that says the same.
std::map<int, std::int64_t> work_of(const Chart& chart) {
  std::map<int, std::int64_t> work;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    EXPECT_EQ(chart.lanes[lane].bars, 1U);
    EXPECT_EQ(chart.curves[lane].lane, lane);
    EXPECT_EQ(chart.curves[lane].steps.front().second, static_cast<double>(chart.fields[0].values[lane]));
    const auto devices = devices_of(chart.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) work[device] = chart.fields[0].values[lane];
  }
  return work;
}

RC_GTEST_PROP(OverlayRows, GivesBothTheSameRowsAndKeepsWhatDevicesDo, ()) {
  const int devices = *rc::gen::inRange(1, 12);
  const Chart a = random_rows(devices);
  const Chart b = random_rows(devices);
  const Chart divided_a = divide_rows(a, b);
  const Chart divided_b = divide_rows(b, a);
  RC_ASSERT(divided_a.lanes.size() == divided_b.lanes.size());
  for (std::size_t lane = 0; lane < divided_a.lanes.size(); ++lane) RC_ASSERT(divided_a.lanes[lane].name == divided_b.lanes[lane].name);
  RC_ASSERT(work_of(divided_a) == work_of(a));
  RC_ASSERT(work_of(divided_b) == work_of(b));
}

TEST(OverlayRows, AreDevicesByTheirNames) {
  EXPECT_THAT(devices_of("device 3"), Optional(ElementsAre(3)));
  EXPECT_THAT(devices_of("devices 0-2,5,7-8"), Optional(ElementsAre(0, 1, 2, 5, 7, 8)));
  for (const std::string name : {"", "device", "device ", "device x", "device 0 · compute", "devices 3-1", "devices 1,1", "devices 2,",
                                 "devices -1", "devices 0-2000000000", "devices 99999999999", "GPU 3", "devices 1-"})
    EXPECT_EQ(devices_of(name), std::nullopt) << name;
}

TEST(OverlayRows, OfOtherNamesStayAsTheyAre) {
  Chart a;
  a.lanes = {{"devices 0-3", 0}, {"host", 0}};
  Chart b;
  b.lanes = {{"device 2", 0}, {"host", 0}};
  const Chart divided = divide_rows(a, b);
  ASSERT_EQ(divided.lanes.size(), 3U);
  EXPECT_EQ(divided.lanes[0].name, "devices 0-1,3") << "those that the other does not have are together";
  EXPECT_EQ(divided.lanes[1].name, "device 2");
  EXPECT_EQ(divided.lanes[2].name, "host");
  EXPECT_EQ(divide_rows(b, a).lanes.size(), 2U);
}

}  // namespace
}  // namespace dovetail::report
