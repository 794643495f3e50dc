// The rules of the supported trainers: plans are rejected if they would run differently there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/framework.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// `workload` begins with a comma.
std::string text_of(const std::string& software, const std::string& algorithm, const std::string& workload = "",
                    const std::string& actor = "qwen3-8b") {
  const bool has_critic = algorithm.find("ppo") != std::string::npos;
  const bool has_judge = algorithm.find("reward: model") != std::string::npos;
  return "format: dovetail/job@1\nalgorithm: " + algorithm + "\nsoftware: " + software + "\nmodels: {actor: " + actor +
         (has_critic ? ", critic: qwen3-4b" : "") + (has_judge ? ", reward: qwen3-4b" : "") +
         "}\nworkload: {prompts: 64, mini_batches: 2, prompt_length: 512, response_length: 512" + workload +
         "}\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n";
}

const std::string ppo_by_rule = "{name: ppo, reward: rule}";

Job job_of(const std::string& software, const std::string& algorithm = ppo_by_rule, const std::string& workload = "") {
  return parse_job(text_of(software, algorithm, workload), "job.yaml").value();
}

std::string error_of_job(const std::string& text) {
  const auto job = parse_job(text, "job.yaml");
  return job.ok() ? "no error" : to_text(job.error());
}

/// Names of the tasks of each barrier.
std::vector<std::vector<std::string>> barriers_of(const Job& job) {
  std::vector<std::vector<std::string>> names;
  for (const std::vector<std::size_t>& tasks : order_of(job).barriers) {
    names.emplace_back();
    for (const std::size_t task : tasks) names.back().push_back(job.workflow.tasks[task].name);
  }
  return names;
}

/// "FROM, TO, ITERATIONS" of each edge.
std::vector<std::string> edges_of(const Job& job) {
  std::vector<std::string> edges;
  for (const IterationOrder::Edge& edge : order_of(job).edges)
    edges.push_back(job.workflow.tasks[edge.from].name + ", " + job.workflow.tasks[edge.to].name + ", " +
                    std::to_string(edge.iterations));
  return edges;
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

TEST(VerlFsdp, HasNoModelParallelismAndOffloadsItsReference) {
  const Job job = job_of("{framework: verl}");
  const auto plan = [](const std::string& critic, const std::string& reference) {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) + task("actor_train", "{dp: 8, zero: 3}", tokens) +
           task("critic_infer", "{dp: 8, zero: 3}", tokens) + task("critic_train", critic, tokens) +
           task("reference_infer", "{dp: 8, zero: 3}", tokens + reference);
  };
  EXPECT_EQ(error_of(job, plan("{dp: 8, zero: 3}", ", offload: [weights]")), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, tp: 2, zero: 3}", ", offload: [weights]")),
              HasSubstr("critic_train: `tp` is 2, which verl does not support; accepted: 1"));
  EXPECT_THAT(
      error_of(job, plan("{dp: 8, zero: 3}", "")),
      HasSubstr("reference_infer: `offload` is at its default, which verl does not support; accepted: weights"));
  EXPECT_THAT(error_of(job, plan("{dp: 4, cp: 2, zero: 3}", ", offload: [weights]")),
              HasSubstr("critic_train: verl trains and infers with one engine; accepted: the same devices, layout and "
                        "offloading of weights as critic_infer"));
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
              HasSubstr("verl's Megatron backend puts all roles in the process groups of the role that it builds "
                        "first; accepted: the same parallel degrees as"));
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
  EXPECT_THAT(
      error_of(job, plan("{dp: 4, cp: 2, zero: 3}", tokens)),
      HasSubstr("OpenRLHF has one set of --ds.* options for all roles; accepted: the same tensor parallelism, ring "
                "attention and use of ZeRO 3 as"));
  EXPECT_THAT(error_of(job, plan("{dp: 8, zero: 3}", "micro_batch: {tokens: 8192}")),
              HasSubstr("OpenRLHF trains actor and critic with the same flags"));
  EXPECT_THAT(error_of(job, plan("{dp: 8, zero: 3}", tokens, ", engine: {max_num_seqs: 64}")),
              HasSubstr("`max_num_seqs` is 64, which openrlhf does not support; accepted: 256"));
}

TEST(Openrlhf, AcceptsSeparatePools) {
  const Job job = job_of("{framework: openrlhf}");
  EXPECT_EQ(error_of(job, task("actor_generate", "{tp: 2}", engine, "6-7") +
                              task("actor_train", "{dp: 4, zero: 3}", tokens, "0-3") +
                              task("critic_infer", "{dp: 2, zero: 3}", tokens, "4-5") +
                              task("critic_train", "{dp: 2, zero: 3}", tokens, "4-5") +
                              task("reference_infer", "{dp: 4, zero: 3}", tokens, "0-3")),
            "no error");
}

TEST(NemoRl, InfersInTheTrainingWorkers) {
  const Job job = job_of("{framework: nemo-rl}", "{name: grpo, reward: rule, reference: pass}");
  const auto plan = [](const std::string& reference) {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) +
           task("actor_infer", "{dp: 2, tp: 4}", tokens + ", offload: [weights]") +
           task("reference_infer", reference, tokens + ", offload: [weights]") +
           task("actor_train", "{dp: 2, tp: 4, zero: 1}", tokens + ", offload: [weights, gradients, optimizer]");
  };
  EXPECT_EQ(error_of(job, plan("{dp: 2, tp: 4}")), "no error");
  EXPECT_THAT(error_of(job, plan("{dp: 4, tp: 2}")), HasSubstr("NeMo-RL runs inference in the training workers"));
}

const std::string all = ", offload: [weights, gradients, optimizer]";
const std::string away = ", offload: [weights]";

TEST(ArealFsdp, HasOneEngineForInferenceAndTraining) {
  const Job job = job_of("{framework: areal}");
  const auto plan = [](const std::string& critic, const std::string& cut, const std::string& devices = "0-7",
                       const std::string& offload = all) {
    return task("actor_generate", "{dp: 8}", engine) +
           task("actor_train", "{dp: 4, tp: 2, zero: 3}", tokens + offload) +
           task("critic_infer", "{dp: 4, zero: 3}", tokens, "0-3") + task("critic_train", critic, cut, devices) +
           task("reference_infer", "{dp: 4, pp: 2}", "micro_batch: {count: 2}");
  };
  EXPECT_EQ(error_of(job, plan("{dp: 4, zero: 3}", tokens, "0-3")), "no error") << "the reference has its own backend";
  EXPECT_THAT(error_of(job, plan("{dp: 2, tp: 2, zero: 3}", tokens, "0-3")),
              HasSubstr("critic_train: AReaL trains and infers with one engine; accepted: the same layout, "
                        "micro-batches and offloading of weights as critic_infer"));
  EXPECT_THAT(error_of(job, plan("{dp: 4, zero: 3}", tokens, "4-7")),
              HasSubstr("accepted: the same devices as critic_infer"));
  EXPECT_THAT(error_of(job, plan("{dp: 4, zero: 3}", "micro_batch: {tokens: 8192}", "0-3")),
              HasSubstr("AReaL trains and infers with one engine"));
  EXPECT_THAT(
      error_of(job, plan("{dp: 4, zero: 3}", "micro_batch: {sequences: 2}", "0-3")),
      HasSubstr("critic_train: `micro_batch` is a map with `sequences`, which areal does not support; accepted: "
                "a map with `tokens` or `count`"));
  EXPECT_THAT(error_of(job, plan("{dp: 4, zero: 3}", tokens, "0-3", ", offload: [gradients, optimizer]")),
              HasSubstr("accepted: all or none of weights, gradients and optimizer; with `optimizer_on_host`, both or "
                        "neither of weights and gradients"));
  EXPECT_EQ(error_of(job, plan("{dp: 4, zero: 3, recompute: selective}", tokens, "0-3")), "no error")
      << "supported by Archon";
  EXPECT_THAT(
      error_of(job, plan("{dp: 4, zero: 3, recompute: experts}", tokens, "0-3")),
      HasSubstr("`recompute` is the string `experts`, which areal does not support; accepted: none, selective, full"));
}

TEST(ArealMegatron, StepsOnTheDevices) {
  const Job job = job_of("{framework: areal, training: megatron-policy}", "{name: grpo, reward: rule}");
  const auto plan = [](const std::string& offload) {
    return task("actor_generate", "{dp: 2, tp: 2}", "engine: {}", "0-3") +
           task("actor_infer", "{dp: 2, pp: 2}", tokens, "4-7") +
           task("reference_infer", "{dp: 4, zero: 3}", tokens, "4-7") +
           task("actor_train", "{dp: 2, pp: 2, zero: 1}", tokens + offload, "4-7");
  };
  EXPECT_EQ(error_of(job, plan("")), "no error");
  EXPECT_THAT(error_of(job, plan(", offload: [optimizer_on_host]")), HasSubstr("accepted: no `optimizer_on_host`"));
}

TEST(Areal, RunsCallsInSequence) {
  EXPECT_THAT(barriers_of(job_of("{framework: areal}")),
              ElementsAre(ElementsAre("actor_generate", "reward_rule"), ElementsAre("critic_infer"),
                          ElementsAre("reference_infer"), ElementsAre("actor_train"), ElementsAre("critic_train")));
  const Job ahead = job_of("{framework: areal}", ppo_by_rule, ", steps_off_policy: 2");
  EXPECT_THAT(barriers_of(ahead), ElementsAre(ElementsAre("actor_generate", "reward_rule"), ElementsAre("critic_infer"),
                                              ElementsAre("reference_infer"), ElementsAre("actor_train")));
  EXPECT_THAT(edges_of(ahead), ElementsAre("critic_train, critic_infer, 1"));
}

TEST(Areal, HasNoRewardModel) {
  EXPECT_THAT(error_of_job(text_of("{framework: areal}", "{name: ppo, reward: model}")),
              HasSubstr("job.yaml:2:32: the reward is a model, which areal does not run on the job's devices; "
                        "accepted: `reward: rule`"));
  EXPECT_THAT(error_of_job(text_of("{framework: areal}", ppo_by_rule, ", packing: false")),
              HasSubstr("areal packs sequences and cannot pad rows; accepted: `packing: true`"));
}

TEST(RollMegatron, OffloadsAllStateAndHasBackendsByRole) {
  const Job job = job_of("{framework: roll}", "{name: ppo, reward: model}");
  const auto plan = [](const std::string& offload, const std::string& critic = "{dp: 8, zero: 3}") {
    return task("actor_generate", "{dp: 2, tp: 2}", engine, "0-3") +
           task("reward_infer", "{dp: 4}", "micro_batch: {sequences: 4}", "4-7") +
           task("reference_infer", "{dp: 4, pp: 2}", "micro_batch: {sequences: 2}" + away) +
           task("critic_infer", "{dp: 8, zero: 3}", "micro_batch: {sequences: 2}" + away) +
           task("actor_train", "{dp: 2, tp: 4, zero: 1}", tokens + offload) +
           task("critic_train", critic, "micro_batch: {sequences: 2}" + away);
  };
  EXPECT_EQ(error_of(job, plan(all)), "no error");
  EXPECT_THAT(error_of(job, plan(", offload: [weights, gradients, optimizer_on_host]")),
              HasSubstr("which roll does not support; accepted: no `optimizer_on_host`"));
  EXPECT_THAT(
      error_of(job, plan("")),
      HasSubstr("actor_train: `offload` is at its default, which roll does not support; accepted: all training state"));
  EXPECT_THAT(error_of(job, plan(all, "{dp: 4, tp: 2}")), HasSubstr("ROLL trains and infers with one worker"));
  EXPECT_THAT(barriers_of(job),
              ElementsAre(ElementsAre("actor_generate", "reward_infer"), ElementsAre("reference_infer"),
                          ElementsAre("critic_infer"), ElementsAre("actor_train", "critic_train")));
}

TEST(RollFsdp2, PadsRowsAndKeepsItsOptimizer) {
  const std::string software = "{framework: roll, training: fsdp2}";
  const std::string algorithm = "{name: grpo, reward: rule}";
  EXPECT_THAT(error_of_job(text_of(software, algorithm)),
              HasSubstr("roll with fsdp2 pads rows and cannot pack sequences; accepted: `packing: false`"));
  const Job job = job_of(software, algorithm, ", packing: false");
  const auto plan = [](const std::string& cut, const std::string& offload, const std::string& zero = "3") {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) +
           task("actor_infer", "{dp: 8, zero: 3}", "micro_batch: {sequences: 4}" + away) +
           task("reference_infer", "{dp: 8}", "micro_batch: {sequences: 4}" + away) +
           task("actor_train", "{dp: 8, zero: " + zero + ", recompute: full}", cut + offload);
  };
  const std::string single = "micro_batch: {sequences: 1}";
  EXPECT_EQ(error_of(job, plan(single, away)), "no error");
  EXPECT_THAT(
      error_of(job, plan(tokens, away)),
      HasSubstr("actor_train: `micro_batch` is a map with `tokens`, which roll does not support; accepted: a map with "
                "`sequences`"));
  EXPECT_THAT(error_of(job, plan(single, all)), HasSubstr("accepted: weights, with or without `optimizer_on_host`"));
  EXPECT_THAT(error_of(job, plan(single, away, "1")),
              HasSubstr("`zero` is 1, which roll does not support; accepted: 3, 2"));
}

TEST(Slime, HasOneSetOfFlagsForAllRoles) {
  const Job job = job_of("{framework: slime}");
  const auto plan = [](const std::string& critic, const std::string& cut, const std::string& reference = away,
                       const std::string& devices = "0-7") {
    return task("actor_generate", "{dp: 4, tp: 2}", engine) +
           task("actor_train", "{dp: 2, tp: 4, zero: 1}", tokens + all) +
           task("critic_infer", critic, tokens + away, devices) + task("critic_train", critic, cut + all, devices) +
           task("reference_infer", "{dp: 2, tp: 4, zero: 1}", tokens + reference);
  };
  const std::string same = "{dp: 2, tp: 4, zero: 1}";
  EXPECT_EQ(error_of(job, plan(same, tokens)), "no error");
  EXPECT_THAT(
      error_of(job, plan("{dp: 4, tp: 2, zero: 1}", tokens)),
      HasSubstr("slime has one set of flags and one split of the batch for all roles; accepted: the same layout, "
                "micro-batches and offloading of weights as"));
  EXPECT_THAT(error_of(job, plan(same, "micro_batch: {tokens: 8192}")), HasSubstr("slime has one set of flags"));
  EXPECT_THAT(
      error_of(job, plan(same, tokens, "")),
      HasSubstr("reference_infer: `offload` is at its default, which slime does not support; accepted: weights"));
  EXPECT_THAT(error_of(job, plan("{dp: 1, tp: 4, zero: 1}", tokens, away, "0-3")),
              HasSubstr("accepted: the same devices as"));
  EXPECT_THAT(error_of(job, plan("{dp: 2, tp: 4}", tokens)), HasSubstr("accepted: 1"));
}

TEST(Slime, KeepsStateOnSeparateDevicesWithoutACritic) {
  const Job job = parse_job(text_of("{framework: slime}", "{name: grpo, reward: rule, reference: skip}") +
                                "fixed: {actor_generate: {devices: 4-7}, actor_train: {devices: 0-3}}\n",
                            "job.yaml")
                      .value();
  const auto plan = [](const std::string& offload, const std::string& sampled = "engine: {}") {
    return task("actor_generate", "{dp: 2, tp: 2}", sampled, "4-7") +
           task("actor_infer", "{dp: 4, zero: 1}", tokens + (offload == all ? away : ""), "0-3") +
           task("actor_train", "{dp: 4, zero: 1}", tokens + offload, "0-3");
  };
  EXPECT_EQ(error_of(job, plan("")), "no error");
  EXPECT_EQ(error_of(job, plan(all)), "no error") << "--offload-train";
  EXPECT_THAT(error_of(job, plan(", offload: [gradients]")),
              HasSubstr("accepted: all training state, or only the weights if the job has a reference, or nothing if "
                        "it has none"));
  EXPECT_THAT(error_of(job, plan("", engine)), HasSubstr("accepted: no offloading"));
}

TEST(Slime, RejectsUnsupportedJobs) {
  EXPECT_THAT(error_of_job(text_of("{framework: slime}", ppo_by_rule, ", steps_off_policy: 2")),
              HasSubstr("`steps_off_policy` is 2, which slime does not support; accepted: 0 to 1"));
  EXPECT_THAT(
      error_of_job(text_of("{framework: slime}", ppo_by_rule, "", "{model: qwen3-8b, lora: 8}")),
      HasSubstr("the model of `actor` has adapters, which slime does not support; accepted: models without adapters"));
}

TEST(Trainers, BackendsShareOneFrameworkName) {
  const auto rejected = parse_job(
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule}\nsoftware: {framework: verl, training: fsdp2}\n"
      "models: {actor: qwen3-8b}\nworkload: {prompts: 64, prompt_length: 512, response_length: 512}\n"
      "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
      "job.yaml");
  ASSERT_FALSE(rejected.ok());
  EXPECT_THAT(to_text(rejected.error()), HasSubstr("accepted: verl-fsdp, megatron-policy, or no `training`"));
}

TEST(Trainers, AreInferredFromUniqueMemoryConventions) {
  const auto name = [](const std::string& software) {
    const Framework* const framework = find_framework(job_of(software).software);
    return framework == nullptr ? std::string_view("none") : framework->name;
  };
  EXPECT_EQ(name("{training: verl-fsdp}"), "verl");
  EXPECT_EQ(name("{training: nemo-rl-megatron}"), "nemo-rl");
  EXPECT_EQ(name("{training: megatron-policy}"), "none") << "shared by verl, AReaL and slime";
  EXPECT_EQ(name("{training: megatron}"), "none");
  EXPECT_EQ(name("{framework: any, training: verl-fsdp}"), "none");
  EXPECT_EQ(name("{framework: any}"), "none");
  EXPECT_EQ(name("{framework: roll}"), "roll");
}

TEST(Trainers, SleepingEnginesCopyOrDiscardTheirWeights) {
  const auto copies = [](const std::string& software) { return engine_copies(job_of(software)); };
  EXPECT_TRUE(copies("{framework: openrlhf}"));
  EXPECT_TRUE(copies("{framework: nemo-rl, training: fsdp2}"));
  EXPECT_FALSE(copies("{framework: nemo-rl, training: fsdp2, engine: sglang}"));
  EXPECT_FALSE(copies("{framework: verl}")) << "only with adapters";
  EXPECT_FALSE(copies("{framework: slime}"));
  EXPECT_FALSE(copies("{framework: any}"));
  EXPECT_TRUE(copies("{framework: verl, engine_sleep: copies}")) << "the job's setting overrides the framework's";
  EXPECT_FALSE(copies("{framework: openrlhf, engine_sleep: discards}"));
  Job adapters = job_of("{framework: verl}");
  adapters.models.front().adapter_rank = 8;
  EXPECT_TRUE(engine_copies(adapters));
}

}  // namespace
}  // namespace dovetail::plan
