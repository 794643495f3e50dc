#include "simulate/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "simulate/accounting.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using cluster::Mesh;

std::vector<int> devices_of(Mesh mesh) {
  std::vector<int> devices;
  for (int device = mesh.first; device < mesh.first + mesh.count; ++device) devices.push_back(device);
  return devices;
}

/// A step whose devices all work for as long.
Step step(std::int32_t task, Mesh mesh, std::int64_t duration, Activity activity = Activity::score) {
  Step step;
  step.task = task;
  step.devices[0] = mesh;
  step.trace.end = Ticks(duration);
  step.trace.lanes.push_back({devices_of(mesh), {{Ticks(0), Ticks(duration), activity, task, 0, {}}}, {}});
  return step;
}

const Lane& lane_with(const Trace& trace, int device) {
  return *std::find_if(trace.lanes.begin(), trace.lanes.end(), [device](const Lane& lane) {
    return std::find(lane.devices.begin(), lane.devices.end(), device) != lane.devices.end();
  });
}

/// Time of an activity on a device, for one task.
Ticks time_on(const Iteration& iteration, int device, Activity activity, std::int32_t task) {
  Ticks time;
  for (const Use& use : uses_of(lane_with(iteration.trace, device)))
    if (use.activity == activity && use.task == task) time += use.time;
  return time;
}

TEST(PlayIterations, SaysWhoWaitsForWhom) {
  Workload workload;
  workload.devices = 4;
  workload.steps = {step(0, {0, 2}, 10, Activity::decode), step(1, {2, 1}, 4), step(2, {0, 3}, 6, Activity::forward)};
  workload.edges = {{0, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  workload.overhead = Ticks(3);
  const Iteration iteration = play_iterations(workload);
  EXPECT_TRUE(iteration.steady);
  EXPECT_EQ(iteration.period, Ticks(20));
  EXPECT_EQ(iteration.trace.end, Ticks(23));
  EXPECT_EQ(time_on(iteration, 0, Activity::decode, 0), Ticks(10));
  EXPECT_EQ(time_on(iteration, 0, Activity::dependency, 1), Ticks(4));
  EXPECT_EQ(time_on(iteration, 2, Activity::dependency, 0), Ticks(10)) << "what it waits for waits for that";
  EXPECT_EQ(time_on(iteration, 2, Activity::score, 1), Ticks(4));
  EXPECT_EQ(time_on(iteration, 3, Activity::dependency, -1), Ticks(20)) << "no step is there";
  EXPECT_EQ(time_on(iteration, 3, Activity::hand_over, -1), Ticks(3));
}

TEST(PlayIterations, WhoWaitsForWeightsAwaitsThem) {
  Workload workload;
  workload.devices = 3;
  workload.steps = {step(0, {0, 1}, 10, Activity::decode), step(1, {2, 1}, 5, Activity::forward)};
  Step weights;
  weights.task = 0;
  weights.reallocation = true;
  weights.devices = {Mesh{0, 1}, Mesh{1, 1}};
  weights.transfers = {{1, 0, true, Ticks(8), 100}};
  workload.steps.push_back(weights);
  workload.edges = {{0, 1, 0}, {2, 0, 0}, {1, 2, 1}};
  const Iteration iteration = play_iterations(workload);
  EXPECT_EQ(iteration.period, Ticks(23));
  EXPECT_EQ(time_on(iteration, 0, Activity::reallocation, 0), Ticks(8));
  EXPECT_EQ(time_on(iteration, 0, Activity::dependency, 1), Ticks(5));
  EXPECT_EQ(time_on(iteration, 2, Activity::awaiting, 0), Ticks(8));
  EXPECT_EQ(time_on(iteration, 2, Activity::dependency, 0), Ticks(10));
}

TEST(PlayIterations, DevicesWhoseTransfersEndSoonerAwaitTheOthers) {
  Workload workload;
  workload.devices = 3;
  Step weights;
  weights.task = 0;
  weights.reallocation = true;
  weights.devices[0] = {0, 3};
  // Device 0 sends both over one link: each has a half of it until the shorter one has arrived.
  weights.transfers = {{0, 1, false, Ticks(10'000), 1}, {0, 2, false, Ticks(30'000), 3}};
  workload.steps = {weights};
  const Iteration iteration = play_iterations(workload);
  EXPECT_EQ(iteration.period, Ticks(40'000));
  EXPECT_EQ(time_on(iteration, 1, Activity::reallocation, 0), Ticks(20'000));
  EXPECT_EQ(time_on(iteration, 1, Activity::awaiting, 0), Ticks(20'000));
  EXPECT_EQ(time_on(iteration, 2, Activity::reallocation, 0), Ticks(40'000));
}

TEST(PlayIterations, HoldsWhatIsResidentAndWhatTheStepAdds) {
  Workload workload;
  workload.devices = 2;
  workload.steps = {step(0, {0, 2}, 10), step(1, {0, 1}, 4)};
  workload.edges = {{0, 1, 0}, {1, 0, 1}};
  workload.steps[0].trace.lanes[0].memory = {{Ticks(0), 5}, {Ticks(6), 50}, {Ticks(10), 0}};
  workload.resident = [](int device, std::optional<std::size_t> in) {
    return std::int64_t{100} * (device + 1) + (in ? static_cast<std::int64_t>(*in) : 7);
  };
  const Iteration iteration = play_iterations(workload);
  EXPECT_THAT(lane_with(iteration.trace, 0).memory,
              testing::ElementsAre(std::pair(Ticks(0), 105), std::pair(Ticks(6), 150), std::pair(Ticks(10), 101)));
  EXPECT_THAT(lane_with(iteration.trace, 1).memory,
              testing::ElementsAre(std::pair(Ticks(0), 205), std::pair(Ticks(6), 250), std::pair(Ticks(10), 207)));
}

/// Links of devices to host memory for so long, for a step of the same iteration.
Step host_transfer(Mesh mesh, std::size_t for_step, std::int64_t duration, bool back) {
  Step step;
  step.task = static_cast<std::int32_t>(for_step);
  step.trace.end = Ticks(duration);
  step.host = HostTransfer{mesh, for_step, back, 1000};
  return step;
}

TEST(PlayIterations, HostTransfersLeaveTheDevicesToOthers) {
  Workload workload;
  workload.devices = 2;
  workload.steps = {step(0, {0, 2}, 10), step(1, {0, 2}, 4), host_transfer({0, 2}, 1, 6, false), host_transfer({0, 2}, 1, 5, true)};
  // The load of the second step goes on beside the first, its unload beside the next iteration.
  workload.edges = {{0, 1, 0}, {1, 0, 1}, {2, 1, 0}, {3, 2, 1}, {1, 3, 0}};
  workload.resident = [](int, std::optional<std::size_t>) { return std::int64_t{7}; };
  const Iteration hidden = play_iterations(workload);
  EXPECT_EQ(hidden.period, Ticks(15)) << "a second round begins behind both transfers";
  EXPECT_EQ(time_on(hidden, 0, Activity::transfer, 1), Ticks(1));
  EXPECT_EQ(time_on(hidden, 0, Activity::loading, 1), Ticks(0));
  EXPECT_EQ(busy_time(uses_of(hidden.trace)) + idle_time(uses_of(hidden.trace)), Ticks(2 * 15));
  // The stretch begins as the unload ends, with the load.
  EXPECT_THAT(hidden.steps[2].end - hidden.steps[2].begin, Ticks(6));
  EXPECT_EQ(peak_of(hidden.trace.lanes[0]).second, 1007);
  ASSERT_EQ(hidden.trace.host_links.size(), 1U);
  const Lane& link = hidden.trace.host_links.front();
  EXPECT_THAT(link.devices, testing::ElementsAre(0, 1));
  Ticks moved;
  for (std::size_t index = 0; index < link.spans.size(); ++index) {
    moved += link.spans[index].end - link.spans[index].begin;
    EXPECT_EQ(link.spans[index].activity, Activity::loading);
    EXPECT_GE(link.spans[index].begin, index == 0 ? Ticks(0) : link.spans[index - 1].end) << "one after the other";
  }
  EXPECT_EQ(moved, Ticks(6 + 5)) << "what crosses the stretch's beginning ends at its end";
}

TEST(PlayIterations, HoldsWhatIsLoadedUntilItsStepAndWhatLeavesUntilItIsGone) {
  Workload workload;
  workload.devices = 2;
  workload.steps = {step(0, {0, 2}, 10), step(1, {0, 1}, 4), host_transfer({0, 1}, 1, 3, false), host_transfer({0, 1}, 1, 2, true)};
  // First the one, then its load, the other and its unload: all in a row.
  workload.edges = {{0, 2, 0}, {2, 1, 0}, {1, 3, 0}, {3, 0, 1}};
  workload.resident = [](int, std::optional<std::size_t> in) { return in == std::optional<std::size_t>(1) ? std::int64_t{1500} : 7; };
  workload.overhead = Ticks(3);
  const Iteration iteration = play_iterations(workload);
  EXPECT_EQ(iteration.period, Ticks(19));
  EXPECT_EQ(time_on(iteration, 0, Activity::transfer, 1), Ticks(5));
  EXPECT_THAT(lane_with(iteration.trace, 0).memory,
              testing::ElementsAre(std::pair(Ticks(0), 7), std::pair(Ticks(10), 1007), std::pair(Ticks(13), 1500),
                                   std::pair(Ticks(17), 1007), std::pair(Ticks(19), 7)));
  EXPECT_THAT(lane_with(iteration.trace, 1).memory, testing::ElementsAre(std::pair(Ticks(0), 7)));
}

Mesh random_mesh(int devices) {
  const int first = *rc::gen::inRange(0, devices);
  return {first, *rc::gen::inRange(1, devices - first + 1)};
}

/// A reallocation that moves nothing: it is over as it begins.
Step nothing_to_move(Mesh mesh) {
  Step step;
  step.reallocation = true;
  step.devices[0] = mesh;
  return step;
}

/// A step of two lanes, one of which idles behind its work; or, but for the first, one that takes no time.
Step random_step(std::int32_t task, int devices) {
  if (task > 0 && *rc::gen::inRange(0, 5) == 0) return nothing_to_move(random_mesh(devices));
  Step made = step(task, random_mesh(devices), *rc::gen::inRange(1, 50));
  std::vector<int> own = made.trace.lanes[0].devices;
  if (own.size() > 1) {
    const Ticks end(*rc::gen::inRange<std::int64_t>(1, made.trace.end.count() + 1));
    Lane early{{own.back()}, {{Ticks(0), end, Activity::decode, task, 0, {}}}, {}};
    if (end < made.trace.end) early.spans.push_back({end, made.trace.end, Activity::tail, task, 0, {}});
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
  for (int task = 0; task < count; ++task) workload.steps.push_back(random_step(task, workload.devices));
  for (std::size_t to = 0; to < workload.steps.size(); ++to)
    for (std::size_t from = 0; from < workload.steps.size(); ++from) {
      const int lag = *rc::gen::inRange(0, 8);
      if (lag == 0 && from < to) workload.edges.push_back({from, to, 0});
      if (lag == 1 || lag == 2) workload.edges.push_back({from, to, lag});
    }
  workload.overhead = Ticks(*rc::gen::inRange(0, 5));
  return workload;
}

/// Devices x time of a step's own work.
Ticks work_of(const Step& step) {
  Ticks work;
  for (const Lane& lane : step.trace.lanes)
    for (const Span& span : lane.spans)
      if (!is_idle(span.activity)) work += (span.end - span.begin) * static_cast<std::int64_t>(lane.devices.size());
  return work;
}

TEST(PlayIterations, WhatTakesNoTimeIsNoWorkOfItsDevices) {
  Workload workload;
  workload.devices = 1;
  workload.steps = {step(0, {0, 1}, 10), step(1, {0, 1}, 4), nothing_to_move({0, 1})};
  workload.edges = {{0, 1, 0}, {0, 2, 0}, {2, 1, 0}, {1, 0, 1}};
  const Iteration iteration = play_iterations(workload);
  EXPECT_EQ(iteration.period, Ticks(14));
  EXPECT_EQ(idle_time(uses_of(iteration.trace)), Ticks(0));
}

TEST(PlayIterations, ArrivalsOfLessThanAMicrosecondApartAreShownAsOne) {
  for (const std::int64_t apart : {14, 2000}) {
    Workload workload;
    workload.devices = 2;
    Step moves = nothing_to_move({0, 2});
    moves.task = 1;
    moves.transfers = {{DeviceTransfer::nobody, 0, false, Ticks(50'000), 1}, {DeviceTransfer::nobody, 1, false, Ticks(50'000 + apart), 1}};
    workload.steps = {step(0, {0, 2}, 100'000), moves};
    workload.edges = {{0, 1, 0}, {1, 0, 1}};
    const Iteration iteration = play_iterations(workload);
    EXPECT_FALSE(find_fault(iteration.trace).has_value());
    EXPECT_EQ(iteration.trace.lanes.size(), apart < 1000 ? 1U : 2U);
  }
}

RC_GTEST_PROP(PlayIterations, WorkAndWaitingAreAllTheTime, ()) {
  const Workload workload = random_workload();
  const Iteration iteration = play_iterations(workload);
  RC_ASSERT(!find_fault(iteration.trace).has_value());
  std::size_t devices = 0;
  for (const Lane& lane : iteration.trace.lanes) {
    devices += lane.devices.size();
    const std::vector<Use> uses = uses_of(lane);
    RC_ASSERT(busy_time(uses) + idle_time(uses) == iteration.trace.end);
  }
  RC_ASSERT(devices == static_cast<std::size_t>(workload.devices));
  RC_PRE(iteration.steady);
  // Whatever of a step reaches into a period from before, as much reaches out of it.
  Ticks work;
  for (const Use& use : uses_of(iteration.trace))
    if (use.activity == Activity::score || use.activity == Activity::decode) work += use.time;
  Ticks own;
  for (const Step& step : workload.steps) own += work_of(step) * static_cast<std::int64_t>(iteration.iterations);
  RC_ASSERT(work == own);
}

bool begins_work_of(const Trace& trace, std::int32_t task, Ticks time) {
  for (const Lane& lane : trace.lanes)
    for (const Span& span : lane.spans)
      if (!is_idle(span.activity) && span.task == task && span.begin == time) return true;
  return false;
}

RC_GTEST_PROP(PlayIterations, BeginsWithTheFirstStepOfAnIteration, ()) {
  const Workload workload = random_workload();
  const Iteration iteration = play_iterations(workload);
  const Ticks after = iteration.trace.end - workload.overhead * static_cast<std::int64_t>(iteration.iterations);
  Ticks first = after;
  for (std::size_t index = 0; index < workload.steps.size(); ++index) {
    const plan::StepTime& time = iteration.steps[index];
    first = std::min(first, time.begin);
    if (time.begin < after && workload.steps[index].trace.end > Ticks(0))
      RC_ASSERT(begins_work_of(iteration.trace, workload.steps[index].task, time.begin));
  }
  RC_ASSERT(first == Ticks(0));
}

RC_GTEST_PROP(PlayIterations, IsTheSameAgain, ()) {
  const Workload workload = random_workload();
  const Iteration once = play_iterations(workload);
  const Iteration again = play_iterations(workload);
  RC_ASSERT(once.period == again.period && once.trace.lanes.size() == again.trace.lanes.size());
}

}  // namespace
}  // namespace dovetail::simulate
