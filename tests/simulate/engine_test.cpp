#include "simulate/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/host_transfers.h"
#include "plan/jobs.h"
#include "plan/timing.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using cluster::Mesh;

Activities::Item item(Mesh devices, std::int64_t duration) { return {{devices, Mesh{}}, Ticks(duration), {}, false}; }

/// Returns an activity of the first iteration.
ActivityRun first(const SimulatedIterations& simulated, std::size_t item) { return simulated.runs[item]; }

TEST(Engine, SerializesActivitiesThatShareADevice) {
  const SimulatedIterations simulated = simulate_iterations({{item({0, 4}, 10), item({3, 1}, 5)}, {}, 0}, 10);
  EXPECT_EQ(first(simulated, 0).begin, Ticks(0));
  EXPECT_EQ(first(simulated, 1).begin, Ticks(10));
  EXPECT_EQ(simulated.period(), Ticks(15));
  EXPECT_TRUE(simulated.steady);
}

TEST(Engine, OverlapsActivitiesThatShareNoDevice) {
  const SimulatedIterations simulated =
      simulate_iterations({{item({0, 3}, 10), item({3, 1}, 5)}, {{0, 0, 1}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}}, 0}, 10);
  EXPECT_EQ(first(simulated, 1).begin, Ticks(0));
  EXPECT_EQ(simulated.period(), Ticks(10));
}

TEST(Engine, UrgentActivitiesBeginFirst) {
  Activities activities{{item({0, 1}, 10), item({0, 1}, 5)}, {{0, 1, 1}, {1, 0, 1}}, 0};
  EXPECT_EQ(first(simulate_iterations(activities, 10), 0).begin, Ticks(0));
  activities.items[1].urgent = true;
  EXPECT_EQ(first(simulate_iterations(activities, 10), 0).begin, Ticks(5));
}

TEST(Engine, ReportsCriticalPredecessors) {
  const SimulatedIterations simulated =
      simulate_iterations({{item({0, 1}, 10), item({1, 1}, 4), item({0, 2}, 3)}, {{1, 2, 0}}, 0}, 10);
  EXPECT_EQ(first(simulated, 0).critical_predecessor, no_activity);
  EXPECT_EQ(first(simulated, 2).critical_predecessor, 0U) << "its devices became free last";
  const SimulatedIterations data =
      simulate_iterations({{item({0, 1}, 10), item({1, 1}, 40), item({0, 2}, 3)}, {{1, 2, 0}}, 0}, 10);
  EXPECT_EQ(first(data, 2).critical_predecessor, 1U) << "its data arrived last";
}

TEST(Engine, TransfersBeginAfterTheDurationAndShareLinks) {
  Activities activities{{item({0, 1}, 10), item({1, 1}, 10)}, {{0, 0, 1}, {1, 1, 1}}, 1};
  for (Activities::Item& of : activities.items) of.transfers = {{{0}, Ticks(20), 1000}};
  const SimulatedIterations simulated = simulate_iterations(activities, 10);
  EXPECT_EQ(first(simulated, 0).end, Ticks(50));
  EXPECT_EQ(first(simulated, 0).arrivals.front(), Ticks(50));
  activities.links = 2;
  activities.items[1].transfers.front().links = {1};
  EXPECT_EQ(first(simulate_iterations(activities, 10), 0).end, Ticks(30));
}

TEST(Engine, EarlyEdgesLetSuccessorsBeginEarly) {
  Activities activities{
      {item({0, 1}, 10), item({1, 1}, 4), item({0, 1}, 3)}, {{0, 1, 0, Ticks(6)}, {0, 2, 0, Ticks(6)}}, 0};
  const SimulatedIterations simulated = simulate_iterations(activities, 10);
  EXPECT_EQ(first(simulated, 1).begin, Ticks(4));
  EXPECT_EQ(first(simulated, 1).critical_predecessor, 0U);
  EXPECT_EQ(first(simulated, 2).begin, Ticks(10)) << "its device was not free earlier";
}

TEST(Engine, IterationsThatNeverRepeatAreCutOff) {
  const SimulatedIterations simulated = simulate_iterations({{item({0, 1}, 10)}, {}, 0}, 2);
  EXPECT_TRUE(simulated.steady);
  EXPECT_EQ(simulated.last, 1U);
}

/// Random graphs and plans, some with loads as separate activities. Durations have few digits so that ties are common.
struct Drawn {
  plan::Job job;
  plan::Plan plan;
  plan::IterationGraph graph;
  std::vector<Ticks> durations;
};

Drawn drawn() {
  Drawn drawn{plan::test::random_job(), {}, {}, {}};
  drawn.plan = plan::test::random_plan(drawn.job);
  const std::size_t tasks = drawn.plan.tasks.size();
  plan::Conflicts conflicts(tasks, std::vector<bool>(tasks, false));
  std::vector<plan::HostTransfer> loads;
  for (std::size_t task = 0; task < tasks; ++task) {
    if (drawn.plan.tasks[task].mesh.count == 0 || *rc::gen::inRange(0, 3) > 0) continue;
    loads.push_back({plan::Activity::Kind::load, task});
    for (std::size_t other = 0; other < tasks; ++other)
      conflicts[task][other] = other != task && *rc::gen::inRange(0, 4) == 0;
  }
  drawn.graph =
      plan::with_host_transfers(plan::iteration_graph(drawn.job, drawn.plan), drawn.job, drawn.plan, loads, conflicts);
  for (std::size_t step = 0; step < drawn.graph.activities.size(); ++step)
    drawn.durations.emplace_back(*rc::gen::inRange(1, 30));
  for (plan::ActivityEdge& edge : drawn.graph.edges)
    if (*rc::gen::inRange(0, 4) == 0)
      edge.early = Ticks(*rc::gen::inRange<std::int64_t>(0, drawn.durations[edge.from].count() + 1));
  return drawn;
}

Activities activities_of(const Drawn& drawn) {
  Activities activities;
  activities.edges = drawn.graph.edges;
  for (std::size_t index = 0; index < drawn.graph.activities.size(); ++index) {
    const plan::Activity& step = drawn.graph.activities[index];
    Activities::Item& of = activities.items.emplace_back();
    const std::vector<Mesh> meshes = plan::meshes_of(step, drawn.job, drawn.plan);
    std::copy(meshes.begin(), meshes.end(), of.devices.begin());
    if (const Mesh links = plan::host_links_of(step, drawn.plan); links.count > 0)
      of.devices[0] = {cluster::device_count(drawn.job.cluster) + links.first, links.count};
    of.duration = drawn.durations[index];
    of.urgent = step.kind == plan::Activity::Kind::reallocation && meshes.size() > 1;
  }
  return activities;
}

RC_GTEST_PROP(Engine, MatchesTheTimerOfPlansWithoutTransfers, ()) {
  const Drawn of = drawn();
  const plan::Timing timing = plan::time_iterations(of.graph, of.job, of.plan, of.durations);
  const SimulatedIterations simulated = simulate_iterations(activities_of(of), 200);
  if (simulated.steady) RC_ASSERT(simulated.period() == timing.period);
}

bool share_devices(const Activities& activities, std::size_t a, std::size_t b) {
  for (const Mesh& of_a : activities.items[a].devices)
    for (const Mesh& of_b : activities.items[b].devices)
      if (of_a.count > 0 && of_b.count > 0 && cluster::overlap(of_a, of_b)) return true;
  return false;
}

bool has_run(const ActivityRun& run) { return run.end >= run.begin; }

/// Returns its end, even if the simulation stopped before. An early result may be used before all of it has arrived.
Ticks end_of(const Activities& activities, const ActivityRun& run, std::size_t item) {
  return has_run(run) ? run.end : run.begin + activities.items[item].duration;
}

/// Returns whether the node's critical predecessor was available when the node began.
bool predecessor_was_available(const Activities& activities, const SimulatedIterations& simulated, std::size_t node) {
  const std::size_t after = simulated.runs[node].critical_predecessor;
  if (after == no_activity) return false;
  const std::size_t size = activities.items.size();
  const Ticks end = end_of(activities, simulated.runs[after], after % size);
  return end == simulated.runs[node].begin ||
         std::any_of(activities.edges.begin(), activities.edges.end(), [&](const plan::ActivityEdge& edge) {
           return edge.from == after % size && edge.to == node % size && end - edge.early == simulated.runs[node].begin;
         });
}

RC_GTEST_PROP(Engine, RespectsEdgesAndDevices, ()) {
  const Drawn of = drawn();
  Activities activities = activities_of(of);
  activities.links = 3;
  for (std::size_t index = 0; index < activities.items.size(); ++index) {
    const bool is_early =
        std::any_of(activities.edges.begin(), activities.edges.end(),
                    [index](const plan::ActivityEdge& edge) { return edge.from == index && edge.early > Ticks(0); });
    Activities::Item& with = activities.items[index];
    if (!is_early && *rc::gen::inRange(0, 3) == 0)
      with.transfers = {{{*rc::gen::inRange(0, 3)}, Ticks(*rc::gen::inRange(1, 20)), 1}};
  }
  const SimulatedIterations simulated = simulate_iterations(activities, 30);
  const std::size_t size = activities.items.size();
  for (std::size_t node = 0; node < simulated.runs.size(); ++node) {
    const ActivityRun& here = simulated.runs[node];
    if (!has_run(here)) continue;
    for (const plan::ActivityEdge& edge : activities.edges) {
      const auto back = static_cast<std::size_t>(edge.iterations);
      if (edge.to != node % size || back > node / size) continue;
      const ActivityRun& before = simulated.runs[(node / size - back) * size + edge.from];
      RC_ASSERT(has_run(before) || edge.early > Ticks(0));
      RC_ASSERT(end_of(activities, before, edge.from) - edge.early <= here.begin);
    }
    for (std::size_t other = 0; other < node; ++other)
      if (const ActivityRun& there = simulated.runs[other];
          has_run(there) && share_devices(activities, node % size, other % size))
        RC_ASSERT(there.end <= here.begin || here.end <= there.begin);
    RC_ASSERT(here.begin == Ticks(0) || predecessor_was_available(activities, simulated, node));
    RC_ASSERT(here.end - here.begin >= activities.items[node % size].duration);
  }
}

}  // namespace
}  // namespace dovetail::simulate
