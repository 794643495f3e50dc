// A job's settings of data types and logits, and their memory and time, checked against sums by hand.
#include "predict/closed_form/software.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "cost/training.h"
#include "cost/training_memory.h"
#include "llm/bundled_models.h"
#include "plan/framework.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/training_phase.h"
#include "predict/closed_form/working_memory.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

constexpr std::int64_t parameters = 596'049'920;  // of Qwen3-0.6B, whose head is its embedding

plan::Software software(const std::string& training) {
  plan::Software settings;
  settings.framework = plan::any_framework;
  settings.training = training;
  return settings;
}

cost::MemoryParts held(const plan::Software& settings) {
  const llm::Transformer model = llm::find_bundled_model("qwen3-0.6b").value();
  return cost::static_memory(model, {}, conventions_of(settings).value(), 0);
}

TEST(SoftwareTypes, WeightsMomentsAndGradientsInSixteenBitsTakeHalf) {
  plan::Software settings = software("verl-fsdp");
  EXPECT_EQ(held(settings).weights, 4 * parameters);
  EXPECT_EQ(held(settings).optimizer, 8 * parameters);
  EXPECT_EQ(conventions_of(settings)->gradient_bytes, 4);
  settings.weight_type = settings.gradient_type = settings.moment_type = plan::StateType::bf16;
  EXPECT_EQ(held(settings).weights, 2 * parameters);
  EXPECT_EQ(held(settings).optimizer, 4 * parameters);
  EXPECT_EQ(conventions_of(settings)->gradient_bytes, 2);
}

TEST(SoftwareTypes, MegatronKeepsGradientsMomentsAndMasterWeights) {
  plan::Software settings = software("megatron");
  const cost::MemoryParts usual = held(settings);
  EXPECT_EQ(usual.gradients, 4 * (usual.weights / 2));
  EXPECT_EQ(usual.optimizer, 12 * (usual.weights / 2));
  settings.gradient_type = plan::StateType::bf16;
  EXPECT_EQ(held(settings).gradients, usual.weights);
  settings.moment_type = plan::StateType::bf16;
  EXPECT_EQ(held(settings).optimizer, 8 * (usual.weights / 2)) << "moments of 2 and 2, master weights of 4";
  settings.master_type = plan::MasterType::remainder;
  EXPECT_EQ(held(settings).optimizer, 6 * (usual.weights / 2));
  settings.master_type = plan::MasterType::none;
  EXPECT_EQ(held(settings).optimizer, 4 * (usual.weights / 2));
  EXPECT_EQ(held(settings).weights, usual.weights);
}

TEST(SoftwareTypes, UsualTypesChangeNothing) {
  for (const std::string_view name : cost::conventions_names()) {
    plan::Software settings = software(std::string(name));
    const cost::Conventions usual = cost::find_conventions(name).value();
    const cost::Conventions same = conventions_of(settings).value();
    EXPECT_EQ(same.step_bytes, 30) << name;
    EXPECT_EQ(same.reduced_bytes, 4) << name;
    EXPECT_EQ(same.weight_bytes, usual.weight_bytes) << name;
    EXPECT_EQ(same.gradient_bytes, usual.gradient_bytes) << name;
    EXPECT_EQ(same.moment_bytes, usual.moment_bytes) << name;
    EXPECT_EQ(same.master_bytes, usual.master_bytes) << name;
    EXPECT_EQ(same.logit_tokens, 0) << name;
  }
}

/// Returns the seconds of an iteration's trainings.
cost::TrainingSeconds trained(const plan::Software& settings) {
  plan::Job job = test::grpo_job();
  job.software = settings;
  plan::Plan plan = test::co_located(job);
  const std::size_t task = workflow::find_task(job.workflow, "actor_train")->index();
  plan.tasks[task].layout.zero = 1;
  const Scenario scenario = scenario_of(job, software_of(job).value());
  return closed_training_seconds(scenario, {task, plan.tasks[task]});
}

TEST(SoftwareTypes, AStepMovesFewerBytes) {
  const cost::TrainingSeconds usual = trained(software("megatron"));
  plan::Software settings = software("megatron");
  // 30 bytes per parameter: 4 for the gradient, 24 for reading and writing moments and master weight, 2 for the weight.
  settings.moment_type = plan::StateType::bf16;
  EXPECT_NEAR(trained(settings).optimizer / usual.optimizer, 22.0 / 30, 1e-9);
  settings.master_type = plan::MasterType::remainder;
  EXPECT_NEAR(trained(settings).optimizer / usual.optimizer, 18.0 / 30, 1e-9);
  EXPECT_EQ(trained(settings).gradients, usual.gradients);
  settings.gradient_type = plan::StateType::bf16;
  EXPECT_NEAR(trained(settings).optimizer / usual.optimizer, 16.0 / 30, 1e-9);
  EXPECT_LT(trained(settings).gradients, usual.gradients);
  EXPECT_GT(trained(settings).gradients, usual.gradients / 2) << "weights are gathered in their own type";
  EXPECT_EQ(trained(settings).pipeline.seconds, usual.pipeline.seconds);
}

TEST(SoftwareTypes, TemporaryGradientsAreReducedAsBefore) {
  plan::Software settings = software("verl-fsdp");
  settings.gradient_type = plan::StateType::bf16;
  EXPECT_EQ(conventions_of(settings)->reduced_bytes, 4);
}

TEST(SoftwareLogits, LogitsOfLimitedTokensAreNeverComplete) {
  const llm::Transformer model = llm::find_bundled_model("qwen3-0.6b").value();
  plan::Software settings = software("verl-fsdp");
  cost::TrainingShape shape;
  shape.sequence_length = 8192;
  const auto bytes = [&] { return cost::loss_bytes(model, {}, shape, conventions_of(settings).value()); };
  const std::int64_t whole = bytes();
  const std::int64_t vocabulary = model.vocabulary;
  settings.logit_tokens = 512;
  // 8 bytes per entry; 512 tokens instead of 8192, and the gradient of the head's weight in bf16.
  EXPECT_EQ(whole - bytes(), 8 * vocabulary * (8192 - 512) - 2 * vocabulary * 1024);
  shape.sequence_length = 100;
  const std::int64_t few = bytes();
  settings.logit_tokens = 100;
  EXPECT_EQ(bytes(), few) << "there are only 100 tokens";
}

TEST(SoftwareLogits, LogitsOfLimitedEntriesKeepTheirGradients) {
  const llm::Transformer model = llm::find_bundled_model("qwen3-0.6b").value();
  plan::Software settings = software("megatron-policy");
  cost::TrainingShape shape;
  shape.sequence_length = 8192;
  llm::Layout layout;
  layout.tensor = 2;
  const auto bytes = [&] { return cost::loss_bytes(model, layout, shape, conventions_of(settings).value()); };
  const std::int64_t whole = bytes();
  const std::int64_t rows = cost::padded_vocabulary(model, layout, conventions_of(settings).value()) / 2;
  settings.logit_entries = 9504;
  EXPECT_EQ(whole - bytes(), 18 * rows * 8192 - 2 * 9504 * 8192 - 2 * rows * 1024);
  settings.logit_entries = plan::max_logit_entries;
  EXPECT_EQ(whole - bytes(), 18 * rows * 8192 - 2 * rows * 8192 - 2 * rows * 1024)
      << "there are fewer entries than the limit";
}

TEST(SoftwareLogits, ALossWithoutEntropyHasFewerLogits) {
  for (const auto& [training, usual, computed, none] : {std::tuple{"verl-fsdp", 8, 8, 4},
                                                        {"megatron-policy", 18, 18, 8},
                                                        {"roll-megatron", 8, 18, 8},
                                                        {"deepspeed-zero", 18, 18, 8}}) {
    plan::Software settings = software(training);
    EXPECT_EQ(conventions_of(settings)->logit_bytes, usual) << training;
    settings.loss_entropy = plan::LossEntropy::computed;
    EXPECT_EQ(conventions_of(settings)->logit_bytes, computed) << training;
    settings.loss_entropy = plan::LossEntropy::none;
    EXPECT_EQ(conventions_of(settings)->logit_bytes, none) << training;
  }
}

TEST(SoftwareLogits, ALossInPartsDependsOnTheTrainer) {
  struct Row {
    std::string_view training;
    double whole, in_parts, of_cut_parts, of_passes;
  };
  for (const Row& row : {Row{"fsdp2", 14, 6, 10, 2}, Row{"megatron-policy", 18, 12, 16, 6}}) {
    plan::Software settings = software(std::string(row.training));
    settings.framework = "any";
    EXPECT_EQ(conventions_of(settings)->logit_bytes, row.whole);
    settings.framework = "areal";
    EXPECT_EQ(conventions_of(settings)->logit_bytes, row.in_parts);
    EXPECT_EQ(conventions_of(settings)->parallel_logit_bytes, row.of_cut_parts);
    EXPECT_EQ(conventions_of(settings)->inference_logit_bytes, row.of_passes);
  }
  plan::Software settings = software("megatron-policy");
  settings.framework = "areal";
  settings.loss_entropy = plan::LossEntropy::none;
  EXPECT_EQ(conventions_of(settings)->logit_bytes, 8) << "the job's setting takes precedence";
}

TEST(SoftwareLogits, UnknownLossesAreRejected) {
  for (const std::string_view name : cost::conventions_names()) {
    if (cost::find_conventions(name)->plain_logit_bytes > 0) continue;
    plan::Software settings = software(std::string(name));
    settings.loss_entropy = plan::LossEntropy::none;
    const auto rejected = conventions_of(settings);
    ASSERT_FALSE(rejected.ok()) << name;
    EXPECT_THAT(rejected.error().message,
                testing::HasSubstr("accepted: another `training` (megatron-policy, roll-megatron, "));
  }
}

TEST(SoftwareLogits, PassesHoldLogitsInParts) {
  plan::Job job = test::grpo_job();
  job.software = software("verl-fsdp");
  const auto logits = [&](const char* name) {
    const plan::Plan plan = test::co_located(job);
    const Scenario scenario = scenario_of(job, software_of(job).value());
    const std::size_t task = workflow::find_task(job.workflow, name)->index();
    for (const MemoryPart& part : working_memory(scenario, task, plan.tasks[task]))
      if (part.kind == MemoryKind::logits) return part.bytes;
    return std::int64_t{0};
  };
  EXPECT_GT(logits("actor_infer"), 4 * 512 * job.models[0].vocabulary);
  job.software.logit_tokens = 512;
  EXPECT_EQ(logits("actor_infer"), 4 * 512 * job.models[0].vocabulary);
  EXPECT_EQ(logits("reference_infer"), 4 * 512 * job.models[0].vocabulary);
  job.software.logit_tokens = 0;
  job.software.logit_entries = 9504;
  EXPECT_EQ(logits("actor_infer"), 0);
}

TEST(SoftwareLogits, LogitsAreRecomputedInTheBackward) {
  const plan::Software whole = software("verl-fsdp");
  plan::Software parts = whole;
  parts.logit_tokens = 512;
  plan::Job job = test::grpo_job();
  const auto passes = [&](const plan::Software& settings, llm::Recomputation recomputation) {
    job.software = settings;
    plan::Plan plan = test::co_located(job);
    const std::size_t task = workflow::find_task(job.workflow, "actor_train")->index();
    plan.tasks[task].layout.recomputation = recomputation;
    return training_passes(scenario_of(job, software_of(job).value()), {task, plan.tasks[task]});
  };
  const cost::TrainingPasses before = passes(whole, llm::Recomputation::none);
  const cost::TrainingPasses after = passes(parts, llm::Recomputation::none);
  EXPECT_EQ(after.chunks.back().forward.compute, before.chunks.back().forward.compute);
  const llm::Transformer& model = job.models[0];
  const double tensor = test::co_located(job).tasks.back().layout.tensor;
  const double head = 2.0 * static_cast<double>(model.hidden * model.vocabulary) * before.micro_batch.count / tensor;
  const Scenario scenario = scenario_of(job, software_of(job).value());
  const double rate = scenario.software.efficiency.matrix_products * job.cluster.groups[0].gpu.bf16;
  EXPECT_NEAR(after.chunks.back().backward.compute - before.chunks.back().backward.compute, head / rate,
              1e-6 * head / rate);
  EXPECT_EQ(passes(parts, llm::Recomputation::full).chunks.back().backward.compute,
            passes(whole, llm::Recomputation::full).chunks.back().backward.compute)
      << "already included";
}

TEST(SoftwareGroups, AGroupHoldsAllAndTheOthersAreCopies) {
  const llm::Transformer model = llm::find_bundled_model("qwen3-0.6b").value();
  plan::Software settings = software("verl-fsdp");
  const auto weights = [&](int data) {
    return cost::static_memory(model, {.data = data, .zero = 3, .stage_layers = {}}, conventions_of(settings).value(),
                               0)
        .weights;
  };
  EXPECT_EQ(weights(16), 4 * parameters / 16);
  settings.shard_group = 8;
  EXPECT_EQ(weights(16), 4 * parameters / 8);
  EXPECT_EQ(weights(8), 4 * parameters / 8);
  EXPECT_EQ(weights(4), 4 * parameters / 4) << "there are only four ranks";
  EXPECT_EQ(weights(12), 4 * 49'670'827) << "no groups of eight";
}

/// Returns the bytes of generation under an engine, of one kind or of all.
std::int64_t generation_bytes(plan::EngineKind engine, std::optional<MemoryKind> kind) {
  plan::Job job = test::grpo_job();
  job.software.engine = engine;
  plan::Plan plan = test::co_located(job);
  const std::size_t task = workflow::find_task(job.workflow, "actor_generate")->index();
  plan.tasks[task].engine.memory_utilization = 0.5;
  const Scenario scenario = scenario_of(job, software_of(job).value());
  std::int64_t bytes = 0;
  for (const MemoryPart& part : working_memory(scenario, task, plan.tasks[task]))
    if (!kind || part.kind == *kind) bytes += part.bytes;
  return bytes;
}

TEST(SoftwareEngine, ItsShareOfMemoryHoldsItsParts) {
  using enum plan::EngineKind;
  const double memory = 80e9 * 1.073741824;  // 80 GiB
  const std::int64_t weights = 2 * parameters;
  const auto cache_bytes = [](plan::EngineKind engine) {
    return generation_bytes(engine, MemoryKind::keys_and_values);
  };
  const auto own = [](plan::EngineKind engine) { return generation_bytes(engine, MemoryKind::engine_buffers); };
  const auto device = static_cast<double>(test::grpo_job().cluster.groups[0].gpu.memory);
  ASSERT_NEAR(device, memory, 0.1 * memory);
  EXPECT_NEAR(static_cast<double>(cache_bytes(vllm)), 0.5 * device - static_cast<double>(weights) - 4e9, 2);
  EXPECT_NEAR(static_cast<double>(cache_bytes(sglang)), 0.5 * device - static_cast<double>(weights), 2);
  EXPECT_NEAR(static_cast<double>(cache_bytes(trtllm)), 0.5 * (device - static_cast<double>(weights) - 4e9), 2);
  EXPECT_NEAR(static_cast<double>(own(vllm)), 4e9, 2);
  EXPECT_EQ(own(sglang), 4'000'000'000);
  EXPECT_EQ(own(trtllm), 4'000'000'000);
  EXPECT_NEAR(static_cast<double>(generation_bytes(sglang, std::nullopt) - generation_bytes(vllm, std::nullopt)), 4e9,
              4);
}

EfficiencyChoice choice_of(const std::string& cluster, const std::string& software = "") {
  return software_of(test::ppo_job(cluster, software.empty() ? "" : "software: {" + software + "}\n")).value().choice;
}

TEST(ChooseEfficiency, GivesTheReason) {
  const std::string node = "nodes: 1, gpus_per_node: 8, gpu: ";
  EXPECT_EQ(choice_of(node + "H100").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(node + "H100").efficiency, "h100/megatron-vllm");
  EXPECT_EQ(choice_of(node + "H100", "training: nemo-rl-megatron").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(node + "H100", "training: verl-fsdp").reason, EfficiencyReason::gpu_fitted);
  const std::string cpu =
      "nodes: 1, gpus_per_node: 1, gpu: {name: CPU, memory: 900GiB, bandwidth: 40GB/s, bf16: 130GFLOP/s}";
  EXPECT_EQ(choice_of(cpu, "framework: dovetail").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(cpu, "framework: dovetail").efficiency, "cpu/dovetail");
  EXPECT_EQ(choice_of("nodes: 1, gpus_per_node: 1, gpu: H100", "framework: dovetail").reason,
            EfficiencyReason::training_fitted);
  EXPECT_EQ(choice_of(cpu).reason, EfficiencyReason::custom_gpu);
  EXPECT_EQ(choice_of(node + "H200").reason, EfficiencyReason::unmeasured);
  EXPECT_EQ(choice_of(node + "H200").efficiency, "assumed");
  EXPECT_EQ(choice_of(node + "H200", "efficiency: h100/megatron-vllm").reason, EfficiencyReason::named);
  const std::string own = "{name: mine, memory: 60GiB, bandwidth: 3TB/s, bf16: 900TFLOP/s, link: 450GB/s}";
  EXPECT_EQ(choice_of(node + own).reason, EfficiencyReason::custom_gpu);
  EXPECT_EQ(choice_of(node + own).gpus, std::vector<std::string>{"mine"});
  EXPECT_EQ(
      choice_of("groups: [{nodes: 1, gpus_per_node: 8, gpu: H100}, {nodes: 1, gpus_per_node: 8, gpu: A100}]").reason,
      EfficiencyReason::mixed_gpus);
}

}  // namespace
}  // namespace dovetail::predict
