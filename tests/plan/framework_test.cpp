#include "plan/framework.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/fusion.h"
#include "plan/job.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string dense =
    "{model_type: llama, num_hidden_layers: 2, hidden_size: 16, num_attention_heads: 4, intermediate_size: 32, "
    "vocab_size: 32}";

/// A PPO job on one device with this software, models and workload. `more` is appended.
struct FileParts {
  std::string software = "{framework: dovetail}";
  std::string model = dense;
  std::string workload = "prompts: 8, prompt_length: 4, response_length: 4";
  std::string devices = "1";
  std::string more = {};
};

std::string job_of(const FileParts& parts) {
  return "format: dovetail/job@1\nalgorithm: {name: ppo, reward: rule}\nsoftware: " + parts.software +
         "\nmodels: {actor: " + parts.model + ", critic: " + dense + "}\nworkload: {" + parts.workload +
         "}\ncluster: {nodes: 1, gpus_per_node: " + parts.devices +
         ", gpu: {name: CPU-2, memory: 8GiB, bandwidth: 40GB/s, bf16: 130GFLOP/s}}\n" + parts.more;
}

Job sound_job() { return parse_job(job_of({}), "job.yaml").value(); }

std::string error_of(const FileParts& parts) {
  const auto job = parse_job(job_of(parts), "job.yaml");
  return job.ok() ? "no error" : to_text(job.error());
}

TEST(Framework, IsFoundByName) {
  EXPECT_THAT(framework_names(),
              testing::ElementsAre("dovetail", "openrlhf", "verl", "nemo-rl", "areal", "roll", "slime"));
  const auto found = [](const std::string& name, const std::string& training = "") {
    return find_framework(Software{.training = training, .efficiency = {}, .profile = {}, .framework = name});
  };
  EXPECT_EQ(found("dovetail")->name, "dovetail");
  EXPECT_EQ(found(""), nullptr);
  EXPECT_EQ(found("verl")->training, "verl-fsdp") << "the first backend";
  EXPECT_EQ(found("verl", "megatron-policy")->training, "megatron-policy");
  EXPECT_EQ(sound_job().software.framework, "dovetail");
  EXPECT_THAT(error_of({.software = "{framework: dovetial}"}),
              StartsWith("job.yaml:3:23: unknown framework `dovetial`; did you mean 'dovetail'"));
}

TEST(Framework, ReaderGivesTheDefault) {
  const base::Document named = base::parse_yaml(job_of({}), "job.yaml").value();
  const base::Document unnamed = base::parse_yaml(job_of({.software = "{}"}), "job.yaml").value();
  const Job of_reader = read_job(unnamed.root(), "job.yaml", "dovetail").value();
  EXPECT_EQ(of_reader.software.framework, "dovetail");
  EXPECT_EQ(job_hash(of_reader), job_hash(read_job(named.root(), "job.yaml").value()));
  EXPECT_NE(job_hash(of_reader), job_hash(read_job(unnamed.root(), "job.yaml").value()));
  const base::Document outside =
      base::parse_yaml(job_of({.software = "{}", .model = "mixtral-8x7b"}), "job.yaml").value();
  EXPECT_TRUE(read_job(outside.root(), "job.yaml").ok());
  EXPECT_FALSE(read_job(outside.root(), "job.yaml", "dovetail").ok());
}

TEST(Framework, RejectsUnsupportedJobsAtTheirKey) {
  EXPECT_EQ(error_of({.software = "{framework: dovetail, training: megatron}"}),
            "job.yaml:3:43: `training` is `megatron`, and dovetail needs its own memory conventions; accepted: "
            "dovetail, or no `training`");
  EXPECT_EQ(error_of({.software = "{framework: dovetail, training: dovetail}"}), "no error");
  EXPECT_EQ(error_of({.software = "{framework: dovetail, prefetch: true}"}),
            "job.yaml:3:43: dovetail does not support prefetching; accepted: `prefetch: false`");
  EXPECT_EQ(error_of({.devices = "2"}), "no error");
  EXPECT_THAT(error_of({.workload = "prompts: 8, prompt_length: 4, response_length: 4, steps_off_policy: 1"}),
              StartsWith("job.yaml:5:80: `steps_off_policy` is 1, which dovetail does not support; accepted: 0"));
  EXPECT_THAT(error_of({.workload = "prompts: 8, prompt_length: 4, response_length: 4, packing: false"}),
              StartsWith("job.yaml:5:71: dovetail packs sequences and cannot pad rows; accepted: `packing: true`"));
}

TEST(Framework, RejectsUnsupportedModelsAtTheirKey) {
  const std::pair<std::string, std::string> rejected[] = {
      {"mixtral-8x7b", "experts"},
      {"deepseek-v3", "experts"},
      {"{model: llama-2-7b, lora: 8}", "adapters"},
      {"opt-1.3b", "layer normalization"},
  };
  for (const auto& [model, what] : rejected)
    EXPECT_THAT(error_of({.model = model}),
                StartsWith("job.yaml:4:17: the model of `actor` has " + what + ", which dovetail does not support"))
        << model;
  EXPECT_EQ(error_of({.model = "qwen3-0.6b"}), "no error");
}

TEST(Framework, RejectsUnsupportedFixedSettingsAtTheirKey) {
  const auto fixed = [](const std::string& task) { return FileParts{.more = "fixed:\n  " + task + "\n"}; };
  EXPECT_EQ(error_of(fixed("actor_train: {layout: {zero: 2}}")),
            "job.yaml:8:32: actor_train: `zero` is 2, which dovetail does not support; accepted: 0, 1");
  EXPECT_EQ(error_of(fixed("reference_infer: {layout: {zero: 1}}")),
            "job.yaml:8:36: reference_infer: `zero` is 1, which dovetail does not support; accepted: 0");
  EXPECT_EQ(error_of(fixed("actor_train: {layout: {recompute: selective}}")),
            "job.yaml:8:37: actor_train: `recompute` is the string `selective`, which dovetail does not support; "
            "accepted: none, full");
  EXPECT_EQ(
      error_of(fixed("actor_train: {offload: [optimizer]}")),
      "job.yaml:8:26: actor_train: `offload` is a list, which dovetail does not support; accepted: no offloading");
  EXPECT_THAT(error_of(fixed("actor_generate: {engine: {cuda_graphs: true}}")),
              HasSubstr("`cuda_graphs` is true, which dovetail does not support; accepted: false"));
  EXPECT_THAT(
      error_of(fixed("fusion: {intra_stage: true}")),
      StartsWith("job.yaml:8:11: `fusion`: dovetail fuses two trainings only on several devices, and the job has "
                 "one"));
  EXPECT_THAT(error_of(fixed("fusion: {inter_stage: true}")),
              StartsWith("job.yaml:8:11: `fusion`: dovetail does not fuse generation with inference"));
  EXPECT_EQ(error_of(fixed("actor_train: {layout: {recompute: full}, micro_batch: {count: 2}, offload: []}")),
            "no error");
  EXPECT_EQ(error_of(fixed("actor_generate: {engine: {max_num_seqs: 16, chunked_prefill: false}}")), "no error");
}

const std::string generate =
    "  - {task: actor_generate, devices: 0, layout: {}, engine: {cuda_graphs: false, own_weights: false}}\n";
const std::string rest =
    "  - {task: reference_infer, devices: 0, layout: {}, micro_batch: {tokens: 64}}\n"
    "  - {task: critic_infer, devices: 0, layout: {}, micro_batch: {sequences: 4}}\n"
    "  - {task: critic_train, devices: 0, layout: {recompute: full}, micro_batch: {count: 2}}\n";
const std::string train = "  - {task: actor_train, devices: 0, layout: {}, micro_batch: {tokens: 64}}\n";

std::string error_of_plan(const std::string& tasks, const std::string& devices = "1") {
  const Job job = parse_job(job_of({.devices = devices}), "job.yaml").value();
  const auto plan = parse_plan("format: dovetail/plan@1\ntasks:\n" + tasks, "plan.yaml", job);
  return plan.ok() ? "no error" : to_text(plan.error());
}

TEST(Framework, RejectsUnsupportedPlansAtTheirKey) {
  EXPECT_EQ(error_of_plan(generate + train + rest), "no error");
  EXPECT_THAT(error_of_plan("  - {task: actor_generate, devices: 0, layout: {}}\n" + train + rest),
              StartsWith("plan.yaml:3:5: actor_generate: `cuda_graphs` is at its default, which dovetail does not "
                         "support; accepted: false"));
  EXPECT_THAT(error_of_plan(generate + rest +
                            "  - {task: actor_train, devices: 0, layout: {recompute: selective}, micro_batch: "
                            "{tokens: 64}}\n"),
              StartsWith("plan.yaml:7:57: actor_train: `recompute` is the string `selective`"));
  EXPECT_THAT(
      error_of_plan(generate + train + rest + "fusion: {intra_stage: {tasks: [actor_train, critic_train]}}\n"),
      HasSubstr("plan.yaml:8:31: actor_train and critic_train cannot be fused: dovetail fuses two trainings only on "
                "several devices"));
  EXPECT_THAT(error_of_plan(generate + train + rest + "fusion: {inter_stage: {threshold: 0.2}}\n"),
              StartsWith("plan.yaml:8:35: `inter_stage`: dovetail does not fuse generation with inference"));
}

TEST(Framework, AllowsPipelineStagesOnlyInTraining) {
  const auto task = [](const std::string& name, const std::string& layout, const std::string& more,
                       const std::string& devices = "0-3") {
    return "  - {task: " + name + ", devices: \"" + devices + "\", layout: " + layout + ", " + more + "}\n";
  };
  const std::string engine = "engine: {cuda_graphs: false, own_weights: false}";
  const std::string batches = "micro_batch: {tokens: 64}";
  const std::string sampled = task("actor_generate", "{dp: 4}", engine);
  const std::string scored = task("reference_infer", "{dp: 4}", batches) + task("critic_infer", "{dp: 4}", batches);
  const std::string trained =
      task("actor_train", "{dp: 2, pp: 2, zero: 1}", batches) + task("critic_train", "{pp: 2, dp: 2}", batches);
  EXPECT_EQ(error_of_plan(sampled + scored + trained, "4"), "no error");
  EXPECT_EQ(
      error_of_plan(sampled + scored + trained + "fusion: {intra_stage: {tasks: [actor_train, critic_train]}}\n", "4"),
      "no error");
  EXPECT_THAT(error_of_plan(task("actor_generate", "{dp: 2, pp: 2}", engine) + scored + trained, "4"),
              StartsWith("plan.yaml:3:64: actor_generate: `pp` is 2, which dovetail does not support; accepted: 1"));
  EXPECT_THAT(error_of_plan(sampled + scored + task("actor_train", "{dp: 2}", batches, "0-1") +
                                task("critic_train", "{dp: 2}", batches, "2-3"),
                            "4"),
              StartsWith("plan.yaml:6:34: actor_train: `devices` is the string `0-1`, which dovetail does not support; "
                         "accepted: all devices of the cluster"));
}

TaskPlan random_plan() {
  TaskPlan planned;
  planned.mesh = {0, *rc::gen::inRange(1, 9)};
  for (int llm::Layout::* member :
       {&llm::Layout::data, &llm::Layout::tensor, &llm::Layout::pipeline, &llm::Layout::context, &llm::Layout::expert})
    planned.layout.*member = *rc::gen::element(1, 2, 4);
  planned.layout.zero = *rc::gen::inRange(0, 4);
  planned.layout.recomputation =
      *rc::gen::element(llm::Recomputation::none, llm::Recomputation::selective, llm::Recomputation::full);
  planned.engine.own_weights = *rc::gen::arbitrary<bool>();
  planned.engine.longest_first = *rc::gen::arbitrary<bool>();
  planned.engine.max_num_seqs = *rc::gen::inRange(1, 500);
  planned.offload.weights = *rc::gen::arbitrary<bool>();
  planned.offload.optimizer_on_host = *rc::gen::arbitrary<bool>();
  return planned;
}

RC_GTEST_PROP(FrameworkProperty, ConformGivesASupportedPlanAndKeepsSupportedSettings, ()) {
  const Job job = sound_job();
  const std::size_t task = *rc::gen::inRange<std::size_t>(0, job.workflow.tasks.size());
  TaskPlan planned = random_plan();
  const TaskPlan before = planned;
  const bool ran = runs(job, task, planned);
  conform(job, task, planned);
  RC_ASSERT(runs(job, task, planned));
  if (ran) RC_ASSERT(planned == before);
  RC_ASSERT(planned.engine.max_num_seqs == before.engine.max_num_seqs);
  RC_ASSERT(planned.mesh == (cluster::Mesh{0, 1}));
  if (job.workflow.tasks[task].kind != workflow::TaskKind::generate) RC_ASSERT(planned.engine == before.engine);
}

RC_GTEST_PROP(FrameworkProperty, EveryPlanRunsWithoutAFramework, ()) {
  Job job = sound_job();
  job.software.framework.clear();
  TaskPlan planned = random_plan();
  const TaskPlan before = planned;
  RC_ASSERT(runs(job, 0, planned));
  conform(job, 0, planned);
  RC_ASSERT(planned == before);
}

TEST(Framework, RejectsUnsupportedFusion) {
  Job job = sound_job();
  EXPECT_FALSE(train_pair(job).has_value());
  EXPECT_FALSE(generation_stage(job, std::vector<TaskPlan>(job.workflow.tasks.size())).has_value());
  job.software.framework.clear();
  EXPECT_TRUE(train_pair(job).has_value());
  EXPECT_TRUE(generation_stage(job, std::vector<TaskPlan>(job.workflow.tasks.size())).has_value());
}

}  // namespace
}  // namespace dovetail::plan
