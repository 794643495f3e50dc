#include "simulate/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::simulate {

namespace {

using base::Ticks;
using testing::HasSubstr;
using testing::Optional;

Span span(std::int64_t begin, std::int64_t end, BarKind bar_kind, std::int32_t task = 0, std::int64_t launch = 0) {
  return {Ticks(begin), Ticks(end), bar_kind, task, 0, Ticks(launch)};
}

/// Two devices decode for ten and wait for one that runs inference.
Trace sound() {
  Trace trace{Ticks(30), {}};
  trace.lanes.push_back({{0, 1},
                         {span(0, 10, BarKind::decode, 0, 4), span(10, 30, BarKind::dependency, 1)},
                         {{Ticks(0), 7}, {Ticks(5), 9}}});
  trace.lanes.push_back({{4}, {span(0, 30, BarKind::infer, 1)}, {}});
  return trace;
}

TEST(UsesOf, AddUpToDeviceTime) {
  const Trace trace = sound();
  const std::vector<Use> uses = uses_of(trace);
  EXPECT_EQ(time_of(uses, BarKind::decode), Ticks(2 * 6)) << "without launches";
  EXPECT_EQ(time_of(uses, BarKind::launch), Ticks(2 * 4));
  EXPECT_EQ(time_of(uses, BarKind::dependency), Ticks(2 * 20));
  EXPECT_EQ(time_of(uses, BarKind::infer), Ticks(30));
  EXPECT_EQ(busy_time(uses), Ticks(12 + 30));
  EXPECT_EQ(busy_time(uses) + idle_time(uses), Ticks(3 * 30));
  EXPECT_EQ(idle_time(uses_of(trace.lanes.front())), Ticks(24));
}

TEST(PeakOf, IsTheFirstMaximum) {
  EXPECT_EQ(peak_of(sound().lanes[0]), std::pair(Ticks(5), std::int64_t{9}));
  EXPECT_EQ(peak_of(sound().lanes[1]), std::pair(Ticks(0), std::int64_t{0}));
}

TEST(AddMemory, AddsBytesForAnInterval) {
  using Memory = std::vector<std::pair<Ticks, std::int64_t>>;
  Memory memory = {{Ticks(0), 5}, {Ticks(10), 50}, {Ticks(10), 60}};
  add_memory(memory, Ticks(4), Ticks(12), 100);
  EXPECT_EQ(memory, (Memory{{Ticks(0), 5}, {Ticks(4), 105}, {Ticks(10), 150}, {Ticks(10), 160}, {Ticks(12), 60}}));
  add_memory(memory, Ticks(12), Ticks(12), 100);
  add_memory(memory, Ticks(10), Ticks(12), -100);
  EXPECT_EQ(memory, (Memory{{Ticks(0), 5}, {Ticks(4), 105}, {Ticks(10), 50}, {Ticks(10), 60}, {Ticks(12), 60}}));
}

TEST(FindFault, AcceptsAValidTrace) { EXPECT_EQ(find_fault(sound()), std::nullopt); }

TEST(FindFault, ReportsFaults) {
  const auto broken = [](auto change) {
    Trace trace = sound();
    change(trace);
    return find_fault(trace);
  };
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[1].devices = {1}; }),
              Optional(HasSubstr("device 1 is in two lanes")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[1].devices.clear(); }), Optional(HasSubstr("has no devices")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].spans[1].begin = Ticks(11); }),
              Optional(HasSubstr("begins at 11, not at 10")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].spans[1].begin = Ticks(9); }),
              Optional(HasSubstr("begins at 9, not at 10")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].spans[1].end = Ticks(29); }),
              Optional(HasSubstr("end at 29, not at 30")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].spans[0].end = Ticks(0); }),
              Optional(HasSubstr("does not end after its begin")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].spans[0].launch = Ticks(11); }),
              Optional(HasSubstr("has a launch time of 11")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].memory[0].first = Ticks(6); }),
              Optional(HasSubstr("memory at 5")));
  EXPECT_THAT(broken([](Trace& trace) { trace.lanes[0].memory[1].second = -1; }),
              Optional(HasSubstr("is negative: -1")));
}

}  // namespace

}  // namespace dovetail::simulate
