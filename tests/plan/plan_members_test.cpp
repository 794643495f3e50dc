#include "plan/plan_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/job.h"
#include "plan/jobs.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

/// A PPO plan on eight devices, with `fusion` on its tenth line.
std::string plan_text(const std::string& fusion) {
  std::string text = "format: dovetail/plan@1\ntasks:\n  - {task: actor_generate, devices: 0-7, layout: {dp: 8}}\n";
  for (const char* task : {"reward_infer", "reference_infer", "critic_infer", "actor_train", "critic_train"})
    text +=
        "  - {task: " + std::string(task) + ", devices: 0-7, layout: {dp: 4, pp: 2}, micro_batch: {sequences: 4}}\n";
  return text + "\n" + (fusion.empty() ? "" : "fusion: " + fusion + "\n");
}

base::Result<Plan> read(const std::string& fusion) {
  return parse_plan(plan_text(fusion), "plan.yaml", test::job_of("ppo"));
}

std::string error_of(const std::string& fusion) {
  const auto plan = read(fusion);
  return plan.ok() ? "no error" : base::to_text(plan.error());
}

TEST(ReadFusion, ReadsEitherOrBoth) {
  const Job job = test::job_of("ppo");
  const TrainPair pair{test::index_of(job, "critic_train"), test::index_of(job, "actor_train")};
  EXPECT_EQ(read("")->fusion, Fusion{});
  EXPECT_EQ(read("{inter_stage: {threshold: 0.2}}")->fusion, (Fusion{0.2, std::nullopt}));
  EXPECT_EQ(read("{intra_stage: {tasks: [critic_train, actor_train]}}")->fusion, (Fusion{std::nullopt, pair}));
  const Plan both = read("{inter_stage: {threshold: 0.15}, intra_stage: {tasks: [critic_train, actor_train]}}").value();
  EXPECT_EQ(both.fusion, (Fusion{0.15, pair}));
  EXPECT_FALSE(both == read("").value());
  const std::string text = plan_to_json(both, job);
  EXPECT_THAT(text, EndsWith("\"fusion\": {\"inter_stage\": {\"threshold\": 0.15}, "
                             "\"intra_stage\": {\"tasks\": [\"critic_train\", \"actor_train\"]}}}\n"));
  EXPECT_EQ(parse_plan(text, "plan.json", job).value(), both);
  EXPECT_THAT(plan_to_json(read("").value(), job), testing::Not(HasSubstr("fusion")));
}

TEST(ReadFusion, ReportsMistakes) {
  EXPECT_EQ(error_of("yes"),
            "plan.yaml:10:9: `fusion` must be a map, not the string `yes`; accepted keys: inter_stage, intra_stage");
  EXPECT_EQ(error_of("{}"), "plan.yaml:10:9: `fusion` is empty; accepted: inter_stage, intra_stage, or no `fusion`");
  EXPECT_EQ(error_of("{inter: {}}"),
            "plan.yaml:10:10: unknown key `inter` in `fusion`; accepted: inter_stage, intra_stage");
  EXPECT_EQ(error_of("{inter_stage: {}}"),
            "plan.yaml:10:23: `inter_stage` needs the key `threshold`; accepted: threshold: 0.2");
  EXPECT_EQ(error_of("{inter_stage: {threshold: 20}}"),
            "plan.yaml:10:35: `threshold` is 20; accepted: a number above 0 and below 1");
  EXPECT_EQ(error_of("{inter_stage: {threshold: 0}}"),
            "plan.yaml:10:35: `threshold` is 0; accepted: a number above 0 and below 1");
  EXPECT_EQ(
      error_of("{intra_stage: {tasks: actor_train}}"),
      "plan.yaml:10:31: `tasks` of `intra_stage` is the string `actor_train`; accepted: a list of two train tasks");
  EXPECT_EQ(error_of("{intra_stage: {tasks: [actor_train]}}"),
            "plan.yaml:10:31: `tasks` of `intra_stage` is a list of 1; accepted: a list of two train tasks");
  EXPECT_EQ(error_of("{intra_stage: {tasks: [actor_train, critic_trian]}}"),
            "plan.yaml:10:45: a task of `intra_stage` is the string `critic_trian`; did you mean 'critic_train'?; "
            "accepted: actor_train, "
            "critic_train");
  EXPECT_EQ(error_of("{intra_stage: {tasks: [actor_train, critic_infer]}}").substr(0, 16), "plan.yaml:10:45:");
  EXPECT_EQ(error_of("{intra_stage: {tasks: [actor_train, actor_train]}}"),
            "plan.yaml:10:31: actor_train and actor_train cannot be fused: both tasks train the same role; accepted: "
            "two roles");
}

TEST(ReadFixed, MayRequireAndForbidFusion) {
  const auto pin_of = [](const std::string& fixed, const std::string& algorithm = "ppo") {
    return parse_job(
        "format: dovetail/job@1\nfixed: " + fixed + "\nalgorithm: " + algorithm +
            "\nmodels: {actor: llama-2-7b, reward: llama-2-7b}\nworkload: {prompts: 64, prompt_length: 100, "
            "response_length: 500}\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
        "job.yaml");
  };
  const auto error_in = [&](const std::string& fixed, const std::string& algorithm = "ppo") {
    const auto job = pin_of(fixed, algorithm);
    return job.ok() ? "no error" : base::to_text(job.error());
  };
  EXPECT_EQ(pin_of("{fusion: {inter_stage: true, intra_stage: false}}")->fixed_fusion,
            (FusionPin{.inter_stage = true, .threshold = std::nullopt, .intra_stage = false}));
  const Job fixed = pin_of("{fusion: {inter_stage: {threshold: 0.25}}}").value();
  EXPECT_EQ(fixed.fixed_fusion, (FusionPin{.inter_stage = true, .threshold = 0.25, .intra_stage = std::nullopt}));
  EXPECT_THAT(canonical_job(fixed), HasSubstr(R"("fixed":{"fusion":{"inter_stage":{"threshold":0.25}}})"));
  EXPECT_NE(job_hash(fixed), job_hash(pin_of("{}").value()));
  EXPECT_EQ(job_hash(pin_of("{fusion: {}}").value()), job_hash(pin_of("{}").value()));
  EXPECT_EQ(error_in("{fusion: {inter_stage: 0.2}}"),
            "job.yaml:2:31: `inter_stage` is 0.2; accepted: true, false, {threshold: FRACTION}");
  EXPECT_EQ(error_in("{fusion: {intra_stage: often}}"),
            "job.yaml:2:31: `intra_stage` is the string `often`; accepted: true, false");
  EXPECT_EQ(error_in("{fusion: {inter_stage: {threshold: 1}}}"),
            "job.yaml:2:43: `threshold` is 1; accepted: a number above 0 and below 1");
  EXPECT_EQ(error_in("{fusion: {intra_stage: true}}", "grpo"),
            "job.yaml:2:17: `fusion`: grpo has no two train tasks that can be fused; accepted: `intra_stage: false`");
}

}  // namespace
}  // namespace dovetail::plan
