// What the trainers that people use run: plans are refused where they would be another run there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plan/framework.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

using testing::HasSubstr;

Job job_of(const std::string& software, const std::string& algorithm = "{name: ppo, reward: rule}") {
  return parse_job(
             "format: dovetail/job@1\nalgorithm: " + algorithm + "\nsoftware: " + software +
                 (algorithm.find("ppo") == std::string::npos ? "\nmodels: {actor: qwen3-8b}\n"
                                                             : "\nmodels: {actor: qwen3-8b, critic: qwen3-4b}\n") +
                 "workload: {prompts: 64, mini_batches: 2, prompt_length: 512, response_length: 512}\n"
                 "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
             "job.yaml")
      .value();
}

/// A task of a plan on all devices.
std::string task(const std::string& name, const std::string& layout, const std::string& more,
                 const std::string& devices = "0-7") {
  return "  - {task: " + name + ", devices: " + devices + ", layout: " + layout + ", " + more + "}\n";
}

std::string error_of(const Job& job, const std::string& tasks) {
  const auto plan = parse_plan("format: dovetail/plan@1\ntasks:\n" + tasks, "plan.yaml", job);
  return plan.ok() ? "no error" : to_text(plan.error());
}

const std::string tokens = "micro_batch: {tokens: 4096}";
const std::string engine = "offload: [weights]";

TEST(VerlFsdp, CutsNothingAndStreamsItsReference) {
  const Job job = job_of("{framework: verl}");
  const auto plan = [](const std::string& critic, const std::string& reference) {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) + task("actor_train", "{dp: 8, zero: 3}", tokens) +
           task("critic_infer", "{dp: 8, zero: 3}", tokens) + task("critic_train", critic, tokens) +
           task("reference_infer", "{dp: 8, zero: 3}", tokens + reference);
  };
  EXPECT_EQ(error_of(job, plan("{dp: 8, zero: 3}", ", offload: [weights]")), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, tp: 2, zero: 3}", ", offload: [weights]")),
              HasSubstr("critic_train: `tp` is 2, which verl does not run; accepted: 1"));
  EXPECT_THAT(error_of(job, plan("{dp: 8, zero: 3}", "")),
              HasSubstr("reference_infer: `offload` is not given, and its default, which verl does not run; accepted: "
                        "weights"));
  EXPECT_THAT(error_of(job, plan("{dp: 4, cp: 2, zero: 3}", ", offload: [weights]")),
              HasSubstr("critic_train: verl trains and infers with one engine; accepted: devices, layout "
                        "and whether weights are offloaded as critic_infer has them"));
}

TEST(VerlMegatron, HasOneLayoutForAllRoles) {
  const Job job = job_of("{framework: verl, training: megatron-policy}");
  const auto plan = [](const std::string& critic, const std::string& offload = "") {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) +
           task("actor_train", "{dp: 2, tp: 4, zero: 1}", tokens + offload) + task("critic_infer", critic, tokens) +
           task("critic_train", critic, tokens) + task("reference_infer", "{dp: 2, tp: 4}", tokens);
  };
  EXPECT_EQ(error_of(job, plan("{dp: 2, tp: 4, zero: 1}")), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, tp: 2, zero: 1}")),
              HasSubstr("in verl's Megatron all roles are in the process groups of the first; accepted: the parallel "
                        "degrees as"));
  EXPECT_THAT(error_of(job, plan("{dp: 2, tp: 4, zero: 1}", ", offload: [gradients]")),
              HasSubstr("accepted: weights and gradients together"));
  EXPECT_EQ(error_of(job, plan("{dp: 2, tp: 4, zero: 1}", ", offload: [weights, gradients, optimizer]")), "no error");
}

TEST(Openrlhf, HasOneConfigurationForAllRoles) {
  const Job job = job_of("{framework: openrlhf}");
  const auto plan = [](const std::string& critic, const std::string& cut, const std::string& sampled = "") {
    return task("actor_generate", "{dp: 4, tp: 2}", engine + sampled) +
           task("actor_train", "{dp: 8, zero: 3}", tokens) + task("critic_infer", critic, tokens) +
           task("critic_train", critic, cut) + task("reference_infer", "{dp: 8, zero: 3}", tokens);
  };
  EXPECT_EQ(error_of(job, plan("{dp: 8, zero: 3}", tokens)), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, cp: 2, zero: 3}", tokens)),
              HasSubstr("OpenRLHF has one --ds.* for all roles; accepted: tensor parallel, ring and ZeRO 3 as"));
  EXPECT_THAT(error_of(job, plan("{dp: 8, zero: 3}", "micro_batch: {tokens: 8192}")),
              HasSubstr("OpenRLHF trains actor and critic with the same flags"));
  EXPECT_THAT(error_of(job, plan("{dp: 8, zero: 3}", tokens, ", engine: {max_num_seqs: 64}")),
              HasSubstr("`max_num_seqs` is 64, which openrlhf does not run; accepted: 256"));
}

TEST(Openrlhf, PoolsApartAreRead) {
  const Job job = job_of("{framework: openrlhf}");
  EXPECT_EQ(error_of(job, task("actor_generate", "{tp: 2}", engine, "6-7") +
                              task("actor_train", "{dp: 4, zero: 3}", tokens, "0-3") +
                              task("critic_infer", "{dp: 2, zero: 3}", tokens, "4-5") +
                              task("critic_train", "{dp: 2, zero: 3}", tokens, "4-5") +
                              task("reference_infer", "{dp: 4, zero: 3}", tokens, "0-3")),
            "no error");
}

TEST(NemoRl, PassesRunInTheWorkersOfTraining) {
  const Job job = job_of("{framework: nemo-rl}", "{name: grpo, reward: rule, reference: pass}");
  const auto plan = [](const std::string& reference) {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) +
           task("actor_infer", "{dp: 2, tp: 4}", tokens + ", offload: [weights]") +
           task("reference_infer", reference, tokens + ", offload: [weights]") +
           task("actor_train", "{dp: 2, tp: 4, zero: 1}", tokens + ", offload: [weights, gradients, optimizer]");
  };
  EXPECT_EQ(error_of(job, plan("{dp: 2, tp: 4}")), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, tp: 2}")), HasSubstr("NeMo-RL's passes run in the workers of training"));
}

TEST(Trainers, MoreThanOneOfThemIsOneFramework) {
  const auto refused = parse_job(
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule}\nsoftware: {framework: verl, training: fsdp2}\n"
      "models: {actor: qwen3-8b}\nworkload: {prompts: 64, prompt_length: 512, response_length: 512}\n"
      "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
      "job.yaml");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_text(refused.error()), HasSubstr("accepted: verl-fsdp, megatron-policy, or no `training`"));
  EXPECT_TRUE(job_of("{framework: any}").software.framework.empty());
}

}  // namespace
}  // namespace dovetail::plan
