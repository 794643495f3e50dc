#include "report/split_lanes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "simulate/accounting.h"

namespace dovetail::report {
namespace {

using base::Ticks;

/// Devices 0 to n - 1 in lanes that are drawn at random, each with a span that names its lane.
simulate::Trace random_trace(int devices) {
  std::map<int, std::vector<int>> lanes;
  for (int device = 0; device < devices; ++device) lanes[*rc::gen::inRange(0, 4)].push_back(device);
  simulate::Trace trace;
  trace.end = Ticks(10);
  for (const auto& [number, of] : lanes) trace.lanes.push_back({of, {{Ticks(0), Ticks(10), simulate::Activity::decode, 0, number}}, {}});
  return trace;
}

/// [device] what its lane's span says.
std::map<int, std::int64_t> work_of(const simulate::Trace& trace) {
  std::map<int, std::int64_t> work;
  for (const simulate::Lane& lane : trace.lanes)
    for (const int device : lane.devices) work[device] = lane.spans.front().amount;
  return work;
}

RC_GTEST_PROP(SplitLanes, GivesBothTheSameRowsAndKeepsWhatDevicesDo, ()) {
  const int devices = *rc::gen::inRange(1, 12);
  const simulate::Trace a = random_trace(devices);
  const simulate::Trace b = random_trace(devices);
  const simulate::Trace split_a = split_lanes(a, b);
  const simulate::Trace split_b = split_lanes(b, a);
  RC_ASSERT(split_a.lanes.size() == split_b.lanes.size());
  for (std::size_t lane = 0; lane < split_a.lanes.size(); ++lane) RC_ASSERT(split_a.lanes[lane].devices == split_b.lanes[lane].devices);
  RC_ASSERT(!simulate::find_fault(split_a).has_value());
  RC_ASSERT(work_of(split_a) == work_of(a));
}

TEST(SplitLanes, KeepsLanesThatAreAlikeInBoth) {
  const simulate::Trace a{Ticks(5), {{{0, 1, 2, 3}, {}, {}}}};
  const simulate::Trace b{Ticks(7), {{{0, 1}, {}, {}}, {{2, 3}, {}, {}}}};
  EXPECT_EQ(split_lanes(a, b).lanes.size(), 2U);
  EXPECT_EQ(split_lanes(b, a).lanes.size(), 2U);
  EXPECT_EQ(split_lanes(a, a).lanes.size(), 1U);
  EXPECT_EQ(split_lanes(a, b).end, Ticks(5));
}

}  // namespace
}  // namespace dovetail::report
