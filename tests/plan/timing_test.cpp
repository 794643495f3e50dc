#include "plan/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/jobs.h"

namespace dovetail::plan {
namespace {

using base::Ticks;
using cluster::Mesh;

/// Durations of tasks by name, and of reallocations. Others take no time.
struct Durations {
  std::vector<std::pair<std::string, std::int64_t>> tasks;
  std::int64_t reallocation = 0;
};

struct Timed {
  IterationGraph graph;
  Timing timing;
};

Timed time_plan(const Job& job, const Plan& plan, const Durations& durations) {
  Timed timed{iteration_graph(job, plan), {}};
  std::vector<Ticks> of_activities(timed.graph.activities.size(), Ticks(0));
  for (const auto& [name, duration] : durations.tasks) of_activities.at(test::index_of(job, name)) = Ticks(duration);
  for (std::size_t activity = job.workflow.tasks.size(); activity < of_activities.size(); ++activity)
    of_activities[activity] = Ticks(durations.reallocation);
  timed.timing = time_iterations(timed.graph, job, plan, of_activities);
  return timed;
}

std::int64_t period_of(const Job& job, const Plan& plan, const Durations& durations) {
  return time_plan(job, plan, durations).timing.period.count();
}

ActivityTime time_of(const Timed& timed, const Job& job, std::string_view task) {
  return timed.timing.activities.at(test::index_of(job, task));
}

const Durations ppo_durations{{{"actor_generate", 100},
                               {"reward_infer", 10},
                               {"reference_infer", 20},
                               {"critic_infer", 30},
                               {"actor_train", 40},
                               {"critic_train", 50}},
                              7};

TEST(TimeIterations, AddsUpActivitiesThatShareAllDevices) {
  const Job job = test::job_of("ppo");
  const Timed timed = time_plan(job, test::together(job, {0, 8}), ppo_durations);
  EXPECT_EQ(timed.timing.period, Ticks(250 + 7));
  // The reallocation comes first. Tasks that can start together run in workflow order.
  EXPECT_EQ(timed.timing.activities.back().begin, Ticks(0));
  EXPECT_EQ(time_of(timed, job, "actor_generate").begin, Ticks(7));
  EXPECT_EQ(time_of(timed, job, "reward_infer").begin, Ticks(107));
  EXPECT_EQ(time_of(timed, job, "actor_train").begin, Ticks(167));
  EXPECT_EQ(time_of(timed, job, "critic_train").end, Ticks(257));
}

/// PPO on four nodes, with each role on its own node.
Plan apart(const Job& job) {
  Plan plan = test::together(job, {0, 8});
  for (const char* task : {"critic_infer", "critic_train"}) test::task_of(plan, job, task).mesh.first = 8;
  test::task_of(plan, job, "reward_infer").mesh.first = 16;
  test::task_of(plan, job, "reference_infer").mesh.first = 24;
  return plan;
}

TEST(TimeIterations, TakesTheLongestPathOnSeparateDevices) {
  const Job job = test::job_of("ppo", 4);
  // Generation, the critic's values, the actor's training, and the reallocation back depend on each other.
  EXPECT_EQ(period_of(job, apart(job), ppo_durations), 100 + 30 + 40 + 7);
  // The critic's training overlaps the next generation.
  Durations durations = ppo_durations;
  durations.tasks.back().second = 107;
  EXPECT_EQ(period_of(job, apart(job), durations), 100 + 30 + 40 + 7);
  // Once it takes longer, the next values wait for it.
  durations.tasks.back().second = 150;
  EXPECT_EQ(period_of(job, apart(job), durations), 150 + 30) << "the critic's node is always busy";
}

TEST(TimeIterations, RulesOverlapOtherActivities) {
  const Job job = test::job_of("{name: grpo, reward: rule, reference: skip}");
  const Plan plan = test::together(job, {0, 8});
  const Durations durations{{{"actor_generate", 50}, {"reward_rule", 30}, {"actor_infer", 10}, {"actor_train", 5}}, 0};
  EXPECT_EQ(period_of(job, plan, durations), 50 + 30 + 5)
      << "the rule outlasts the inference that runs at the same time";
}

/// GRPO that generates on the first node and runs everything else on the second.
struct Disaggregated {
  Job job;
  Plan plan;
};

Disaggregated disaggregated(int steps_off_policy) {
  Job job = test::job_of("{name: grpo, reward: rule, reference: skip}", 2, steps_off_policy);
  Plan plan = test::together(job, {8, 8});
  test::task_of(plan, job, "actor_generate").mesh = Mesh{0, 8};
  return {std::move(job), std::move(plan)};
}

std::int64_t disaggregated_period(int steps_off_policy, std::int64_t generate, std::int64_t train, std::int64_t refit) {
  const Disaggregated split = disaggregated(steps_off_policy);
  return period_of(split.job, split.plan,
                   {{{"actor_generate", generate}, {"actor_infer", 10}, {"actor_train", train - 10}}, refit});
}

TEST(TimeIterations, OnPolicyTheTwoSidesAlternate) { EXPECT_EQ(disaggregated_period(0, 100, 60, 5), 165); }

TEST(TimeIterations, OneStepOffPolicyTheLongerSideDecides) {
  // The weight sync keeps both nodes busy, so it is exposed.
  EXPECT_EQ(disaggregated_period(1, 100, 60, 5), 105);
  EXPECT_EQ(disaggregated_period(1, 60, 100, 5), 105);
  // Inference on new responses is ready at the same time, but the weight sync goes first because generation waits for
  // it.
  EXPECT_EQ(disaggregated_period(1, 80, 80, 5), 85);
  EXPECT_EQ(disaggregated_period(1, 79, 80, 5), 85);
  EXPECT_EQ(disaggregated_period(1, 72, 80, 5), 85);
}

TEST(TimeIterations, MoreStepsOffPolicyGainNothingWithoutNoise) {
  for (const int activities : {2, 3, 10}) {
    EXPECT_EQ(disaggregated_period(activities, 100, 60, 5), 105) << activities;
    EXPECT_EQ(disaggregated_period(activities, 60, 100, 5), 105) << activities;
  }
}

TEST(TimeIterations, OffPolicyOnOneMeshGainsNothing) {
  // The end must not affect the result: the last iterations do not compete with later generations.
  for (const int activities : {0, 1, 2, 5}) {
    const Job job = test::job_of("{name: grpo, reward: rule, reference: skip}", 1, activities);
    const Durations durations{{{"actor_generate", 100}, {"actor_infer", 10}, {"actor_train", 50}}, 5};
    EXPECT_EQ(period_of(job, test::together(job, {0, 8}), durations), 165) << activities;
  }
}

TEST(TimeIterations, IndependentActivitiesRunAheadWithinALimit) {
  // DPO's reference depends only on the dataset. All its runs are ready at once, but they do not all go first.
  const Job job = test::job_of("dpo");
  EXPECT_EQ(period_of(job, test::together(job, {0, 8}), {{{"reference_infer", 30}, {"actor_train", 100}}, 0}), 130);
  Plan plan = test::together(job, {0, 4});
  test::task_of(plan, job, "reference_infer").mesh = Mesh{4, 4};
  EXPECT_EQ(period_of(job, plan, {{{"reference_infer", 30}, {"actor_train", 100}}, 0}), 100);
  EXPECT_EQ(period_of(job, plan, {{{"reference_infer", 1}, {"actor_train", 1'000'000'000'000}}, 0}), 1'000'000'000'000);
}

TEST(TimeIterations, SharesPartlyOverlappingMeshes) {
  // The reference uses half of the training devices. The other half waits for it.
  const Job job = test::job_of("dpo");
  Plan plan = test::together(job, {0, 8});
  test::task_of(plan, job, "reference_infer").mesh = Mesh{4, 4};
  EXPECT_EQ(period_of(job, plan, {{{"reference_infer", 30}, {"actor_train", 100}}, 0}), 130);
}

TEST(TimeIterations, NoWorkTakesNoTime) {
  const Job job = test::job_of("ppo");
  EXPECT_EQ(period_of(job, test::together(job, {0, 8}), {}), 0);
}

/// A job, a plan and the durations of its activities.
struct Case {
  Job job;
  Plan plan;
  IterationGraph graph;
  std::vector<Ticks> durations;
};

Case random_case() {
  Job job = test::random_job();
  Plan plan = test::random_plan(job);
  IterationGraph graph = iteration_graph(job, plan);
  std::vector<Ticks> durations;
  const int longest = *rc::gen::element(3, 20, 1'000'000);
  for (std::size_t activity = 0; activity < graph.activities.size(); ++activity)
    durations.emplace_back(*rc::gen::inRange(0, longest));
  for (ActivityEdge& edge : graph.edges)
    if (*rc::gen::inRange(0, 4) == 0)
      edge.early = Ticks(*rc::gen::inRange<std::int64_t>(0, durations[edge.from].count() + 1));
  return {std::move(job), std::move(plan), std::move(graph), std::move(durations)};
}

Ticks period_of(const Case& random) {
  return time_iterations(random.graph, random.job, random.plan, random.durations).period;
}

bool uses(const Case& random, const Activity& activity, int device) {
  const auto meshes = meshes_of(activity, random.job, random.plan);
  return std::any_of(meshes.begin(), meshes.end(),
                     [device](const Mesh& mesh) { return cluster::overlap(mesh, {device, 1}); });
}

Ticks max_load(const Case& random) {
  Ticks largest(0);
  for (int device = 0; device < cluster::device_count(random.job.cluster); ++device) {
    Ticks load(0);
    for (std::size_t activity = 0; activity < random.graph.activities.size(); ++activity)
      if (uses(random, random.graph.activities[activity], device)) load += random.durations[activity];
    largest = std::max(largest, load);
  }
  return largest;
}

/// Whether a cycle of edges takes longer than `period` for each iteration that it spans. If so, longest paths grow
/// without limit when each edge subtracts its periods.
bool a_circle_takes_longer(const Case& random, Ticks period) {
  std::vector<Ticks> longest(random.graph.activities.size(), Ticks(0));
  for (std::size_t round = 0; round <= longest.size(); ++round) {
    bool grew = false;
    for (const ActivityEdge& edge : random.graph.edges) {
      const Ticks path = longest[edge.from] + random.durations[edge.from] - edge.early - period * edge.iterations;
      if (path <= longest[edge.to]) continue;
      longest[edge.to] = path;
      grew = true;
    }
    if (!grew) return false;
  }
  return true;
}

RC_GTEST_PROP(TimeIterations, IsAtLeastTheWorkOfEachDevice, ()) {
  const Case random = random_case();
  RC_ASSERT(period_of(random) >= max_load(random));
}

RC_GTEST_PROP(TimeIterations, IsAtLeastEveryCycleOfDependencies, ()) {
  const Case random = random_case();
  RC_ASSERT(!a_circle_takes_longer(random, period_of(random)));
}

RC_GTEST_PROP(TimeIterations, IsAtMostTheSumOfAllActivities, ()) {
  const Case random = random_case();
  Ticks sum(0);
  for (const Ticks duration : random.durations) sum += duration;
  RC_ASSERT(period_of(random) <= sum);
}

RC_GTEST_PROP(TimeIterations, ActivitiesRespectEdgesAndDoNotShareDevices, ()) {
  const Case random = random_case();
  const Timing timing = time_iterations(random.graph, random.job, random.plan, random.durations);
  for (std::size_t activity = 0; activity < timing.activities.size(); ++activity)
    RC_ASSERT(timing.activities[activity].end - timing.activities[activity].begin == random.durations[activity]);
  for (const ActivityEdge& edge : random.graph.edges)
    if (edge.iterations == 0)
      RC_ASSERT(timing.activities[edge.from].end - edge.early <= timing.activities[edge.to].begin);
  for (std::size_t a = 0; a < timing.activities.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const bool apart = timing.activities[a].end <= timing.activities[b].begin ||
                         timing.activities[b].end <= timing.activities[a].begin;
      for (const Mesh& mesh : meshes_of(random.graph.activities[a], random.job, random.plan))
        for (const Mesh& other : meshes_of(random.graph.activities[b], random.job, random.plan))
          RC_ASSERT(apart || !cluster::overlap(mesh, other));
    }
}

RC_GTEST_PROP(TimeIterations, DoesNotDependOnThePositionsOfMeshes, ()) {
  Case random = random_case();
  const Ticks period = period_of(random);
  const int nodes = *rc::gen::inRange(1, 4);
  cluster::NodeGroup before = random.job.cluster.groups.front();
  before.nodes = nodes;
  random.job.cluster.groups.insert(random.job.cluster.groups.begin(), before);
  for (TaskPlan& task : random.plan.tasks) task.mesh.first += nodes * before.devices_per_node;
  RC_ASSERT(period_of(random) == period);
}

/// Implements the rule of the header directly, over very many iterations: searches all ready activities for the one
/// that can start first.
class LongRun {
 public:
  explicit LongRun(const Case& random)
      : random_(random),
        ends_(iterations, std::vector<std::optional<Ticks>>(random.graph.activities.size())),
        free_(static_cast<std::size_t>(cluster::device_count(random.job.cluster))) {
    for (const ActivityEdge& edge : random.graph.edges)
      in_progress_ = std::max(in_progress_, static_cast<std::size_t>(edge.iterations) + 1);
  }

  /// The mean period after warm-up.
  double period() {
    while (ended_.size() < iterations) {
      run_next();
      end_iterations();
    }
    return static_cast<double>((ended_[warm_up + counted] - ended_[warm_up]).count()) / counted;
  }

 private:
  static constexpr std::size_t warm_up = 60;
  static constexpr std::size_t counted = 840;  // a multiple of all lengths, up to 8, with which iterations may repeat
  static constexpr std::size_t iterations = warm_up + counted + 10;  // no later iterations compete with the last ones

  std::optional<Ticks> ready_at(std::size_t iteration, std::size_t activity) const {
    Ticks ready = iteration < in_progress_ ? Ticks(0) : ended_[iteration - in_progress_];
    for (const ActivityEdge& edge : random_.graph.edges) {
      const auto lag = static_cast<std::size_t>(edge.iterations);
      if (edge.to != activity || lag > iteration) continue;
      const std::optional<Ticks> end = ends_[iteration - lag][edge.from];
      if (!end) return std::nullopt;
      ready = std::max(ready, *end - edge.early);
    }
    return ready;
  }

  Ticks free_at(std::size_t activity) const {
    Ticks free(0);
    for (std::size_t device = 0; device < free_.size(); ++device)
      if (uses(random_, random_.graph.activities[activity], static_cast<int>(device)))
        free = std::max(free, free_[device]);
    return free;
  }

  void run_next() {
    std::optional<std::tuple<Ticks, bool, std::size_t, std::size_t>> next;
    for (std::size_t iteration = ended_.size(); iteration < std::min(iterations, ended_.size() + in_progress_);
         ++iteration)
      for (std::size_t activity = 0; activity < random_.graph.activities.size(); ++activity) {
        const std::optional<Ticks> ready = ends_[iteration][activity] ? std::nullopt : ready_at(iteration, activity);
        if (!ready) continue;
        const bool goes_between = meshes_of(random_.graph.activities[activity], random_.job, random_.plan).size() > 1;
        const std::tuple key(std::max(*ready, free_at(activity)), !goes_between, iteration, activity);
        if (!next || key < *next) next = key;
      }
    const auto [begin, goes_later, iteration, activity] = *next;
    const Ticks end = begin + random_.durations[activity];
    ends_[iteration][activity] = end;
    for (std::size_t device = 0; device < free_.size(); ++device)
      if (uses(random_, random_.graph.activities[activity], static_cast<int>(device))) free_[device] = end;
  }

  void end_iterations() {
    while (ended_.size() < iterations) {
      Ticks last = ended_.empty() ? Ticks(0) : ended_.back();
      for (const std::optional<Ticks>& end : ends_[ended_.size()]) {
        if (!end) return;
        last = std::max(last, *end);
      }
      ended_.push_back(last);
    }
  }

  const Case& random_;
  std::size_t in_progress_ = 2;
  std::vector<std::vector<std::optional<Ticks>>> ends_;  // [iteration][activity]
  std::vector<Ticks> free_;                              // [device]
  std::vector<Ticks> ended_;                             // [iteration] end of it and all before it
};

RC_GTEST_PROP(TimeIterations, MatchesTheMeanOfManyIterations, ()) {
  const Case random = random_case();
  const double difference = static_cast<double>(period_of(random).count()) - LongRun(random).period();
  RC_ASSERT(difference >= 0);
  RC_ASSERT(difference < 1);
}

TEST(WithOverheads, AddsOneOverheadForEachPastPeriod) {
  EXPECT_EQ(with_overheads(Ticks(0), Ticks(10), Ticks(3)), Ticks(0));
  EXPECT_EQ(with_overheads(Ticks(9), Ticks(10), Ticks(3)), Ticks(9));
  EXPECT_EQ(with_overheads(Ticks(10), Ticks(10), Ticks(3)), Ticks(13));
  EXPECT_EQ(with_overheads(Ticks(25), Ticks(10), Ticks(3)), Ticks(31));
  EXPECT_EQ(with_overheads(Ticks(-1), Ticks(10), Ticks(3)), Ticks(-4));
  EXPECT_EQ(with_overheads(Ticks(-10), Ticks(10), Ticks(3)), Ticks(-13));
}

}  // namespace
}  // namespace dovetail::plan
