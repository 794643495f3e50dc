#include "study/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/scenes.h"

namespace dovetail::study {
namespace {

using test::pipelined;
using test::ppo_with;
using test::Scene;
using testing::HasSubstr;
using Kind = Working::Kind;

WhatIfs what_ifs_of(const Scene& scene) { return what_ifs(scene.scenario, scene.plan, test::quick_what_ifs()); }

std::vector<const WhatIf*> alternatives_of(const WhatIfs& found, Kind kind) {
  std::vector<const WhatIf*> alternatives;
  for (const WhatIf& what_if : found.alternatives)
    if (what_if.working.kind == kind) alternatives.push_back(&what_if);
  return alternatives;
}

double simulated_seconds(const predict::Scenario& scenario, const plan::Plan& plan) {
  return predict::Simulator(scenario, {}).simulate(plan)->iteration_seconds;
}

TEST(WhatIf, UnchangedPlanEqualsTheSimulation) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const WhatIfs found = what_ifs_of(scene);
  int planned = 0;
  for (const WhatIf& what_if : found.alternatives) planned += what_if.planned ? 1 : 0;
  EXPECT_EQ(planned, 1);
  const WhatIf* plain = find_fusion(found, false, false);
  ASSERT_NE(plain, nullptr);
  EXPECT_TRUE(plain->planned);
  ASSERT_TRUE(plain->figures);
  EXPECT_EQ(plain->figures->iteration_seconds, simulated_seconds(scene.scenario, scene.plan));
  EXPECT_TRUE(plain->figures->simulated);
  EXPECT_EQ(plain->figures->staleness, Staleness());
  EXPECT_NEAR(plain->figures->samples_per_second * plain->figures->iteration_seconds, 64, 1e-9);
  EXPECT_TRUE(found.complete);
}

TEST(WhatIf, FusionsAreNeverSlower) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const WhatIfs found = what_ifs_of(scene);
  const double plain = find_fusion(found, false, false)->figures->iteration_seconds;
  for (const auto& [inter, intra] : {std::pair(false, true), std::pair(true, false), std::pair(true, true)}) {
    const WhatIf* fused = find_fusion(found, inter, intra);
    if (!fused->figures) continue;
    EXPECT_LE(fused->figures->iteration_seconds, plain * (1 + 1e-9)) << inter << intra;
  }
  ASSERT_TRUE(found.training);
  EXPECT_LE(found.training->trace.end, found.training->apart);
  EXPECT_GE(found.training->trace.end, found.training->bound);
}

TEST(WhatIf, StalePoliciesAreNoSlowerOnTheSameDevices) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const WhatIfs found = what_ifs_of(scene);
  const std::vector<const WhatIf*> alternatives = alternatives_of(found, Kind::off_policy);
  ASSERT_EQ(alternatives.size(), 3U);
  for (const WhatIf* alternative : alternatives) {
    ASSERT_TRUE(alternative->figures);
    EXPECT_EQ(alternative->figures->training_devices + alternative->figures->rollout_devices, 8);
    EXPECT_TRUE(alternative->figures->fits());
    EXPECT_LE(alternative->figures->iteration_seconds,
              simulated_seconds(scene.scenario, alternative->figures->plan) * (1 + 1e-9));
    EXPECT_LE(alternative->figures->staleness.max, alternative->working.steps);
    EXPECT_GE(alternative->figures->staleness.max, 1);
  }
  ASSERT_FALSE(found.splits.empty());
  for (std::size_t index = 1; index < found.splits.size(); ++index)
    EXPECT_LE(found.splits[index - 1].iteration_seconds, found.splits[index].iteration_seconds);
}

TEST(WhatIf, OffPolicyPlanIsComparedWithOnPolicySplit) {
  const plan::Job job = test::grpo_job(1);
  const Scene scene(job, test::separated(job));
  const WhatIfs found = what_ifs_of(scene);
  EXPECT_EQ(find_fusion(found, false, false)->figures->staleness.max, 1);
  const std::vector<const WhatIf*> alternatives = alternatives_of(found, Kind::off_policy);
  ASSERT_EQ(alternatives.size(), 4U);
  EXPECT_EQ(alternatives[0]->working.steps, 0);
  EXPECT_EQ(alternatives[0]->figures->staleness, Staleness());
  EXPECT_GT(alternatives[0]->figures->iteration_seconds, alternatives[1]->figures->iteration_seconds);
}

TEST(WhatIf, PartialRolloutTradesFreshnessForTheTail) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const WhatIfs found = what_ifs_of(scene);
  const double plain = find_fusion(found, false, false)->figures->iteration_seconds;
  double before = 0;
  for (const WhatIf* alternative : alternatives_of(found, Kind::partial)) {
    ASSERT_TRUE(alternative->figures);
    EXPECT_LT(alternative->figures->iteration_seconds, plain);
    EXPECT_GT(alternative->figures->staleness.off_policy_tokens, before) << "the fewer finish, the more continue later";
    EXPECT_LT(alternative->figures->staleness.off_policy_tokens, 1);
    EXPECT_GE(alternative->figures->staleness.max, 1);
    before = alternative->figures->staleness.off_policy_tokens;
  }
  EXPECT_GT(before, 0);
}

TEST(WhatIf, PlanWithAThresholdIsAlsoSimulatedAtTheBest) {
  const plan::Job job = test::ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  const double best = *find_fusion(what_ifs_of(scene), true, false)->figures->plan.fusion.threshold;
  for (const double own : {best, 0.95}) {
    scene.plan.fusion.threshold = own;
    const WhatIfs found = what_ifs_of(scene);
    const WhatIf* planned = find_fusion(found, true, false);
    ASSERT_NE(planned, nullptr);
    EXPECT_TRUE(planned->planned);
    EXPECT_EQ(planned->figures->plan.fusion.threshold, own);
    EXPECT_EQ(find_threshold(found, own, false), planned);
    const WhatIf* at_best = find_threshold(found, best, false);
    ASSERT_NE(at_best, nullptr);
    EXPECT_EQ(at_best->planned, own == best);
    EXPECT_LE(at_best->figures->iteration_seconds, planned->figures->iteration_seconds);
  }
}

TEST(WhatIf, GrpoHasNoSecondTraining) {
  const plan::Job job = test::grpo_job();
  const Scene scene(job, test::co_located(job));
  const WhatIfs found = what_ifs_of(scene);
  for (const bool inter : {false, true}) {
    const WhatIf* fused = find_fusion(found, inter, true);
    EXPECT_FALSE(fused->figures);
    EXPECT_THAT(fused->why_not, HasSubstr("grpo does not train a second model"));
  }
  EXPECT_FALSE(found.training);
}

TEST(WhatIf, WithoutGenerationNoPolicyIsStale) {
  const plan::Job job = plan::parse_job(
                            "format: dovetail/job@1\nname: small\nalgorithm: dpo\nmodels: {actor: qwen3-0.6b}\n"
                            "workload: {prompts: 64, prompt_length: 128, response_length: 512}\n"
                            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
                            "small.yaml")
                            .value();
  const Scene scene(job, pipelined(job, 2));
  const WhatIfs found = what_ifs_of(scene);
  EXPECT_TRUE(find_fusion(found, false, false)->figures);
  for (const Kind kind : {Kind::off_policy, Kind::partial})
    for (const WhatIf* alternative : alternatives_of(found, kind)) {
      EXPECT_FALSE(alternative->figures);
      EXPECT_THAT(alternative->why_not, HasSubstr("dpo does not generate with a trained model"));
    }
  EXPECT_THAT(find_fusion(found, true, false)->why_not, HasSubstr("dpo has no generate task"));
}

TEST(WhatIf, CancelledStudyIsIncomplete) {
  const plan::Job job = test::grpo_job();
  const Scene scene(job, test::co_located(job));
  parallel::Cancellation cancellation;
  cancellation.request();
  const WhatIfOptions options = test::quick_what_ifs();
  const WhatIfs found = what_ifs(predict::stopped_by(scene.scenario, cancellation), scene.plan, options);
  EXPECT_FALSE(found.complete);
  EXPECT_TRUE(found.alternatives.empty());
}

}  // namespace
}  // namespace dovetail::study
