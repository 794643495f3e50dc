#include "planner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "plan/framework.h"
#include "planner/bound/bound.h"
#include "predict/closed_form/estimate.h"
#include "support/effort.h"
#include "support/jobs.h"
#include "support/spaces.h"
#include "support/thread_exchange.h"

namespace dovetail::planner {
namespace {

using test::Place;
using test::random_selection;

plan::Job ppo_job(const std::string& cluster = "nodes: 2, gpus_per_node: 4, gpu: A100-40, host_memory: 200GB") {
  return test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b", cluster);
}

/// Returns the bytes missing by the evaluator, of usable device memory and of host memory.
std::int64_t missing_bytes(const predict::Estimate& estimate) {
  std::int64_t missing = 0;
  for (const predict::TaskMemory& memory : estimate.memory)
    if (memory.usable > 0) missing = std::max({missing, -memory.headroom(), memory.host - memory.host_memory});
  return missing;
}

TEST(Trial, AgreesWithTheEvaluator) {
  const Place place(ppo_job());
  Trial trial(place.space);
  base::Random random(7, 0);
  int excesses = 0;
  for (int round = 0; round < 300; ++round) {
    const Selection selection = random_selection(place.space, random);
    const Score score = trial.score(selection);
    const predict::Estimate estimate = predict::estimate(place.scenario, plan_of(place.space, selection, "random"));
    const std::int64_t missing = missing_bytes(estimate);
    excesses += missing > 0 ? 1 : 0;
    EXPECT_EQ(score.excess, missing) << round;
    const double exact = static_cast<double>(estimate.timing.period.count());
    // They differ in the time of reallocations between meshes, which is short here.
    EXPECT_NEAR(static_cast<double>(score.period.count()) / exact, 1, 0.02) << round;
    EXPECT_EQ(trial.exact_score(selection), (Score{estimate.timing.period, score.excess, score.fused})) << round;
  }
  EXPECT_GT(excesses, 0);
}

TEST(Trial, FollowsTheOrderOfTheFramework) {
  // Off-policy, ROLL may place its roles anywhere, but passes and trainings still take turns.
  plan::Job job = ppo_job();
  job.software.framework = "roll";
  job.workload.steps_off_policy = 1;
  const Place place(job);
  Trial trial(place.space);
  base::Random random(13, 0);
  int later = 0;
  for (int round = 0; round < 100; ++round) {
    const Selection selection = random_selection(place.space, random);
    const plan::Plan plan = plan_of(place.space, selection, "random");
    const predict::Estimate estimate = predict::estimate(place.scenario, plan);
    EXPECT_EQ(trial.exact_score(selection).period, estimate.timing.period) << round;
    plan::Job free = job;
    free.software.framework = plan::any_framework;
    free.software.training = "roll-megatron";
    const predict::Scenario ideal = predict::scenario_of(free, predict::software_of(free).value());
    later += predict::estimate(ideal, plan).timing.period < estimate.timing.period ? 1 : 0;
  }
  EXPECT_GT(later, 10);
}

TEST(Trial, AgreesWithTheEvaluatorOnHostMemory) {
  // Host memory is so small that offloading decides. There is only one node, so no other node has less left.
  const Place place(ppo_job("nodes: 1, gpus_per_node: 8, gpu: A100-80, host_memory: 24GB"));
  Trial trial(place.space);
  base::Random random(11, 0);
  int of_host = 0;
  for (int round = 0; round < 300; ++round) {
    const Selection selection = random_selection(place.space, random);
    const predict::Estimate estimate = predict::estimate(place.scenario, plan_of(place.space, selection, "random"));
    EXPECT_EQ(trial.score(selection).excess, missing_bytes(estimate)) << round;
    for (const predict::TaskMemory& memory : estimate.memory)
      if (memory.host > memory.host_memory) {
        ++of_host;
        break;
      }
  }
  EXPECT_GT(of_host, 0);
}

TEST(Trial, RejectsOnlySelectionsAboveTheLimit) {
  const Place place(ppo_job());
  const FusionSelection fusion = open_fusion(place.scenario.job);
  const std::int64_t usable = min_memory(place.space);
  Trial trial(place.space);
  Trial other(place.space);
  base::Random random(13, 0);
  int rejected_early = 0;
  int taken = 0;
  double last = 0;  // cost of the previous plan, which about half of the plans exceed
  for (int round = 0; round < 2000; ++round) {
    const Selection selection = random_selection(place.space, random);
    const Score score = other.score(selection, round % 2 == 0 ? fusion : FusionSelection{});
    int polls = 0;
    const auto found =
        trial.score_unless(selection, round % 2 == 0 ? fusion : FusionSelection{}, [&](const Score& least) {
          EXPECT_TRUE(has(least.fused, score.fused)) << round;
          EXPECT_LE(least.period, score.period) << round;
          EXPECT_LE(least.excess, score.excess) << round;
          ++polls;
          return least.cost(usable) > last;
        });
    EXPECT_GE(polls, 1);
    if (found) {
      EXPECT_EQ(*found, score) << round;
      ++taken;
    } else {
      EXPECT_GT(score.cost(usable), last) << round;
      ++rejected_early;
    }
    last = score.cost(usable);
  }
  EXPECT_GT(rejected_early, 200);
  EXPECT_GT(taken, 200);
}

TEST(Search, FindsTheBestOfAllPlansOfASmallJob) {
  const Place place(test::small_job("{name: grpo, reward: rule, reward_seconds: 0.001}", "actor: qwen3-1.7b",
                                    "nodes: 1, gpus_per_node: 2, gpu: A100-40"));
  // Every possible plan.
  std::vector<std::pair<std::size_t, std::vector<SelectedChoice>>> tasks;
  double plans = 1;
  for (std::size_t task = 0; task < place.space.choices.size(); ++task) {
    if (place.space.is_rule(task)) continue;
    std::vector<SelectedChoice> all;
    for (const std::int32_t mesh : place.space.open[task])
      for (std::size_t choice = 0;
           choice < place.space.choices[task][place.space.shapes[static_cast<std::size_t>(mesh)]].size(); ++choice)
        all.push_back({mesh, static_cast<std::int32_t>(choice)});
    plans *= static_cast<double>(all.size());
    tasks.emplace_back(task, all);
  }
  ASSERT_LT(plans, 5e6) << "too many to try them all";
  Trial trial(place.space);
  Selection selection(place.space.choices.size());
  base::Ticks least = base::Ticks::max();
  std::vector<std::size_t> digits(tasks.size(), 0);
  const int every = test::sanitized ? 7 : 1;
  int number = 0;
  for (bool more = true; more; ++number) {
    for (std::size_t index = 0; index < tasks.size(); ++index)
      selection[tasks[index].first] = tasks[index].second[digits[index]];
    if (number % every == 0)
      if (const Score score = trial.exact_score(selection); score.excess == 0) least = std::min(least, score.period);
    std::size_t index = 0;
    while (index < digits.size() && ++digits[index] == tasks[index].second.size()) digits[index++] = 0;
    more = index < digits.size();
  }
  const std::vector<Found> found = search(place.space, {}, {.chains = 4, .iterations = 20'000}).found;
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found.front().score.period, least);
  if (every == 1) {
    EXPECT_EQ(found.front().score.period, least);
  }
  EXPECT_LE(period_bound(place.space), base::seconds_of_ticks(least));
}

TEST(Search, GivesTheSameAnswerOnAnyNumberOfThreads) {
  const Place place(ppo_job());
  SearchOptions options{.chains = 3, .iterations = 5000};
  const std::vector<Found> one = search(place.space, {}, options).found;
  options.threads = 3;
  const std::vector<Found> three = search(place.space, {}, options).found;
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t index = 0; index < one.size(); ++index) EXPECT_EQ(one[index].selection, three[index].selection);
}

TEST(Search, GivesTheSameAnswerOnAnyNumberOfRanks) {
  const Place place(ppo_job());
  const SearchOptions options{.chains = 3, .iterations = 25'000};
  const SearchResult alone = search(place.space, {}, options);
  std::mutex mutex;
  for (const int ranks : {2, 4}) {
    int reports = 0;
    dovetail::test::run_on_ranks(ranks, [&](const parallel::Exchange& exchange) {
      SearchOptions shared = options;
      shared.exchange = &exchange;
      const SearchResult result = search(place.space, {}, shared);
      const std::lock_guard lock(mutex);
      EXPECT_EQ(result.found, alone.found) << ranks;
      EXPECT_EQ(result.run.iterations, 25'000);
      EXPECT_FALSE(result.run.lost_process.has_value());
      ++reports;
    });
    EXPECT_EQ(reports, ranks);
  }
}

TEST(Search, KeepsItsResultsIfARankIsLost) {
  const Place place(ppo_job());
  const auto group = dovetail::test::connect_threads(2, 0.01);
  SearchOptions options{.chains = 2, .iterations = 100'000};
  options.exchange = &group[0];
  const SearchResult result = search(place.space, {}, options);
  EXPECT_TRUE(result.run.lost_process.has_value());
  EXPECT_EQ(result.run.stopped_by, pipeline::StoppedBy::interrupt);
  EXPECT_FALSE(result.found.empty());
}

TEST(Search, SameIterationsRepeatATimeLimitedSearch) {
  const Place place(ppo_job());
  for (const double seconds : {0.0, 0.5}) {
    SearchOptions options{.chains = 2};
    options.time_limit_seconds = seconds;
    const SearchResult limited = search(place.space, {}, options);
    options.time_limit_seconds.reset();
    options.iterations = limited.run.iterations;
    const SearchResult repeated = search(place.space, {}, options);
    EXPECT_EQ(repeated.found, limited.found);
    EXPECT_EQ(repeated.run.stopped_by, pipeline::StoppedBy::iterations);
  }
}

TEST(Search, ReportsProgress) {
  const Place place(ppo_job());
  SearchOptions options{.chains = 2, .iterations = 50'000};
  std::vector<std::int64_t> done;
  std::vector<base::Ticks> better;
  options.on_progress = [&](const SearchProgress& progress) {
    done.push_back(progress.iterations);
    EXPECT_EQ(progress.planned, 50'000);
    EXPECT_GT(progress.evaluations_per_second, 0);
  };
  options.on_better = [&](const Found& found) { better.push_back(found.score.period); };
  const SearchResult result = search(place.space, {}, options);
  EXPECT_EQ(done, (std::vector<std::int64_t>{20'000, 40'000, 50'000}));
  ASSERT_FALSE(better.empty());
  EXPECT_TRUE(std::is_sorted(better.rbegin(), better.rend()));
  EXPECT_EQ(better.back(), result.found.front().score.period);
}

TEST(Search, StopsAtTheBoundOrOnRequest) {
  const Place place(ppo_job());
  SearchOptions options{.chains = 2, .iterations = 60'000};
  options.bound = base::Ticks::max();
  EXPECT_EQ(search(place.space, {}, options).run.stopped_by, pipeline::StoppedBy::bound);
  options.bound = base::Ticks(0);
  parallel::Cancellation cancellation;
  options.on_progress = [&](const SearchProgress&) { cancellation.request(); };
  SearchSpace space = place.space;
  const predict::Scenario scenario = predict::stopped_by(place.scenario, cancellation);
  space.scenario = &scenario;
  const SearchResult result = search(space, {}, options);
  EXPECT_EQ(result.run.stopped_by, pipeline::StoppedBy::interrupt);
  EXPECT_FALSE(result.found.empty());
}

TEST(Pool, SurvivesAMessage) {
  const std::vector<Found> found{{{{1, 2}, {3, 4}}, {base::Ticks(5), 6, {true, false}}},
                                 {{}, {base::Ticks(7), 0, {false, true}}}};
  std::string message;
  put(message, found);
  std::string_view left = message;
  EXPECT_EQ(take_found(left), found);
  EXPECT_TRUE(left.empty());
}

TEST(Search, IsNoWorseThanItsStarts) {
  const Place place(ppo_job());
  Trial trial(place.space);
  std::vector<Selection> starts;
  for (const Placement placement : named_placements)
    for (const Selection& selection : selection_of(place.space, placement)) starts.push_back(selection);
  ASSERT_FALSE(starts.empty());
  const std::vector<Found> found = search(place.space, starts, {.chains = 2, .iterations = 2000}).found;
  ASSERT_FALSE(found.empty());
  for (const Selection& selection : starts)
    if (const Score score = trial.exact_score(selection); score.excess == 0) {
      EXPECT_LE(found.front().score.period, score.period);
    }
}

TEST(Search, ListsPlansWithDifferentMeshesTheBestFirst) {
  const Place place(ppo_job());
  const std::vector<Found> found = search(place.space, {}, {.chains = 2, .iterations = 5000, .kept = 10}).found;
  std::set<std::vector<std::int32_t>> meshes;
  for (const Found& one : found) {
    std::vector<std::int32_t> of_plan;
    for (const SelectedChoice& selected : one.selection) of_plan.push_back(selected.mesh);
    EXPECT_TRUE(meshes.insert(of_plan).second);
    EXPECT_EQ(one.score.excess, 0);
  }
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                             [](const Found& a, const Found& b) { return a.score.period < b.score.period; }));
}

TEST(RealSearch, FindsAPlanThatFits) {
  const Place place(ppo_job());
  const std::vector<Found> found = real_search(place.space, {.evaluations = 20'000});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(predict::estimate(place.scenario, plan_of(place.space, found.front().selection, "real")).fits());
}

TEST(PeriodBound, IsBelowEveryPlan) {
  for (const char* algorithm : {"ppo", "grpo", "reinforce++", "remax"}) {
    const Place place(test::small_job(algorithm, "actor: qwen3-4b, reward: qwen3-1.7b",
                                      "nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB"));
    const double bound = period_bound(place.space);
    EXPECT_GT(bound, 0);
    Trial trial(place.space);
    base::Random random(3, 0);
    for (int round = 0; round < 500; ++round)
      EXPECT_GE(base::seconds_of_ticks(trial.score(random_selection(place.space, random)).period), bound * (1 - 1e-9))
          << algorithm;
  }
}

TEST(PeriodBound, EqualsTheWorkOnOneDevice) {
  const Place place(
      test::small_job("{name: grpo, reward: rule}", "actor: qwen3-0.6b", "nodes: 1, gpus_per_node: 1, gpu: H100"));
  double work = 0;
  for (std::size_t task = 0; task < place.space.choices.size(); ++task)
    if (!place.space.is_rule(task)) work += base::seconds_of_ticks(place.space.choices[task][0].front().duration);
  // Includes the engine's weight sync.
  work += base::seconds_of_ticks(
      place.space.weight_syncs[workflow::find_task(place.job.workflow, "actor_generate")->index()][0].same);
  EXPECT_NEAR(period_bound(place.space), work, 1e-3 * work);
}

TEST(Placements, HaveTheirMeshes) {
  const Place place(ppo_job());
  const auto& tasks = place.job.workflow.tasks;
  const cluster::Mesh all{0, 8};
  for (const Selection& selection : selection_of(place.space, Placement::co_located))
    for (const plan::TaskPlan& planned : plan_of(place.space, selection, "").tasks) EXPECT_EQ(planned.mesh, all);
  const std::vector<Selection> apart = selection_of(place.space, Placement::disaggregated);
  ASSERT_FALSE(apart.empty());
  for (const Selection& selection : apart) {
    const plan::Plan plan = plan_of(place.space, selection, "");
    for (std::size_t a = 0; a < tasks.size(); ++a)
      for (std::size_t b = 0; b < tasks.size(); ++b)
        if (tasks[a].kind == workflow::TaskKind::train && tasks[b].kind != workflow::TaskKind::train) {
          EXPECT_FALSE(cluster::overlap(plan.tasks[a].mesh, plan.tasks[b].mesh));
        }
  }
  for (const Selection& selection : selection_of(place.space, Placement::megatron))
    for (const plan::TaskPlan& planned : plan_of(place.space, selection, "").tasks)
      EXPECT_EQ(llm::to_text(planned.layout).substr(0, 11), "dp1 tp4 pp2");
}

TEST(Placements, EitherHalfTrainsOnUnequalNodes) {
  plan::Job job = ppo_job();
  cluster::NodeGroup other = job.cluster.groups.front();
  other.gpu = cluster::find_gpu("A100-80").value();
  job.cluster.groups.push_back(other);
  const Place place(std::move(job));
  const std::size_t train = workflow::find_task(place.job.workflow, "actor_train")->index();
  std::set<int> first;
  for (const std::vector<cluster::Mesh>& meshes : meshes_of(place.space, Placement::disaggregated))
    if (meshes[train].count == 8) first.insert(meshes[train].first);
  EXPECT_EQ(first, (std::set<int>{0, 8}));
}

TEST(Choices, KeepPins) {
  plan::Job job = ppo_job();
  job.fixed.resize(job.workflow.tasks.size());
  const std::size_t train = workflow::find_task(job.workflow, "actor_train")->index();
  job.fixed[train].mesh = cluster::Mesh{4, 4};
  job.fixed[train].layout.set(&llm::Layout::tensor, 2);
  job.fixed[train].layout.set(&llm::Layout::recomputation, llm::Recomputation::full);
  const Place place(job);
  const std::vector<Found> found = search(place.space, {}, {.chains = 2, .iterations = 3000}).found;
  ASSERT_FALSE(found.empty());
  for (const Found& one : found) {
    const plan::TaskPlan planned = plan_of(place.space, one.selection, "").tasks[train];
    EXPECT_EQ(planned.mesh, (cluster::Mesh{4, 4}));
    EXPECT_EQ(planned.layout.tensor, 2);
    EXPECT_EQ(planned.layout.recomputation, llm::Recomputation::full);
  }
}

TEST(Choices, DoNotDominateEachOther) {
  const Place place(ppo_job());
  for (std::size_t task = 0; task < place.space.choices.size(); ++task)
    for (const auto& of_shape : place.space.choices[task])
      for (const Choice& a : of_shape) {
        EXPECT_FALSE(llm::find_fault(a.planned.layout, plan::model_of(place.job, workflow::TaskId(task))).has_value());
        EXPECT_EQ(a.planned.layout.devices(), a.planned.mesh.count);
      }
}

TEST(SearchMeshes, CoverAClusterOfManyNodes) {
  const plan::Job job = ppo_job("nodes: 128, gpus_per_node: 8, gpu: H100");
  const std::vector<cluster::Mesh> meshes = search_meshes(job);
  const std::set<cluster::Mesh> all(meshes.begin(), meshes.end());
  EXPECT_EQ(all.size(), meshes.size());
  EXPECT_TRUE(all.contains({0, 1024}));
  // The rest of the cluster after a run at its beginning is a mesh as well.
  for (const cluster::Mesh& mesh : meshes)
    if (mesh.first == 0 && mesh.count >= 512 && mesh.count < 1024) {
      EXPECT_TRUE(all.contains({mesh.count, 1024 - mesh.count})) << mesh.count;
    }
}

}  // namespace
}  // namespace dovetail::planner
