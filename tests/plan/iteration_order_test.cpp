#include "plan/iteration_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/jobs.h"
#include "plan/timing.h"

namespace dovetail::plan {
namespace {

using base::Ticks;

bool has_edge(const IterationGraph& graph, std::size_t from, std::size_t to, int iterations) {
  return std::any_of(graph.edges.begin(), graph.edges.end(), [&](const ActivityEdge& edge) {
    return edge.from == from && edge.to == to && edge.iterations == iterations;
  });
}

TEST(IterationOrder, EmptyLeavesTheGraphAsItIs) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t edges = graph.edges.size();
  add_order(graph, {});
  EXPECT_EQ(graph.edges.size(), edges);
}

TEST(IterationOrder, ABarrierHoldsBackAllButWhatItWaitsFor) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t critic = test::index_of(job, "critic_infer");
  add_order(graph, {.edges = {}, .barriers = {{critic}}});
  EXPECT_TRUE(has_edge(graph, critic, test::index_of(job, "reward_infer"), 0));
  EXPECT_TRUE(has_edge(graph, critic, test::index_of(job, "actor_train"), 0));
  EXPECT_FALSE(has_edge(graph, critic, test::index_of(job, "actor_generate"), 0)) << "the critic waits for generation";
  EXPECT_FALSE(has_edge(graph, critic, graph.activities.size() - 1, 0)) << "and generation for its weights";
}

TEST(IterationOrder, ABarrierBehindAllHoldsBackTheNextIteration) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  const std::size_t actor = test::index_of(job, "actor_train");
  const std::size_t critic = test::index_of(job, "critic_train");
  add_order(graph, {.edges = {}, .barriers = {{actor, critic}}});
  EXPECT_TRUE(has_edge(graph, critic, graph.activities.size() - 1, 1))
      << "the weights that generation waits for come first";
  EXPECT_FALSE(has_edge(graph, critic, test::index_of(job, "actor_generate"), 1)) << "which waits for them anyway";
}

/// Any tasks of the workflow, at least one.
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
  RC_ASSERT(!has_circle(ordered));
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

TEST(IterationOrder, CirclesAreFound) {
  const Job job = test::job_of("ppo");
  IterationGraph graph = iteration_graph(job, test::together(job, {0, 8}));
  EXPECT_FALSE(has_circle(graph));
  graph.edges.push_back({test::index_of(job, "actor_train"), test::index_of(job, "actor_generate"), 1});
  EXPECT_FALSE(has_circle(graph)) << "from iteration to iteration";
  graph.edges.push_back({test::index_of(job, "actor_train"), test::index_of(job, "actor_generate"), 0});
  EXPECT_TRUE(has_circle(graph));
}

}  // namespace
}  // namespace dovetail::plan
