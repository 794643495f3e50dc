#include "simulate/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulate/trace.h"

namespace dovetail::simulate {

namespace {

using base::Ticks;
using cluster::Mesh;

std::vector<int> devices_of(Mesh mesh) {
  std::vector<int> devices;
  for (int device = mesh.first; device < mesh.first + mesh.count; ++device) devices.push_back(device);
  return devices;
}

/// An activity whose devices all work for this long.
Activity activity(std::int32_t task, Mesh mesh, std::int64_t duration, BarKind bar_kind = BarKind::infer) {
  Activity activity;
  activity.task = task;
  activity.devices[0] = mesh;
  activity.trace.end = Ticks(duration);
  activity.trace.lanes.push_back({devices_of(mesh), {{Ticks(0), Ticks(duration), bar_kind, task, 0, {}}}, {}});
  return activity;
}

const Lane& lane_with(const Trace& trace, int device) {
  return *std::find_if(trace.lanes.begin(), trace.lanes.end(), [device](const Lane& lane) {
    return std::find(lane.devices.begin(), lane.devices.end(), device) != lane.devices.end();
  });
}

/// Returns the time of a bar kind on a device for one task.
Ticks time_on(const Iteration& iteration, int device, BarKind bar_kind, std::int32_t task) {
  Ticks time;
  for (const Use& use : uses_of(lane_with(iteration.trace, device)))
    if (use.bar_kind == bar_kind && use.task == task) time += use.time;
  return time;
}

TEST(SimulateIteration, IdleTimeHasItsCause) {
  Workload workload;
  workload.devices = 4;
  workload.activities = {activity(0, {0, 2}, 10, BarKind::decode), activity(1, {2, 1}, 4),
                         activity(2, {0, 3}, 6, BarKind::forward)};
  workload.edges = {{0, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  workload.overhead = Ticks(3);
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_TRUE(iteration.steady);
  EXPECT_EQ(iteration.period, Ticks(20));
  EXPECT_EQ(iteration.trace.end, Ticks(23));
  EXPECT_EQ(time_on(iteration, 0, BarKind::decode, 0), Ticks(10));
  EXPECT_EQ(time_on(iteration, 0, BarKind::dependency, 1), Ticks(4));
  EXPECT_EQ(time_on(iteration, 2, BarKind::dependency, 0), Ticks(10)) << "through the activity that it waits for";
  EXPECT_EQ(time_on(iteration, 2, BarKind::infer, 1), Ticks(4));
  EXPECT_EQ(time_on(iteration, 3, BarKind::dependency, -1), Ticks(20)) << "there is no activity";
  EXPECT_EQ(time_on(iteration, 3, BarKind::hand_over, -1), Ticks(3));
}

TEST(SimulateIteration, WaitingForWeightsIsAwaiting) {
  Workload workload;
  workload.devices = 3;
  workload.activities = {activity(0, {0, 1}, 10, BarKind::decode), activity(1, {2, 1}, 5, BarKind::forward)};
  Activity weights;
  weights.task = 0;
  weights.reallocation = true;
  weights.devices = {Mesh{0, 1}, Mesh{1, 1}};
  weights.transfers = {{1, 0, true, Ticks(8), 100}};
  workload.activities.push_back(weights);
  workload.edges = {{0, 1, 0}, {2, 0, 0}, {1, 2, 1}};
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_EQ(iteration.period, Ticks(23));
  EXPECT_EQ(time_on(iteration, 0, BarKind::reallocation, 0), Ticks(8));
  EXPECT_EQ(time_on(iteration, 0, BarKind::dependency, 1), Ticks(5));
  EXPECT_EQ(time_on(iteration, 2, BarKind::awaiting, 0), Ticks(8));
  EXPECT_EQ(time_on(iteration, 2, BarKind::dependency, 0), Ticks(10));
}

TEST(SimulateIteration, DevicesWithEarlierArrivalsAwaitTheOthers) {
  Workload workload;
  workload.devices = 3;
  Activity weights;
  weights.task = 0;
  weights.reallocation = true;
  weights.devices[0] = {0, 3};
  // Device 0 sends both over one link. Each gets half of it until the shorter one has arrived.
  weights.transfers = {{0, 1, false, Ticks(10'000), 1}, {0, 2, false, Ticks(30'000), 3}};
  workload.activities = {weights};
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_EQ(iteration.period, Ticks(40'000));
  EXPECT_EQ(time_on(iteration, 1, BarKind::reallocation, 0), Ticks(20'000));
  EXPECT_EQ(time_on(iteration, 1, BarKind::awaiting, 0), Ticks(20'000));
  EXPECT_EQ(time_on(iteration, 2, BarKind::reallocation, 0), Ticks(40'000));
}

TEST(SimulateIteration, MemoryIsResidentPlusActivity) {
  Workload workload;
  workload.devices = 2;
  workload.activities = {activity(0, {0, 2}, 10), activity(1, {0, 1}, 4)};
  workload.edges = {{0, 1, 0}, {1, 0, 1}};
  workload.activities[0].trace.lanes[0].memory = {{Ticks(0), 5}, {Ticks(6), 50}, {Ticks(10), 0}};
  workload.resident = [](int device, std::optional<std::size_t> in) {
    return std::int64_t{100} * (device + 1) + (in ? static_cast<std::int64_t>(*in) : 7);
  };
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_THAT(lane_with(iteration.trace, 0).memory,
              testing::ElementsAre(std::pair(Ticks(0), 105), std::pair(Ticks(6), 150), std::pair(Ticks(10), 101)));
  EXPECT_THAT(lane_with(iteration.trace, 1).memory,
              testing::ElementsAre(std::pair(Ticks(0), 205), std::pair(Ticks(6), 250), std::pair(Ticks(10), 207)));
}

/// A host transfer of this duration for an activity of the same iteration.
Activity host_transfer(Mesh mesh, std::size_t for_activity, std::int64_t duration, bool back) {
  Activity activity;
  activity.task = static_cast<std::int32_t>(for_activity);
  activity.trace.end = Ticks(duration);
  activity.host = HostTransfer{mesh, for_activity, back, 1000};
  return activity;
}

TEST(SimulateIteration, HostTransfersDoNotOccupyDevices) {
  Workload workload;
  workload.devices = 2;
  workload.activities = {activity(0, {0, 2}, 10), activity(1, {0, 2}, 4), host_transfer({0, 2}, 1, 6, false),
                         host_transfer({0, 2}, 1, 5, true)};
  // The second activity loads during the first and unloads during the next iteration.
  workload.edges = {{0, 1, 0}, {1, 0, 1}, {2, 1, 0}, {3, 2, 1}, {1, 3, 0}};
  workload.resident = [](int, std::optional<std::size_t>) { return std::int64_t{7}; };
  const Iteration hidden = simulate_iteration(workload);
  EXPECT_EQ(hidden.period, Ticks(15)) << "the next iteration begins after both transfers";
  EXPECT_EQ(time_on(hidden, 0, BarKind::transfer, 1), Ticks(1));
  EXPECT_EQ(time_on(hidden, 0, BarKind::loading, 1), Ticks(0));
  EXPECT_EQ(busy_time(uses_of(hidden.trace)) + idle_time(uses_of(hidden.trace)), Ticks(2 * 15));
  // The stretch begins with the load, when the unload ends.
  EXPECT_THAT(hidden.activities[2].end - hidden.activities[2].begin, Ticks(6));
  EXPECT_EQ(peak_of(hidden.trace.lanes[0]).second, 1007);
  ASSERT_EQ(hidden.trace.host_links.size(), 1U);
  const Lane& link = hidden.trace.host_links.front();
  EXPECT_THAT(link.devices, testing::ElementsAre(0, 1));
  Ticks moved;
  for (std::size_t index = 0; index < link.spans.size(); ++index) {
    moved += link.spans[index].end - link.spans[index].begin;
    EXPECT_EQ(link.spans[index].bar_kind, BarKind::loading);
    EXPECT_GE(link.spans[index].begin, index == 0 ? Ticks(0) : link.spans[index - 1].end) << "in turn";
  }
  EXPECT_EQ(moved, Ticks(6 + 5)) << "a transfer that crosses the beginning of the stretch ends at its end";
}

TEST(SimulateIteration, HostTransfersHoldMemoryUntilUsedOrUnloaded) {
  Workload workload;
  workload.devices = 2;
  workload.activities = {activity(0, {0, 2}, 10), activity(1, {0, 1}, 4), host_transfer({0, 1}, 1, 3, false),
                         host_transfer({0, 1}, 1, 2, true)};
  // All in sequence: the first activity, the load, the second activity, its unload.
  workload.edges = {{0, 2, 0}, {2, 1, 0}, {1, 3, 0}, {3, 0, 1}};
  workload.resident = [](int, std::optional<std::size_t> in) {
    return in == std::optional<std::size_t>(1) ? std::int64_t{1500} : 7;
  };
  workload.overhead = Ticks(3);
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_EQ(iteration.period, Ticks(19));
  EXPECT_EQ(time_on(iteration, 0, BarKind::transfer, 1), Ticks(5));
  EXPECT_THAT(lane_with(iteration.trace, 0).memory,
              testing::ElementsAre(std::pair(Ticks(0), 7), std::pair(Ticks(10), 1007), std::pair(Ticks(13), 1500),
                                   std::pair(Ticks(17), 1007), std::pair(Ticks(19), 7)));
  EXPECT_THAT(lane_with(iteration.trace, 1).memory, testing::ElementsAre(std::pair(Ticks(0), 7)));
}

Mesh random_mesh(int devices) {
  const int first = *rc::gen::inRange(0, devices);
  return {first, *rc::gen::inRange(1, devices - first + 1)};
}

/// A reallocation that moves nothing and ends immediately.
Activity nothing_to_move(Mesh mesh) {
  Activity activity;
  activity.reallocation = true;
  activity.devices[0] = mesh;
  return activity;
}

/// An activity with two lanes, one of which idles after its work. Any except the first may be empty instead.
Activity random_activity(std::int32_t task, int devices) {
  if (task > 0 && *rc::gen::inRange(0, 5) == 0) return nothing_to_move(random_mesh(devices));
  Activity made = activity(task, random_mesh(devices), *rc::gen::inRange(1, 50));
  std::vector<int> own = made.trace.lanes[0].devices;
  if (own.size() > 1) {
    const Ticks end(*rc::gen::inRange<std::int64_t>(1, made.trace.end.count() + 1));
    Lane early{{own.back()}, {{Ticks(0), end, BarKind::decode, task, 0, {}}}, {}};
    if (end < made.trace.end) early.spans.push_back({end, made.trace.end, BarKind::tail, task, 0, {}});
    made.trace.lanes[0].devices.pop_back();
    made.trace.lanes.push_back(std::move(early));
  }
  if (*rc::gen::inRange(0, 3) == 0 && own.size() > 1)
    made.transfers = {{own.front(), own.back(), *rc::gen::arbitrary<bool>(), Ticks(*rc::gen::inRange(1, 20)), 10}};
  return made;
}

Workload random_workload() {
  Workload workload;
  workload.devices = *rc::gen::inRange(1, 6);
  const int count = *rc::gen::inRange(1, 6);
  for (int task = 0; task < count; ++task) workload.activities.push_back(random_activity(task, workload.devices));
  for (std::size_t to = 0; to < workload.activities.size(); ++to)
    for (std::size_t from = 0; from < workload.activities.size(); ++from) {
      const int lag = *rc::gen::inRange(0, 8);
      if (lag == 0 && from < to) workload.edges.push_back({from, to, 0});
      if (lag == 1 || lag == 2) workload.edges.push_back({from, to, lag});
    }
  workload.overhead = Ticks(*rc::gen::inRange(0, 5));
  return workload;
}

/// Returns devices x time of an activity's own work.
Ticks work_of(const Activity& activity) {
  Ticks work;
  for (const Lane& lane : activity.trace.lanes)
    for (const Span& span : lane.spans)
      if (!is_idle(span.bar_kind)) work += (span.end - span.begin) * static_cast<std::int64_t>(lane.devices.size());
  return work;
}

TEST(SimulateIteration, EmptyActivitiesAddNoWork) {
  Workload workload;
  workload.devices = 1;
  workload.activities = {activity(0, {0, 1}, 10), activity(1, {0, 1}, 4), nothing_to_move({0, 1})};
  workload.edges = {{0, 1, 0}, {0, 2, 0}, {2, 1, 0}, {1, 0, 1}};
  const Iteration iteration = simulate_iteration(workload);
  EXPECT_EQ(iteration.period, Ticks(14));
  EXPECT_EQ(idle_time(uses_of(iteration.trace)), Ticks(0));
}

TEST(SimulateIteration, ArrivalsLessThanAMicrosecondApartAreMerged) {
  for (const std::int64_t apart : {14, 2000}) {
    Workload workload;
    workload.devices = 2;
    Activity moves = nothing_to_move({0, 2});
    moves.task = 1;
    moves.transfers = {{DeviceTransfer::no_device, 0, false, Ticks(50'000), 1},
                       {DeviceTransfer::no_device, 1, false, Ticks(50'000 + apart), 1}};
    workload.activities = {activity(0, {0, 2}, 100'000), moves};
    workload.edges = {{0, 1, 0}, {1, 0, 1}};
    const Iteration iteration = simulate_iteration(workload);
    EXPECT_FALSE(find_fault(iteration.trace).has_value());
    EXPECT_EQ(iteration.trace.lanes.size(), apart < 1000 ? 1U : 2U);
  }
}

RC_GTEST_PROP(SimulateIteration, WorkAndIdleTimeAddUp, ()) {
  const Workload workload = random_workload();
  const Iteration iteration = simulate_iteration(workload);
  RC_ASSERT(!find_fault(iteration.trace).has_value());
  std::size_t devices = 0;
  for (const Lane& lane : iteration.trace.lanes) {
    devices += lane.devices.size();
    const std::vector<Use> uses = uses_of(lane);
    RC_ASSERT(busy_time(uses) + idle_time(uses) == iteration.trace.end);
  }
  RC_ASSERT(devices == static_cast<std::size_t>(workload.devices));
  RC_PRE(iteration.steady);
  // The work that reaches into a period from before equals the work that reaches out of it.
  Ticks work;
  for (const Use& use : uses_of(iteration.trace))
    if (use.bar_kind == BarKind::infer || use.bar_kind == BarKind::decode) work += use.time;
  Ticks own;
  for (const Activity& activity : workload.activities)
    own += work_of(activity) * static_cast<std::int64_t>(iteration.iterations);
  RC_ASSERT(work == own);
}

bool begins_work_of(const Trace& trace, std::int32_t task, Ticks time) {
  for (const Lane& lane : trace.lanes)
    for (const Span& span : lane.spans)
      if (!is_idle(span.bar_kind) && span.task == task && span.begin == time) return true;
  return false;
}

RC_GTEST_PROP(SimulateIteration, BeginsWithTheFirstActivityOfAnIteration, ()) {
  const Workload workload = random_workload();
  const Iteration iteration = simulate_iteration(workload);
  const Ticks after = iteration.trace.end - workload.overhead * static_cast<std::int64_t>(iteration.iterations);
  Ticks first = after;
  for (std::size_t index = 0; index < workload.activities.size(); ++index) {
    const plan::ActivityTime& time = iteration.activities[index];
    first = std::min(first, time.begin);
    if (time.begin < after && workload.activities[index].trace.end > Ticks(0))
      RC_ASSERT(begins_work_of(iteration.trace, workload.activities[index].task, time.begin));
  }
  RC_ASSERT(first == Ticks(0));
}

RC_GTEST_PROP(SimulateIteration, IsDeterministic, ()) {
  const Workload workload = random_workload();
  const Iteration once = simulate_iteration(workload);
  const Iteration again = simulate_iteration(workload);
  RC_ASSERT(once.period == again.period && once.trace.lanes.size() == again.trace.lanes.size());
}

}  // namespace

namespace {

using base::Memory;
using base::Ticks;
using testing::ElementsAre;
using testing::Pair;

/// Two devices decode, one decodes and trains. Weights move over the host link of the last.
Trace small_trace() {
  Trace trace;
  trace.end = Ticks(10);
  trace.lanes.push_back(
      {{0, 1},
       {{Ticks(0), Ticks(4), BarKind::decode, 0, 128, Ticks(1)}, {Ticks(4), Ticks(10), BarKind::tail, 0, 0}},
       {{Ticks(0), 100}, {Ticks(4), 0}}});
  trace.lanes.push_back(
      {{2}, {{Ticks(0), Ticks(7), BarKind::decode, 0, 64}, {Ticks(7), Ticks(10), BarKind::backward, 1, 3}}, {}});
  trace.host_links.push_back({{2}, {{Ticks(1), Ticks(3), BarKind::loading, 1, 0}}, {}});
  return trace;
}

timeline::Timeline small_timeline(bool repeats) {
  constexpr auto task = timeline::Track::Kind::task;
  return iteration_timeline(small_trace(), {{"gen", 0, 0, task}, {"train", 1, 0, task}}, "t", repeats);
}

TEST(IterationTimeline, HasABarForEachSpan) {
  const timeline::Timeline timeline = small_timeline(true);
  std::vector<std::string> bars;
  for (const timeline::Bar& bar : timeline.bars)
    bars.push_back(full_title(timeline, bar) + " " + std::to_string(bar.begin.count()) + "-" +
                   std::to_string(bar.end.count()));
  EXPECT_THAT(bars, ElementsAre("decode of gen 0-4", "long tail of gen 4-10", "decode of gen 0-7",
                                "backward of train 7-10", "loading of train 1-3"));
  EXPECT_EQ(timeline.bars[0].sequences, 128);
  EXPECT_EQ(timeline.bars[0].launch, Ticks(1));
  EXPECT_EQ(timeline.bars[0].microbatch, -1);
  EXPECT_EQ(timeline.bars[3].microbatch, 3);
  EXPECT_EQ(timeline.bars[3].sequences, -1);
  EXPECT_EQ(timeline.end, Ticks(10));
  EXPECT_EQ(timeline.time_unit, base::TimeUnit::ns);
}

TEST(IterationTimeline, HasLanesOfDevicesThenOfLinks) {
  const timeline::Timeline timeline = small_timeline(true);
  std::vector<std::string> names;
  for (const timeline::Lane& lane : timeline.lanes) names.push_back(lane.name);
  EXPECT_THAT(names, ElementsAre("devices 0-1", "device 2", "host link 2"));
  ASSERT_EQ(timeline.counters.size(), 1U) << "the second lane has no memory";
  EXPECT_THAT(timeline.counters[0].steps, ElementsAre(Pair(Ticks(0), Memory(100)), Pair(Ticks(4), Memory(0))));
  EXPECT_EQ(timeline.counters[0].unit, "bytes");
}

TEST(IterationTimeline, RepeatsOnceIterationsAreSteady) {
  EXPECT_EQ(small_timeline(true).beginning, timeline::Beginning::repeats);
  EXPECT_EQ(small_timeline(false).beginning, timeline::Beginning::unknown);
}

}  // namespace

}  // namespace dovetail::simulate
