// Searches with fusion, compared with all plans of small spaces and with plans that are fused only after the search.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "planner/bound/bound.h"
#include "planner/rank/fusion_choice.h"
#include "planner/rank/rank.h"
#include "planner/search/search.h"
#include "support/jobs.h"
#include "support/spaces.h"
#include "support/thread_exchange.h"

namespace dovetail::planner {
namespace {

constexpr FusionSelection both{true, true};

plan::Job ppo_job(const std::string& cluster = "nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB") {
  return test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b", cluster);
}

/// PPO with a long tail.
plan::Job long_tailed_job() {
  return plan::parse_job(
             "format: dovetail/job@1\nname: small\nalgorithm: ppo\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
             "workload: {prompts: 512, mini_batches: 2, prompt_length: 128, response_length: {p50: 300, sigma: 1, cap: "
             "8192}}\n"
             "cluster: {nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB}\n",
             "small.yaml")
      .value();
}

/// Keeps a few choices per task and shape, on all devices, and for inference on halves of them as well. Trainings keep
/// choices with pipelines.
void thin_out(SearchSpace& space, std::size_t most) {
  for (std::size_t task = 0; task < space.choices.size(); ++task) {
    const workflow::TaskKind kind = space.scenario->job.workflow.tasks[task].kind;
    const bool trains = kind == workflow::TaskKind::train;
    const int fewest = kind == workflow::TaskKind::infer ? 4 : 8;
    for (std::size_t shape = 0; shape < space.choices[task].size(); ++shape) {
      std::vector<Choice> kept;
      std::vector<int> forms;
      for (std::size_t choice = 0; choice < space.choices[task][shape].size() && kept.size() < most; ++choice) {
        if (space.examples[shape].count < fewest) break;
        const llm::Layout& layout = space.choices[task][shape][choice].planned.layout;
        if (trains && (layout.virtual_stages > 1 || layout.pipeline == 1)) continue;
        kept.push_back(space.choices[task][shape][choice]);
        forms.push_back(space.weight_forms[task][shape][choice]);
      }
      space.choices[task][shape] = kept;
      space.weight_forms[task][shape] = forms;
    }
    std::erase_if(space.open[task], [&](std::int32_t mesh) { return !space.is_open(task, mesh); });
  }
}

/// Returns the minimum period over all plans of a space.
base::Ticks min_period(const SearchSpace& space, FusionSelection fusion) {
  std::vector<std::vector<SelectedChoice>> all(space.choices.size());
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (space.is_rule(task)) all[task].push_back({});
    for (const std::int32_t mesh : space.open[task])
      for (std::size_t choice = 0; choice < space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size();
           ++choice)
        all[task].push_back({mesh, static_cast<std::int32_t>(choice)});
  }
  Trial trial(space);
  Selection selection(all.size());
  std::vector<std::size_t> digits(all.size(), 0);
  base::Ticks least = base::Ticks::max();
  for (bool more = true; more;) {
    for (std::size_t task = 0; task < all.size(); ++task) selection[task] = all[task][digits[task]];
    for (const FusionSelection tried : {FusionSelection{}, FusionSelection{fusion.generation, false},
                                        FusionSelection{false, fusion.training}, fusion})
      if (const Score score = trial.exact_score(selection, tried); score.excess == 0)
        least = std::min(least, score.period);
    std::size_t task = 0;
    while (task < digits.size() && ++digits[task] == all[task].size()) digits[task++] = 0;
    more = task < digits.size();
  }
  return least;
}

TEST(FusedSearch, FindsTheBestOfAllPlansOfASmallSpace) {
  plan::Job job = long_tailed_job();
  job.limits.margin = plan::MinMargin{};
  test::Place place(std::move(job));
  thin_out(place.space, 3);
  const base::Ticks least = min_period(place.space, both);
  const base::Ticks unfused = min_period(place.space, {});
  EXPECT_LT(least, unfused) << "fusion must gain in this space";
  const std::vector<Found> found = search(place.space, {}, {.chains = 4, .iterations = 20'000, .fusion = both}).found;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().score.period, least);
  EXPECT_TRUE(found.front().score.fused.any());
  EXPECT_LE(period_bound(place.space, both), base::seconds_of_ticks(least));
  EXPECT_LE(period_bound(place.space), base::seconds_of_ticks(unfused));
}

TEST(FusedSearch, IsNoWorseThanFusingAfterTheSearch) {
  for (const char* algorithm : {"ppo", "grpo"}) {
    const test::Place place(test::small_job(algorithm, "actor: qwen3-4b, reward: qwen3-1.7b",
                                            "nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB"));
    RankOptions options;
    options.search.chains = 4;
    options.search.iterations = 20'000;
    std::vector<Selection> starts;
    for (const Placement placement : named_placements)
      for (const Selection& selection : selection_of(place.space, placement)) starts.push_back(selection);
    FusionChooser chooser(place.scenario);
    std::optional<double> later;
    for (const Found& found : search(place.space, starts, options.search).found) {
      const plan::Plan plan = plan_of(place.space, found.selection, "");
      const auto fused = chooser.choose(plan, predict::estimate(place.scenario, plan));
      if (fused && (!later || fused->estimate.iteration_seconds < *later)) later = fused->estimate.iteration_seconds;
    }
    ASSERT_TRUE(later.has_value());
    const Ranking ranking = rank_plans(place.scenario, options).value();
    EXPECT_LE(ranking.plans.front().estimate.iteration_seconds, *later) << algorithm;
  }
}

TEST(FusedSearch, RespectsRequiredAndForbiddenFusions) {
  plan::Job job = ppo_job();
  job.fixed_fusion = {.inter_stage = false, .threshold = std::nullopt, .intra_stage = true};
  const test::Place place(job);
  EXPECT_EQ(open_fusion(job), (FusionSelection{false, true}));
  const std::vector<Found> found =
      search(place.space, {}, {.chains = 2, .iterations = 20'000, .fusion = open_fusion(job)}).found;
  ASSERT_FALSE(found.empty());
  for (const Found& one : found) EXPECT_EQ(one.score.fused, (FusionSelection{false, true}));
  for (const Found& one : search(place.space, {}, {.chains = 2, .iterations = 5000}).found)
    EXPECT_FALSE(one.score.fused.any());
}

TEST(FusedSearch, GivesTheSameAnswerOnAnyNumberOfThreadsAndRanks) {
  const test::Place place(ppo_job());
  SearchOptions options{.chains = 3, .iterations = 6000, .fusion = both};
  const std::vector<Found> alone = search(place.space, {}, options).found;
  options.threads = 3;
  EXPECT_EQ(search(place.space, {}, options).found, alone);
  options.threads = 1;
  std::mutex mutex;
  dovetail::test::run_on_ranks(2, [&](const parallel::Exchange& exchange) {
    SearchOptions shared = options;
    shared.exchange = &exchange;
    const SearchResult result = search(place.space, {}, shared);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(result.found, alone);
  });
}

TEST(FusedBound, IsBelowEveryPlanWithAnyFusion) {
  for (const char* algorithm : {"ppo", "grpo", "remax"}) {
    const test::Place place(test::small_job(algorithm, "actor: qwen3-4b, reward: qwen3-1.7b",
                                            "nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB"));
    const FusionSelection fusion = open_fusion(place.job);
    const double bound = period_bound(place.space, fusion);
    EXPECT_GT(bound, 0.5 * period_bound(place.space)) << algorithm;
    EXPECT_LE(bound, period_bound(place.space) * (1 + 1e-9)) << algorithm;
    Trial trial(place.space);
    base::Random random(3, 0);
    int fused = 0;
    for (int round = 0; round < 600; ++round) {
      const Selection selection = round % 2 == 0 ? test::random_selection(place.space, random)
                                                 : test::random_co_located_selection(place.space, random);
      const Score score = trial.score(selection, fusion);
      fused += score.fused.any() ? 1 : 0;
      EXPECT_GE(base::seconds_of_ticks(score.period), bound * (1 - 1e-9)) << algorithm;
    }
    EXPECT_GT(fused, 0) << algorithm;
  }
}

}  // namespace
}  // namespace dovetail::planner
