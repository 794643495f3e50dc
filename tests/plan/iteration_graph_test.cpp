#include "plan/iteration_graph.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/jobs.h"
#include "plan/timing.h"

namespace dovetail::plan {
namespace {

using base::Ticks;
using cluster::Mesh;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::string name_of(const Job& job, const Activity& activity) {
  const auto& tasks = job.workflow.tasks;
  if (activity.kind == Activity::Kind::task) return tasks[activity.task].name;
  return fmt::format("{} => {}", tasks[activity.train].name, tasks[activity.task].name);
}

/// All reallocations: "actor_train => actor_generate".
std::vector<std::string> reallocations(const Job& job, const Plan& plan) {
  std::vector<std::string> names;
  for (const Activity& activity : iteration_graph(job, plan).activities)
    if (activity.kind == Activity::Kind::reallocation) names.push_back(name_of(job, activity));
  return names;
}

/// Edges: "a -> b" within an iteration, "a -> b +1" to the next.
std::vector<std::string> edges(const Job& job, const Plan& plan) {
  const IterationGraph graph = iteration_graph(job, plan);
  std::vector<std::string> names;
  for (const ActivityEdge& edge : graph.edges)
    names.push_back(fmt::format("{} -> {}{}", name_of(job, graph.activities[edge.from]),
                                name_of(job, graph.activities[edge.to]),
                                edge.iterations == 0 ? "" : fmt::format(" +{}", edge.iterations)));
  return names;
}

TEST(IterationGraph, OnOneMeshOnlyTheEngineNeedsAReallocation) {
  const Job job = test::job_of("ppo");
  const Plan plan = test::together(job, {0, 8});
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate"));
  EXPECT_THAT(edges(job, plan),
              UnorderedElementsAre(
                  "actor_generate -> reward_infer", "actor_generate -> reference_infer",
                  "actor_generate -> critic_infer", "actor_generate -> actor_train", "reward_infer -> actor_train",
                  "reference_infer -> actor_train", "critic_infer -> actor_train", "actor_generate -> critic_train",
                  "reward_infer -> critic_train", "reference_infer -> critic_train", "critic_infer -> critic_train",
                  "actor_train -> actor_train +1", "critic_train -> critic_train +1", "critic_train -> critic_infer +1",
                  "actor_train -> actor_train => actor_generate +1", "actor_train => actor_generate -> actor_generate",
                  "actor_generate -> actor_train => actor_generate +1"));
}

TEST(IterationGraph, TheFirstActivitiesAreTheTasks) {
  const Job job = test::job_of("grpo");
  const IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    EXPECT_EQ(graph.activities.at(task).kind, Activity::Kind::task);
    EXPECT_EQ(graph.activities.at(task).task, task);
  }
}

TEST(IterationGraph, AnotherMeshOrLayoutNeedsAReallocation) {
  const Job job = test::job_of("ppo", 2);
  Plan plan = test::together(job, {0, 8});
  test::task_of(plan, job, "critic_infer").mesh.first = 8;
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate", "critic_train => critic_infer"));
  EXPECT_THAT(edges(job, plan), Contains("critic_train => critic_infer -> critic_infer"));
  EXPECT_THAT(edges(job, plan), Not(Contains("critic_train -> critic_infer +1")));

  plan = test::together(job, {0, 8});
  test::task_of(plan, job, "critic_infer").layout = test::layout_of(4, 2);
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate", "critic_train => critic_infer"));
}

TEST(IterationGraph, UsesWithEqualMeshAndLayoutShareAReallocation) {
  const Job job = test::job_of("{name: grpo, reference: averaged}", 2);
  Plan plan = test::together(job, {8, 8});
  test::task_of(plan, job, "actor_train").mesh.first = 0;
  // The averaged reference is computed from the weights of the actor's inference, on the same mesh.
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate", "actor_train => actor_infer"));
  EXPECT_THAT(edges(job, plan), Contains("actor_train => actor_infer -> reference_infer"));
  EXPECT_THAT(edges(job, plan), Contains("actor_train => actor_infer -> actor_infer"));

  test::task_of(plan, job, "reference_infer").layout = test::layout_of(4, 1, 2);
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate", "actor_train => actor_infer",
                                                    "actor_train => reference_infer"));
}

TEST(IterationGraph, NewWeightsDoNotOverwriteWeightsInUse) {
  const Job job = test::job_of("{name: grpo, reference: averaged}", 2, 1);
  Plan plan = test::together(job, {8, 8});
  test::task_of(plan, job, "actor_train").mesh.first = 0;
  const auto found = edges(job, plan);
  for (const std::string of : {"actor_infer", "reference_infer"})
    EXPECT_THAT(found, Contains(of + " -> actor_train => actor_infer +1"));
  EXPECT_THAT(found, Contains("actor_generate -> actor_train => actor_generate +1"));
}

TEST(IterationGraph, BothGenerationsOfReMaxShareAReallocation) {
  const Job job = test::job_of("remax");
  const Plan plan = test::together(job, {0, 8});
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate"));
  EXPECT_THAT(edges(job, plan), Contains("actor_train => actor_generate -> actor_generate_greedy"));
}

TEST(IterationGraph, FrozenRolesAreNeverReallocated) {
  const Job job = test::job_of("ppo", 4);
  Plan plan = test::together(job, {0, 8});
  test::task_of(plan, job, "reward_infer").mesh.first = 16;
  test::task_of(plan, job, "reference_infer").mesh.first = 24;
  EXPECT_THAT(reallocations(job, plan), ElementsAre("actor_train => actor_generate"));
  const Job training = test::job_of("reward_model");
  EXPECT_THAT(reallocations(training, test::together(training, {0, 8})), IsEmpty());
}

TEST(IterationGraph, AnAverageOnTheTrainingsMeshWaitsForTraining) {
  const Job job = test::job_of("{name: dpo, reference: averaged}");
  Plan plan = test::together(job, {0, 8});
  EXPECT_THAT(reallocations(job, plan), IsEmpty());
  EXPECT_THAT(edges(job, plan),
              UnorderedElementsAre("reference_infer -> actor_train", "actor_train -> reference_infer +1",
                                   "actor_train -> actor_train +1"));
  const Job frozen = test::job_of("dpo");
  EXPECT_THAT(edges(frozen, plan),
              UnorderedElementsAre("reference_infer -> actor_train", "actor_train -> actor_train +1"));
}

TEST(IterationGraph, OffPolicyGenerationHasOlderWeights) {
  const Job job = test::job_of("grpo", 1, 2);
  const auto found = edges(job, test::together(job, {0, 8}));
  EXPECT_THAT(found, Contains("actor_train -> actor_train => actor_generate +3"));
  EXPECT_THAT(found, Contains("actor_train => actor_generate -> actor_generate"));
  EXPECT_THAT(found, Contains("actor_train -> actor_infer +1"));
}

TEST(IterationGraph, AnEngineWithoutItsOwnWeightsUsesTheTrainedOnes) {
  Plan plan = test::together(test::job_of("grpo", 2), {0, 8});
  const auto names = [&plan](int steps_off_policy) {
    const Job job = test::job_of("grpo", 2, steps_off_policy);
    test::task_of(plan, job, "actor_generate").engine.own_weights = false;
    return reallocations(job, plan);
  };
  EXPECT_THAT(names(0), IsEmpty());
  test::task_of(plan, test::job_of("grpo"), "actor_train").mesh.first = 8;
  EXPECT_THAT(names(0), ElementsAre("actor_train => actor_generate")) << "the actor's inference shares it";
  EXPECT_THAT(names(1), ElementsAre("actor_train => actor_generate", "actor_train => actor_infer"))
      << "weights of different ages";
}

TEST(ShareWeights, ComparesOnlySettingsThatAffectWeights) {
  TaskPlan a;
  a.mesh = {0, 8};
  a.layout = test::layout_of(8);
  TaskPlan b = a;
  b.layout.recomputation = llm::Recomputation::full;
  b.layout.sequence_parallel = true;
  b.layout.zero = 2;
  b.micro_batching.tokens = 1;
  b.engine.max_num_seqs = 1;
  b.offload.optimizer = true;
  EXPECT_TRUE(share_weights(a, b));
  b.layout.zero = 3;
  EXPECT_FALSE(share_weights(a, b)) << "weights are sharded";
  b = a;
  b.mesh.first = 8;
  EXPECT_FALSE(share_weights(a, b));
  b = a;
  b.layout = test::layout_of(4, 2);
  EXPECT_FALSE(share_weights(a, b));
}

TEST(MeshesOf, ReallocationsKeepBothEndsBusy) {
  const Job job = test::job_of("{name: grpo, reward: rule}", 2);
  Plan plan = test::together(job, {0, 8});
  EXPECT_THAT(meshes_of({Activity::Kind::task, test::index_of(job, "actor_train"), 0}, job, plan),
              ElementsAre(Mesh{0, 8}));
  EXPECT_THAT(meshes_of({Activity::Kind::task, test::index_of(job, "reward_rule"), 0}, job, plan), IsEmpty());
  const Activity activity{Activity::Kind::reallocation, test::index_of(job, "actor_generate"),
                          test::index_of(job, "actor_train")};
  EXPECT_THAT(meshes_of(activity, job, plan), ElementsAre(Mesh{0, 8}));
  test::task_of(plan, job, "actor_generate").mesh.first = 8;
  EXPECT_THAT(meshes_of(activity, job, plan), ElementsAre(Mesh{0, 8}, Mesh{8, 8}));
}

RC_GTEST_PROP(IterationGraph, EveryUseOfATrainedRoleWaitsForItsTraining, ()) {
  const Job job = test::random_job();
  const Plan plan = test::random_plan(job);
  const IterationGraph graph = iteration_graph(job, plan);
  for (const workflow::VersionEdge& version : workflow::version_edges(job.workflow, job.workload.steps_off_policy)) {
    const bool waits = std::any_of(graph.edges.begin(), graph.edges.end(), [&](const ActivityEdge& into) {
      if (into.to != version.use.index()) return false;
      if (into.from == version.train.index()) return into.iterations == version.iterations;
      const Activity& activity = graph.activities[into.from];
      if (activity.kind != Activity::Kind::reallocation || activity.train != version.train.index()) return false;
      return std::any_of(graph.edges.begin(), graph.edges.end(), [&](const ActivityEdge& before) {
        return before.to == into.from && before.from == activity.train &&
               before.iterations + into.iterations == version.iterations;
      });
    });
    RC_ASSERT(waits);
  }
  // Each reallocation has at least one use, and names the first.
  for (std::size_t activity = job.workflow.tasks.size(); activity < graph.activities.size(); ++activity) {
    RC_ASSERT(graph.activities[activity].kind == Activity::Kind::reallocation);
    RC_ASSERT(std::any_of(graph.edges.begin(), graph.edges.end(), [&](const ActivityEdge& edge) {
      return edge.from == activity && edge.to == graph.activities[activity].task;
    }));
  }
}

bool has_edge(const IterationGraph& graph, std::size_t from, std::size_t to, int iterations) {
  return std::any_of(graph.edges.begin(), graph.edges.end(), [&](const ActivityEdge& edge) {
    return edge.from == from && edge.to == to && edge.iterations == iterations;
  });
}

TEST(IterationOrder, EmptyLeavesTheGraphUnchanged) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t edges = graph.edges.size();
  add_order(graph, {});
  EXPECT_EQ(graph.edges.size(), edges);
}

TEST(IterationOrder, ABarrierDelaysEverythingExceptItsDependencies) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t critic = test::index_of(job, "critic_infer");
  add_order(graph, {.edges = {}, .barriers = {{critic}}});
  EXPECT_TRUE(has_edge(graph, critic, test::index_of(job, "reward_infer"), 0));
  EXPECT_TRUE(has_edge(graph, critic, test::index_of(job, "actor_train"), 0));
  EXPECT_FALSE(has_edge(graph, critic, test::index_of(job, "actor_generate"), 0)) << "the critic waits for generation";
  EXPECT_FALSE(has_edge(graph, critic, graph.activities.size() - 1, 0)) << "and generation for its weights";
}

TEST(IterationOrder, ABarrierAfterAllActivitiesDelaysTheNextIteration) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t actor = test::index_of(job, "actor_train");
  const std::size_t critic = test::index_of(job, "critic_train");
  add_order(graph, {.edges = {}, .barriers = {{actor, critic}}});
  EXPECT_TRUE(has_edge(graph, critic, graph.activities.size() - 1, 1))
      << "the weights that generation waits for come first";
  EXPECT_FALSE(has_edge(graph, critic, test::index_of(job, "actor_generate"), 1)) << "which waits for them anyway";
}

/// A random non-empty set of the workflow's tasks.
std::vector<std::size_t> random_tasks(const Job& job) {
  std::vector<std::size_t> tasks = {*rc::gen::inRange<std::size_t>(0, job.workflow.tasks.size())};
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (task != tasks.front() && *rc::gen::arbitrary<bool>()) tasks.push_back(task);
  return tasks;
}

RC_GTEST_PROP(IterationOrder, BarriersAreKept, ()) {
  const Job job = test::random_job();
  const Plan plan = test::random_plan(job);
  IterationGraph graph = iteration_graph(job, plan);
  const std::vector<std::size_t> first = random_tasks(job);
  IterationGraph with_first = graph;
  add_order(with_first, {.edges = {}, .barriers = {first}});
  IterationGraph ordered = graph;
  add_order(ordered, {.edges = {}, .barriers = {first, random_tasks(job)}});
  RC_ASSERT(!has_cycle(ordered));
  std::vector<Ticks> durations;
  for (std::size_t activity = 0; activity < graph.activities.size(); ++activity)
    durations.emplace_back(*rc::gen::inRange(1, 50));
  const Timing timing = time_iterations(ordered, job, plan, durations);
  for (const ActivityEdge& edge : ordered.edges)
    if (edge.iterations == 0) RC_ASSERT(timing.activities[edge.from].end <= timing.activities[edge.to].begin);
  for (std::size_t activity = 0; activity < ordered.activities.size(); ++activity) {
    const bool waits = has_edge(with_first, first.front(), activity, 0) && !has_edge(graph, first.front(), activity, 0);
    for (const std::size_t task : first)
      if (waits) RC_ASSERT(timing.activities[activity].begin >= timing.activities[task].end);
  }
}

TEST(IterationOrder, CyclesAreFound) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  EXPECT_FALSE(has_cycle(graph));
  graph.edges.push_back({test::index_of(job, "actor_train"), test::index_of(job, "actor_generate"), 1});
  EXPECT_FALSE(has_cycle(graph)) << "a cycle across iterations is allowed";
  graph.edges.push_back({test::index_of(job, "actor_train"), test::index_of(job, "actor_generate"), 0});
  EXPECT_TRUE(has_cycle(graph));
}

}  // namespace
}  // namespace dovetail::plan
