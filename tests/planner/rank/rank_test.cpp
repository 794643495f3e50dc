#include "planner/rank/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/simulated/simulation.h"
#include "support/jobs.h"

namespace dovetail::planner {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RankPlans, ListsPlansThatFitTheFastestFirstWithEachPlacement) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  ASSERT_GE(ranking.plans.size(), 4U);
  EXPECT_TRUE(std::is_sorted(ranking.plans.begin(), ranking.plans.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return a.estimate.iteration_seconds < b.estimate.iteration_seconds;
  }));
  for (const RankedPlan& ranked : ranking.plans) {
    EXPECT_TRUE(ranked.estimate.fits());
    EXPECT_FALSE(plan::find_fault(ranked.plan, job).has_value());
    EXPECT_GE(ranking.gap(ranked).value_or(0), 0);
    EXPECT_TRUE(ranking.gap(ranked).has_value());
    EXPECT_GE(ranked.estimate.iteration_seconds, ranking.fused_bound.value() * (1 - 1e-9));
    EXPECT_EQ(ranked.plan.placement, name_of(ranked.placement));
    EXPECT_DOUBLE_EQ(ranked.estimate.iteration_seconds, predict::estimate(scenario, ranked.plan).iteration_seconds);
  }
  for (const Placement placement : {Placement::co_located, Placement::disaggregated, Placement::interleaving})
    EXPECT_TRUE(std::any_of(ranking.plans.begin(), ranking.plans.end(), [&](const RankedPlan& ranked) {
      return ranked.placement == placement;
    })) << name_of(placement);
  EXPECT_FALSE(ranking.nearest.has_value());
}

TEST(RankPlans, TiesAreThoseWithinTheModelsError) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  predict::Software software = predict::software_of(job).value();
  const auto ties_at = [&](double error) {
    software.efficiency.error = error;
    return rank_plans(predict::scenario_of(job, software), test::quick_options()).value().ties;
  };
  EXPECT_LT(ties_at(0), ties_at(10));
  EXPECT_LE(ties_at(0), ties_at(0.1));
  EXPECT_LE(ties_at(0.1), ties_at(10));
  EXPECT_EQ(ties_at(10) + 1,
            rank_plans(predict::scenario_of(job, software), test::quick_options()).value().plans.size());
}

TEST(RankPlans, ConsidersOnlyTheNamedPlacements) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.placements = {Placement::co_located};
  const Ranking ranking = rank_plans(scenario, options).value();
  ASSERT_EQ(ranking.plans.size(), 1U);
  for (const plan::TaskPlan& planned : ranking.plans.front().plan.tasks) EXPECT_EQ(planned.mesh, (cluster::Mesh{0, 8}));
}

std::string why_absent(const Ranking& ranking, Placement placement) {
  for (const AbsentPlacement& absent : ranking.absent)
    if (absent.placement == placement) return absent.why;
  return "";
}

TEST(RankPlans, EachPlacementHasAPlanOrAReason) {
  for (const char* gpu : {"H100", "{name: small, memory: 26GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}",
                          "{name: tiny, memory: 16GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}"}) {
    const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, host_memory: 400GB, gpu: " + std::string(gpu));
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    const auto ranking = rank_plans(scenario, test::quick_options());
    ASSERT_TRUE(ranking.ok()) << ranking.error().message;
    for (const Placement placement : all_placements) {
      const bool has_plan = std::any_of(ranking->plans.begin(), ranking->plans.end(),
                                        [&](const RankedPlan& ranked) { return ranked.placement == placement; });
      EXPECT_EQ(why_absent(*ranking, placement).empty(), has_plan) << name_of(placement) << " on " << gpu;
    }
  }
}

TEST(RankPlans, APlacementThatDoesNotFitReportsPeakMemory) {
  const plan::Job job = test::ppo_job(
      "nodes: 1, gpus_per_node: 8, host_memory: 1GB, gpu: {name: small, memory: 18GiB, bandwidth: 1TB/s, bf16: "
      "100TFLOP/s}");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.placements = {Placement::co_located, Placement::rlhfuse};
  const Ranking ranking = rank_plans(scenario, options).value();
  ASSERT_TRUE(ranking.plans.empty());
  ASSERT_EQ(ranking.absent.size(), 2U) << "requested placements only";
  EXPECT_THAT(why_absent(ranking, Placement::co_located),
              testing::MatchesRegex("does not fit: in [a-z_]+, a device needs [0-9.]+ GiB, more than the 15\\.88 GiB "
                                    "that the margin leaves"));
  EXPECT_EQ(why_absent(ranking, Placement::rlhfuse), why_absent(ranking, Placement::co_located))
      << "rlhfuse starts from the co-located plan";
}

TEST(RankPlans, APlacementThatTheClusterDoesNotAllowReportsWhy) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 1, gpu: H200, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  EXPECT_EQ(why_absent(ranking, Placement::disaggregated), "does not apply: the devices cannot be split in two");
  EXPECT_THAT(why_absent(ranking, Placement::interleaving), HasSubstr("the devices cannot be split in two"));
  RankOptions real = test::quick_options();
  real.option_set = OptionSet::real;
  real.placements = {Placement::rlhfuse};
  EXPECT_EQ(why_absent(rank_plans(scenario, real).value(), Placement::rlhfuse),
            "does not apply: --means real excludes fusion");
}

TEST(RankPlans, PlansOfManySamplesAreNotSimulated) {
  plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  EXPECT_EQ(max_simulated_plans(job, 5), 5U);
  job.workload.prompts = max_simulated_samples / 2;
  EXPECT_EQ(max_simulated_plans(job, 5), 2U);
  job.workload.prompts = max_simulated_samples;
  EXPECT_EQ(max_simulated_plans(job, 5), 0U) << "a single plan cannot be compared";
  EXPECT_EQ(max_simulated_plans(job, 1), 1U);
}

TEST(RankPlans, FusesIfItGainsAndReportsWhyNotOtherwise) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.placements = {Placement::co_located, Placement::rlhfuse};
  const Ranking ranking = rank_plans(scenario, options).value();
  for (const RankedPlan& ranked : ranking.plans)
    EXPECT_EQ(ranked.plan.fusion.any(), ranked.placement == Placement::rlhfuse)
        << "a plan that fuses nothing is the co-located one";
  const plan::Fusion& fusion = ranking.plans.front().plan.fusion;
  EXPECT_EQ(ranking.not_fused.size(), (fusion.threshold ? 0U : 1U) + (fusion.training ? 0U : 1U));
}

TEST(RankPlans, SimulatesTiesAndSortsThemBySimulatedTime) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  predict::Software software = predict::software_of(job).value();
  software.efficiency.error = 0.2;
  const predict::Scenario scenario = predict::scenario_of(job, software);
  RankOptions options = test::quick_options();
  const Ranking plain = rank_plans(scenario, options).value();
  for (const RankedPlan& ranked : plain.plans) EXPECT_FALSE(ranked.simulated.has_value());
  options.simulated = 3;
  const Ranking simulated = rank_plans(scenario, options).value();
  ASSERT_EQ(simulated.plans.size(), plain.plans.size());
  const std::size_t count = std::min<std::size_t>(3, plain.ties + 1);
  ASSERT_GE(count, 2U) << "a job without ties shows nothing";
  predict::Simulator simulator(scenario, {});
  for (std::size_t index = 0; index < simulated.plans.size(); ++index) {
    const RankedPlan& ranked = simulated.plans[index];
    ASSERT_EQ(ranked.simulated.has_value(), index < count) << index;
    if (index >= count) {
      EXPECT_EQ(ranked.plan.tasks, plain.plans[index].plan.tasks);
      continue;
    }
    if (index > 0) {
      EXPECT_LE(simulated.plans[index - 1].simulated, ranked.simulated);
    }
    if (!ranked.plan.fusion.training) {
      EXPECT_DOUBLE_EQ(*ranked.simulated, simulator.simulate(ranked.plan).value().iteration_seconds);
    }
  }
}

TEST(RankPlans, ForbiddenFusionIsInNoPlan) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  job.fixed_fusion = {.inter_stage = false, .threshold = std::nullopt, .intra_stage = false};
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  ASSERT_FALSE(ranking.plans.empty());
  for (const RankedPlan& ranked : ranking.plans) EXPECT_FALSE(ranked.plan.fusion.any());
  EXPECT_THAT(ranking.not_fused, testing::Each(HasSubstr("the job forbids it")));
}

TEST(RankPlans, WithReaLOptionsHasOnlyReaLSettings) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: A100-80, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.option_set = OptionSet::real;
  const Ranking ranking = rank_plans(scenario, options).value();
  ASSERT_FALSE(ranking.plans.empty());
  for (const RankedPlan& ranked : ranking.plans) EXPECT_FALSE(ranked.plan.fusion.any());
  for (const RankedPlan& ranked : ranking.plans)
    for (std::size_t task = 0; task < ranked.plan.tasks.size(); ++task) {
      const plan::TaskPlan& planned = ranked.plan.tasks[task];
      EXPECT_EQ(planned.layout.virtual_stages, 1);
      EXPECT_GE(planned.mesh.count, 4);
      EXPECT_FALSE(planned.engine.own_weights && job.workflow.tasks[task].kind == workflow::TaskKind::generate);
      if (job.workflow.tasks[task].kind == workflow::TaskKind::train) {
        EXPECT_EQ(planned.layout.recomputation, llm::Recomputation::full);
        EXPECT_LE(planned.layout.tensor * planned.layout.data, 8) << "a stage stays in a node";
      }
    }
}

TEST(RankPlans, ReportsTheMissingMemoryOfATaskThatDoesNotFit) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 1, gpu: RTX-4090, host_memory: 16GB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().failure, base::Failure::infeasible);
  EXPECT_THAT(ranking.error().message,
              HasSubstr("actor_train alone does not fit on this cluster: even with dp1 tp1 pp1"));
}

TEST(RankPlans, ReportsPinsThatMakeATaskNotFit) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: A100-40, host_memory: 1TB",
                                      "fixed: {actor_train: {devices: 0-3, layout: {dp: 4, zero: 0}, offload: []}}\n");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_FALSE(ranking.ok());
  EXPECT_THAT(ranking.error().message, HasSubstr("with dp4 tp1 pp1 recompute on 4 devices, it needs "));
  EXPECT_THAT(ranking.error().message, Not(HasSubstr("-")));
}

TEST(RankPlans, NamesTheTaskThatDoesNotFitBeforeTasksOnItsDevices) {
  // slime runs the actor's passes on the training devices. The pass alone would fit.
  const plan::Job job = plan::parse_job(
                            "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule}\nmodels: {actor: "
                            "llama-3.1-70b}\nsoftware: {framework: slime}\n"
                            "workload: {prompts: 32, samples_per_prompt: 8, prompt_length: 128, response_length: 512}\n"
                            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 200GB}\n",
                            "job.yaml")
                            .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().failure, base::Failure::infeasible);
  EXPECT_THAT(ranking.error().message, testing::StartsWith("actor_train alone does not fit on this cluster: "));
  EXPECT_THAT(ranking.error().message, Not(HasSubstr("-")));
}

TEST(RankPlans, StepsTheOptimizerOnTheHostIfNothingElseFits) {
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule, reference: pass}\nmodels: "
          "{actor: qwen3-32b}\nsoftware: {framework: slime}\n"
          "workload: {prompts: 32, samples_per_prompt: 8, prompt_length: 1024, response_length: 16384}\n"
          "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 2TB}\n",
          "job.yaml")
          .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  ASSERT_FALSE(ranking->plans.empty());
  const std::size_t train = workflow::find_task(job.workflow, "actor_train")->index();
  EXPECT_EQ(ranking->plans.front().plan.tasks[train].offload,
            (plan::Offload{.weights = true, .gradients = true, .optimizer = false, .optimizer_on_host = true}));
}

TEST(RankPlans, ReportsTooLittleHostMemory) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1GB",
                                      "fixed: {actor_train: {offload: [optimizer_on_host]}}\n");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().failure, base::Failure::infeasible);
  EXPECT_EQ(ranking.error().message,
            "actor_train alone does not fit on this cluster: host memory is too small for the data it offloads");
}

TEST(RankPlans, ListsNoPlanTwice) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 2, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  for (const RankedPlan& one : ranking.plans)
    for (const RankedPlan& other : ranking.plans) {
      if (&one == &other || one.placement != Placement::searched) continue;
      EXPECT_FALSE(one.plan.tasks == other.plan.tasks && one.plan.fusion == other.plan.fusion);
    }
}

TEST(RankPlans, ReturnsTheNearestPlanIfTasksFitOnlyAlone) {
  // Each training fits alone, but none fits with the resident data of the others, which host memory cannot hold.
  const plan::Job job =
      test::ppo_job("nodes: 1, gpus_per_node: 2, gpu: A100-40, host_memory: 1GB", "limits: {margin: 0}\n");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto ranking = rank_plans(scenario, test::quick_options());
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  ASSERT_TRUE(ranking.value().plans.empty());
  ASSERT_TRUE(ranking.value().nearest.has_value());
  const NearestPlan& nearest = *ranking.value().nearest;
  const predict::TaskMemory memory = predict::task_memory(scenario, nearest.plan)[nearest.task];
  EXPECT_EQ(nearest.missing, -memory.margin());
  EXPECT_GT(nearest.missing, 0);
}

TEST(RankPlans, EnginesOnOneMeshShrinkTogether) {
  // If both engines want 90% of memory, changing one alone does not help. They only fit if both get less.
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nname: remax\nalgorithm: remax\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
          "workload: {prompts: 64, prompt_length: 128, response_length: {p50: 200, p90: 600, cap: 1024}}\n"
          "cluster: {nodes: 1, gpus_per_node: 8, gpu: A100-40, host_memory: 16GB}\n",
          "remax.yaml")
          .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.placements = {Placement::co_located};
  const auto ranking = rank_plans(scenario, options);
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  ASSERT_FALSE(ranking->plans.empty());
  EXPECT_TRUE(ranking->plans.front().estimate.fits());
}

TEST(FindFlips, NamesPlansThatBecomeFaster) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  for (const Flip& flip : find_flips(scenario, ranking)) {
    EXPECT_GT(flip.plan, 0U);
    EXPECT_LT(flip.plan, ranking.plans.size());
    EXPECT_GE(flip.gain, 0.01);
    EXPECT_NE(flip.factor, 1);
  }
}

TEST(FindFlips, IgnoresPlansThatAreFasterWithoutAChange) {
  // Played plans may have another order. The second plan being faster by the closed form is then not a change.
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  ASSERT_GE(ranking.plans.size(), 2U);
  ranking.plans = {ranking.plans.back(), ranking.plans.front()};
  ASSERT_GT(ranking.plans[0].estimate.iteration_seconds, 1.02 * ranking.plans[1].estimate.iteration_seconds);
  const std::vector<Flip> flips = find_flips(scenario, ranking);
  EXPECT_TRUE(std::none_of(flips.begin(), flips.end(), [](const Flip& flip) {
    return std::string_view(flip.input) == "hand-over time" && flip.factor == 0.8;
  }));
}

TEST(RankPlans, KeepsTheBestPlansIfInterrupted) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB");
  parallel::Cancellation cancellation;
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value(), &cancellation);
  RankOptions options = test::quick_options();
  options.search.on_progress = [&](const SearchProgress&) { cancellation.request(); };
  const Ranking ranking = rank_plans(scenario, options).value();
  EXPECT_EQ(ranking.cut_short, parallel::EndedBy::interrupt);
  EXPECT_TRUE(ranking.not_fused.empty()) << "reasons are not computed when stopped";
  ASSERT_FALSE(ranking.plans.empty());
  for (const RankedPlan& ranked : ranking.plans) {
    EXPECT_TRUE(ranked.estimate.fits());
    EXPECT_EQ(ranked.estimate.iteration_seconds,
              predict::estimate(predict::scenario_of(job, scenario.software), ranked.plan).iteration_seconds);
  }
  EXPECT_TRUE(find_flips(scenario, ranking).empty());
  const auto nothing = rank_plans(scenario, options);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().failure, base::Failure::interrupted);
}

TEST(RankPlans, RespectsTheTimeLimit) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.search.time_limit_seconds = 0;
  const auto nothing = rank_plans(scenario, options);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().failure, base::Failure::infeasible);
  options.search.time_limit_seconds = 600;
  EXPECT_FALSE(rank_plans(scenario, options)->cut_short);
}

}  // namespace
}  // namespace dovetail::planner
