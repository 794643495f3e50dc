#include "plan/host_transfers.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/jobs.h"
#include "plan/timing.h"

namespace dovetail::plan {
namespace {

using base::Ticks;
using cluster::Mesh;
using testing::UnorderedElementsAre;

using Kind = Activity::Kind;

std::string name_of(const Job& job, const Activity& activity) {
  const std::string& task = job.workflow.tasks[activity.task].name;
  if (activity.kind == Kind::load) return "load " + task;
  if (activity.kind == Kind::unload) return "unload " + task;
  return activity.kind == Kind::task ? task : "weights to " + task;
}

Conflicts no_conflicts(const Job& job) {
  const std::size_t tasks = job.workflow.tasks.size();
  return Conflicts(tasks, std::vector<bool>(tasks, false));
}

/// Edges of `graph` that the plan's own graph lacks: "a -> b" within an iteration, "a -> b +1" to the next iteration.
std::vector<std::string> new_edges(const Job& job, const Plan& plan, const IterationGraph& graph) {
  std::vector<std::string> names;
  for (std::size_t edge = iteration_graph(job, plan).edges.size(); edge < graph.edges.size(); ++edge) {
    const ActivityEdge& made = graph.edges[edge];
    names.push_back(fmt::format("{} -> {}{}", name_of(job, graph.activities[made.from]),
                                name_of(job, graph.activities[made.to]),
                                made.iterations == 0 ? "" : fmt::format(" +{}", made.iterations)));
  }
  return names;
}

/// All tasks on one node, with an engine that has its own weights.
struct Grpo {
  Job job = test::job_of("{name: grpo, reward: rule}");
  Plan plan = test::together(job, {0, 8});
  std::size_t generate = test::index_of(job, "actor_generate");
  std::size_t actor = test::index_of(job, "actor_infer");
  std::size_t reference = test::index_of(job, "reference_infer");
  std::size_t train = test::index_of(job, "actor_train");
  Conflicts conflicts = no_conflicts(job);

  IterationGraph with(const std::vector<HostTransfer>& transfers) const {
    return with_host_transfers(iteration_graph(job, plan), job, plan, transfers, conflicts);
  }
  std::vector<std::string> edges_with(const std::vector<HostTransfer>& transfers) const {
    return new_edges(job, plan, with(transfers));
  }
};

TEST(WithHostTransfers, WithoutConflictsOnlyTheTaskWaits) {
  const Grpo grpo;
  EXPECT_THAT(
      grpo.edges_with({{Kind::load, grpo.reference}}),
      UnorderedElementsAre("reference_infer -> load reference_infer +1", "load reference_infer -> reference_infer"));
  EXPECT_THAT(grpo.edges_with({}), UnorderedElementsAre());
}

TEST(WithHostTransfers, ALoadWaitsForConflictsBeforeAndAfterIt) {
  Grpo grpo;
  grpo.conflicts[grpo.reference][grpo.generate] = true;
  grpo.conflicts[grpo.reference][grpo.train] = true;
  // New weights go to the generation, so the reallocation conflicts, too.
  EXPECT_THAT(grpo.edges_with({{Kind::load, grpo.reference}}),
              UnorderedElementsAre("reference_infer -> load reference_infer +1",
                                   "load reference_infer -> reference_infer", "actor_generate -> load reference_infer",
                                   "weights to actor_generate -> load reference_infer",
                                   "actor_train -> load reference_infer +1"));
}

TEST(WithHostTransfers, IndependentActivitiesAreOrderedByIndex) {
  Grpo grpo;
  grpo.conflicts[grpo.reference][grpo.actor] = true;
  EXPECT_THAT(
      grpo.edges_with({{Kind::load, grpo.reference}}),
      UnorderedElementsAre("reference_infer -> load reference_infer +1", "load reference_infer -> reference_infer",
                           "actor_infer -> reference_infer", "actor_infer -> load reference_infer"));
  grpo.conflicts[grpo.reference][grpo.actor] = false;
  grpo.conflicts[grpo.actor][grpo.reference] = true;
  EXPECT_THAT(grpo.edges_with({{Kind::load, grpo.actor}}),
              UnorderedElementsAre("actor_infer -> load actor_infer +1", "load actor_infer -> actor_infer",
                                   "actor_train -> load actor_infer +1", "actor_infer -> reference_infer",
                                   "reference_infer -> load actor_infer +1"));
}

TEST(WithHostTransfers, UsesOfUnloadedWeightsWaitForTheUnload) {
  Grpo grpo;
  const std::vector<HostTransfer> swap{{Kind::load, grpo.train}, {Kind::unload, grpo.train}};
  EXPECT_THAT(grpo.edges_with(swap),
              UnorderedElementsAre("actor_train -> unload actor_train", "unload actor_train -> actor_train +1",
                                   "unload actor_train -> load actor_train +1", "actor_train -> load actor_train +1",
                                   "load actor_train -> actor_train"));
  grpo.plan.tasks[grpo.train].offload.weights = true;
  EXPECT_THAT(grpo.edges_with({{Kind::unload, grpo.train}}),
              UnorderedElementsAre("actor_train -> unload actor_train", "unload actor_train -> actor_train +1",
                                   "unload actor_train -> actor_infer +1"));
}

TEST(WithHostTransfers, LaterConflictsWaitForTheUnload) {
  Grpo grpo;
  grpo.conflicts[grpo.train][grpo.generate] = true;
  EXPECT_THAT(grpo.edges_with({{Kind::unload, grpo.train}}),
              UnorderedElementsAre("actor_train -> unload actor_train", "unload actor_train -> actor_train +1",
                                   "unload actor_train -> actor_generate +1",
                                   "unload actor_train -> weights to actor_generate +1"));
}

/// Hand-chosen durations in seconds: generation 100, inference 10 each, training 50, and the given transfers.
Timing timing_of(const Grpo& grpo, const std::vector<HostTransfer>& transfers, std::int64_t ticks) {
  const IterationGraph graph = grpo.with(transfers);
  std::vector<Ticks> durations(graph.activities.size(), Ticks(0));
  durations[grpo.generate] = Ticks(100);
  durations[grpo.actor] = durations[grpo.reference] = Ticks(10);
  durations[grpo.train] = Ticks(50);
  for (std::size_t activity = 0; activity < graph.activities.size(); ++activity)
    if (is_host_transfer(graph.activities[activity])) durations[activity] = Ticks(ticks);
  return time_iterations(graph, grpo.job, grpo.plan, durations);
}

TEST(WithHostTransfers, ALoadIsHiddenFullyPartlyOrNotAtAll) {
  Grpo grpo;
  const std::vector<HostTransfer> load{{Kind::load, grpo.reference}};
  EXPECT_EQ(timing_of(grpo, load, 160).period, Ticks(170)) << "everything else takes as long";
  EXPECT_EQ(timing_of(grpo, load, 200).period, Ticks(210)) << "the chain of the load and its inference takes longest";
  grpo.conflicts[grpo.reference] = {true, true, true, true, true};
  grpo.conflicts[grpo.reference][grpo.actor] = false;
  EXPECT_EQ(timing_of(grpo, load, 10).period, Ticks(170)) << "the load fits next to the actor's inference";
  EXPECT_EQ(timing_of(grpo, load, 25).period, Ticks(185));
  grpo.conflicts[grpo.reference][grpo.actor] = true;
  EXPECT_EQ(timing_of(grpo, load, 25).period, Ticks(195)) << "not hidden";
}

TEST(WithHostTransfers, TransfersOfOneDeviceFollowEachOther) {
  const Grpo grpo;
  const Timing timing = timing_of(grpo, {{Kind::load, grpo.actor}, {Kind::load, grpo.reference}}, 100);
  EXPECT_EQ(timing.period, Ticks(200)) << "the links have more to do than the devices";
  const ActivityTime& first = timing.activities[timing.activities.size() - 2];
  const ActivityTime& second = timing.activities.back();
  EXPECT_TRUE(first.end <= second.begin || second.end <= first.begin);
}

/// Minimum number of iterations by which each activity waits for each other; half of the maximum int if it does not
/// wait.
std::vector<std::vector<int>> min_lags(const IterationGraph& graph) {
  const std::size_t activities = graph.activities.size();
  std::vector<std::vector<int>> lags(activities, std::vector<int>(activities, std::numeric_limits<int>::max() / 2));
  for (std::size_t round = 0; round < activities; ++round)
    for (std::size_t from = 0; from < activities; ++from)
      for (const ActivityEdge& edge : graph.edges) {
        const int before = edge.from == from ? 0 : lags[from][edge.from];
        lags[from][edge.to] = std::min(lags[from][edge.to], before + edge.iterations);
      }
  return lags;
}

RC_GTEST_PROP(WithHostTransfers, NoConflictRunsBetweenLoadAndUnload, ()) {
  const Job job = test::random_job();
  const Plan plan = test::random_plan(job);
  Conflicts conflicts = no_conflicts(job);
  std::vector<HostTransfer> transfers;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const workflow::TaskKind kind = job.workflow.tasks[task].kind;
    if (kind != workflow::TaskKind::infer && kind != workflow::TaskKind::train) continue;
    if (*rc::gen::arbitrary<bool>()) transfers.push_back({Kind::load, task});
    if (kind == workflow::TaskKind::train && *rc::gen::arbitrary<bool>()) transfers.push_back({Kind::unload, task});
    for (std::size_t other = 0; other < plan.tasks.size(); ++other)
      conflicts[task][other] = task != other && *rc::gen::arbitrary<bool>() &&
                               cluster::overlap(plan.tasks[task].mesh, plan.tasks[other].mesh);
  }
  const IterationGraph graph = with_host_transfers(iteration_graph(job, plan), job, plan, transfers, conflicts);
  const std::vector<std::vector<int>> lags = min_lags(graph);
  for (std::size_t activity = 0; activity < graph.activities.size(); ++activity)
    RC_ASSERT(lags[activity][activity] > 0);
  // The interval from the load's start to the unload's end fits between a run of a conflicting activity and its next
  // run.
  for (std::size_t moving = 0; moving < graph.activities.size(); ++moving) {
    const Activity& transfer = graph.activities[moving];
    if (!is_host_transfer(transfer)) continue;
    for (std::size_t other = 0; other < plan.tasks.size(); ++other) {
      if (!conflicts[transfer.task][other]) continue;
      const std::size_t first = transfer.kind == Kind::load ? moving : transfer.task;
      const std::size_t last = transfer.kind == Kind::load ? transfer.task : moving;
      RC_ASSERT(lags[other][first] + lags[last][other] <= 1);
      RC_ASSERT(lags[first][last] == 0);
    }
  }
}

}  // namespace
}  // namespace dovetail::plan
