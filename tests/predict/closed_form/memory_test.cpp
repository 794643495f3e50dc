// Memory of the tasks of a plan, and margins.
#include "predict/closed_form/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cost/training_memory.h"
#include "llm/bundled_models.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/weight_copies.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

constexpr std::int64_t parameters = 596'049'920;  // of Qwen3-0.6B

std::vector<TaskMemory> memory_of(const plan::Job& job, const plan::Plan& plan) {
  return task_memory(scenario_of(job, software_of(job).value()), plan);
}

const TaskMemory& memory_in(const std::vector<TaskMemory>& memory, const plan::Job& job, std::string_view task) {
  return memory[workflow::find_task(job.workflow, task)->index()];
}

std::int64_t bytes_in(const plan::Job& job, const TaskMemory& memory, std::string_view part) {
  std::int64_t bytes = 0;
  for (const MemoryPart& here : memory.parts)
    if (name_of(here, job.workflow) == part) bytes += here.bytes;
  return bytes;
}

TEST(Memory, ATaskSharesDevicesWithResidentDataOfOthers) {
  const plan::Job job = test::grpo_job();
  const auto memory = memory_of(job, test::co_located(job));
  const TaskMemory& inference = memory_in(memory, job, "reference_infer");
  EXPECT_EQ(bytes_in(job, inference, "reference's weights"), 2 * parameters);
  EXPECT_EQ(bytes_in(job, inference, "actor's weights in the idle engine"), 2 * parameters);
  // The trained copy, which the actor's own inference uses too, with gradients and optimizer in fp32 (no ZeRO).
  const cost::MemoryParts kept =
      cost::static_memory(job.models[0], test::co_located(job).tasks.back().layout, software_of(job)->conventions, 0);
  EXPECT_EQ(bytes_in(job, inference, "actor's weights"), kept.weights);
  EXPECT_EQ(bytes_in(job, inference, "actor's gradients"), kept.gradients);
  EXPECT_EQ(bytes_in(job, inference, "actor's optimizer"), kept.optimizer);
  const TaskMemory& own = memory_in(memory, job, "actor_infer");
  EXPECT_EQ(bytes_in(job, own, "actor's weights"), kept.weights);
  EXPECT_EQ(own.needed(), inference.needed());
}

TEST(Memory, PretrainingTokensAddMicroBatchesInFlight) {
  plan::Job job = test::grpo_job();
  plan::Plan plan = test::co_located(job);
  const std::size_t train = workflow::find_task(job.workflow, "actor_train")->index();
  plan.tasks[train].layout.data = 2;
  plan.tasks[train].layout.pipeline = 4;
  plan.tasks[train].micro_batching = {.sequences = 64};  // all of a mini-batch in one micro-batch
  const std::int64_t without = bytes_in(job, memory_of(job, plan)[train], "activations");
  job.workflow.tasks[train].extra_tokens = 3 * 640 * 256;
  const std::int64_t with = bytes_in(job, memory_of(job, plan)[train], "activations");
  EXPECT_GT(with, without + without / 2) << "four micro-batches on the first stage";
}

TEST(Memory, ASleepingEngineThatCopiesIsOnTheHost) {
  plan::Job job = test::grpo_job();
  plan::Plan plan = test::co_located(job);
  plan.tasks[workflow::find_task(job.workflow, "actor_generate")->index()].offload.weights = true;
  const auto discarded = memory_of(job, plan);
  job.software.engine_sleep = plan::EngineSleep::copies;
  const auto copied = memory_of(job, plan);
  const auto host = [&](const std::vector<TaskMemory>& memory, std::string_view task) {
    return memory_in(memory, job, task).host;
  };
  EXPECT_EQ(host(copied, "actor_train") - host(discarded, "actor_train"), 8 * 2 * parameters) << "eight devices";
  EXPECT_EQ(host(copied, "actor_generate"), host(discarded, "actor_generate")) << "the engine is awake";
  EXPECT_EQ(memory_in(copied, job, "actor_train").needed(), memory_in(discarded, job, "actor_train").needed());
}

TEST(Memory, AShareOfTheOptimizerIsOnTheHost) {
  plan::Job job = test::grpo_job();
  const std::string stepped = R"(, "offload": ["optimizer_on_host"])";
  const auto kept = memory_of(job, test::co_located(job));
  job.software.optimizer_host_share = 0.25;
  const auto shared = memory_of(job, test::co_located(job, stepped));
  for (const std::string_view task : {"actor_train", "actor_infer"}) {
    const std::int64_t all = bytes_in(job, memory_in(kept, job, task), "actor's optimizer");
    EXPECT_NEAR(static_cast<double>(bytes_in(job, memory_in(shared, job, task), "actor's optimizer")),
                0.75 * static_cast<double>(all), 1)
        << task;
    EXPECT_NEAR(static_cast<double>(memory_in(shared, job, task).host), 8 * 0.25 * static_cast<double>(all), 8) << task;
  }
  // The rest may be offloaded.
  const auto away = memory_of(job, test::co_located(job, R"(, "offload": ["optimizer", "optimizer_on_host"])"));
  EXPECT_EQ(bytes_in(job, memory_in(away, job, "actor_infer"), "actor's optimizer"), 0);
  EXPECT_GT(bytes_in(job, memory_in(away, job, "actor_train"), "actor's optimizer"), 0);
}

TEST(Memory, WeightsInTransitToAnEngineHaveABucket) {
  plan::Job job = test::grpo_job();
  const auto in_transit = [&] { return bytes_in_transit(scenario_of(job, {}), 0, true); };
  const std::int64_t tensor = in_transit();
  EXPECT_EQ(tensor, 2 * job.models[0].vocabulary * job.models[0].hidden);
  job.software.framework = "verl";
  EXPECT_EQ(in_transit(), tensor + (std::int64_t{2} << 30)) << "verl's bucket";
  job.software.sync_bucket = 1 << 20;
  EXPECT_EQ(in_transit(), tensor + (1 << 20));
}

TEST(Memory, OffloadedDataGoesToTheHost) {
  const plan::Job job = test::grpo_job();
  const auto kept = memory_of(job, test::co_located(job));
  const auto away = memory_of(
      job, test::co_located(job, R"(, "offload": ["gradients", "optimizer"])", R"(, "offload": ["weights"])"));
  const TaskMemory& before = memory_in(kept, job, "actor_generate");
  const TaskMemory& after = memory_in(away, job, "actor_generate");
  EXPECT_EQ(bytes_in(job, after, "actor's optimizer"), 0);
  EXPECT_EQ(bytes_in(job, after, "reference's weights"), 0);
  EXPECT_EQ(before.host, 0);
  // Each of the node's eight devices offloads what it no longer holds.
  EXPECT_EQ(after.host, 8 * (before.needed() - after.needed()));
  // While the actor trains, all of its data is on the device. The reference stays offloaded.
  const TaskMemory& training = memory_in(away, job, "actor_train");
  EXPECT_GT(bytes_in(job, training, "actor's optimizer"), 0);
  EXPECT_EQ(training.host, 8 * 2 * parameters);
}

TEST(Memory, AnEngineTakesItsShareOfTheDevice) {
  const plan::Job job = test::grpo_job();
  const auto memory = memory_of(job, test::separated(job));
  const TaskMemory& generation = memory_in(memory, job, "actor_generate");
  const auto share = static_cast<std::int64_t>(0.9 * static_cast<double>(job.cluster.groups[0].gpu.memory));
  EXPECT_EQ(generation.needed(), share);  // no other data is on its devices
  EXPECT_TRUE(generation.fits());
  EXPECT_LT(generation.device, 4);
}

TEST(Memory, AnEngineNeedsMemoryForOneSequence) {
  const plan::Job job = test::grpo_job();
  plan::Plan plan = test::separated(job);
  plan.tasks[0].engine.memory_utilization = 0.01;
  const TaskMemory generation = memory_of(job, plan)[0];
  EXPECT_EQ(bytes_in(job, generation, "keys and values"), 28 * 2 * 8 * 128 * 2 * 640);
  EXPECT_GE(generation.needed(), 2 * parameters + bytes_in(job, generation, "keys and values"));
}

TEST(Memory, AnEngineWhoseShareIsTooSmallForOneSequenceDoesNotFit) {
  const plan::Job job = test::grpo_job();
  plan::Plan plan = test::separated(job);
  const auto memory = static_cast<double>(job.cluster.groups[0].gpu.memory);
  const auto least = static_cast<double>(bytes_in(job, memory_of(job, plan)[0], "actor's weights in the engine") +
                                         28 * 2 * 8 * 128 * 2 * 640);
  plan.tasks[0].engine.memory_utilization = 1.001 * least / memory;
  EXPECT_TRUE(memory_of(job, plan)[0].fits());
  plan.tasks[0].engine.memory_utilization = 0.5 * least / memory;
  const TaskMemory generation = memory_of(job, plan)[0];
  EXPECT_FALSE(generation.fits());
  EXPECT_NEAR(static_cast<double>(bytes_in(job, generation, "denied to the engine by memory_utilization")),
              2 * memory - least, 10);
}

TEST(Memory, AnEngineShardsExpertsOverTensorParallelRanks) {
  const cost::ModelFacts facts = cost::facts_of(llm::find_bundled_model("mixtral-8x7b").value());
  llm::Layout layout;
  layout.tensor = 8;
  const double all = 2 * static_cast<double>(facts.parameters.all);
  EXPECT_NEAR(static_cast<double>(engine_weight_bytes(facts, layout)), all / 8, 1);
  // With expert parallelism, each rank has entire experts.
  layout.expert = 8;
  EXPECT_NEAR(static_cast<double>(engine_weight_bytes(facts, layout)), all / 8, 1);
}

TEST(Memory, NewWeightsArriveWhileTheTrainedOnesAreBack) {
  plan::Job job = test::grpo_job();
  for (llm::Transformer& model : job.models) model = llm::find_bundled_model("llama-3-8b").value();
  plan::Plan plan =
      test::co_located(job, R"(, "offload": ["weights", "gradients", "optimizer"])", R"(, "offload": ["weights"])");
  const auto share = [&] {
    return static_cast<std::int64_t>(plan.tasks[0].engine.memory_utilization *
                                     static_cast<double>(job.cluster.groups[0].gpu.memory));
  };
  EXPECT_EQ(memory_of(job, plan)[0].needed(), share());
  // Weights in both forms and the embedding in transit exceed a share with a small KV cache.
  plan.tasks[0].engine.memory_utilization = 0.3;
  const TaskMemory arrival = memory_of(job, plan)[0];
  EXPECT_GT(arrival.needed(), share());
  EXPECT_EQ(bytes_in(job, arrival, "actor's new weights"), 2 * std::int64_t{8'030'261'248});
  EXPECT_EQ(bytes_in(job, arrival, "actor's weights"), 2 * std::int64_t{8'030'261'248});
  EXPECT_EQ(bytes_in(job, arrival, "weights in transit"), 2 * 128'256 * 4096);
  EXPECT_EQ(arrival.parts.size(), 3u);
}

TEST(Memory, APairIsTrainedTogether) {
  const std::string head = "format: dovetail/job@1\nmodels: {actor: qwen3-0.6b}\n";
  const std::string tail =
      "workload: {prompts: 32, packing: false, prompt_length: 128, response_length: 512}\n"
      "cluster: {nodes: 1, gpus_per_node: 1, gpu: H100}\n";
  const auto logits_of = [&](const std::string& algorithm, const std::string& tasks, int sequences) {
    const plan::Job job = plan::parse_job(head + "algorithm: " + algorithm + "\n" + tail, "job.yaml").value();
    const std::string text =
        "format: dovetail/plan@1\ntasks:\n" + tasks +
        "  - {task: actor_train, devices: 0, layout: {}, micro_batch: {sequences: " + std::to_string(sequences) +
        "}}\n";
    return bytes_in(job, memory_of(job, plan::parse_plan(text, "plan.yaml", job).value()).back(), "logits");
  };
  const std::string reference = "  - {task: reference_infer, devices: 0, layout: {}, micro_batch: {sequences: 1}}\n";
  EXPECT_EQ(logits_of("dpo", reference, 1), logits_of("sft", "", 2));
  EXPECT_EQ(logits_of("dpo", reference, 3), logits_of("sft", "", 4));
}

TEST(Memory, ALimitBelowAPairStillHoldsAPair) {
  const plan::Job job = test::dpo_job();
  const auto memory_with = [&](int tokens) {
    const std::string task = ", devices: 0, layout: {}, micro_batch: {tokens: " + std::to_string(tokens) + "}}\n";
    const std::string text =
        "format: dovetail/plan@1\ntasks:\n  - {task: reference_infer" + task + "  - {task: actor_train" + task;
    return bytes_in(job, memory_of(job, plan::parse_plan(text, "plan.yaml", job).value()).back(), "activations");
  };
  EXPECT_EQ(memory_with(640), memory_with(1280));
  EXPECT_LT(memory_with(1280), memory_with(2560));
}

TEST(Memory, AMicroBatchHasAtMostAllTokens) {
  const plan::Job job = test::grpo_job();  // 16 sequences of 640 tokens per device in each step
  plan::Plan plan = test::co_located(job);
  const auto logits_with = [&](double tokens) {
    plan.tasks.back().micro_batching = {0, tokens, 0};
    return bytes_in(job, memory_of(job, plan).back(), "logits");
  };
  EXPECT_LT(logits_with(8 * 640), logits_with(16 * 640));
  EXPECT_EQ(logits_with(16 * 640), logits_with(100 * 640));
}

TEST(Memory, MoreSequencesNeverNeedLess) {
  // Rounding up for virtual stages makes micro-batches smaller. If lengths vary, some iterations still fill them.
  const auto activations_of = [](int prompts) {
    const plan::Job job =
        plan::parse_job(
            "format: dovetail/job@1\nalgorithm: sft\nmodels: {actor: qwen3-0.6b}\nworkload: {prompts: " +
                std::to_string(prompts) +
                ", mini_batches: 1, prompt_length: 128, response_length: {p50: 600, sigma: 0.9, cap: 4096}}\n"
                "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\nsoftware: {training: megatron}\n",
            "job.yaml")
            .value();
    const std::string text =
        "format: dovetail/plan@1\ntasks:\n  - {task: actor_train, devices: 0-7, layout: {dp: 4, pp: 2, vpp: 7}, "
        "micro_batch: {tokens: "
        "8448}}\n";
    return bytes_in(job, memory_of(job, plan::parse_plan(text, "plan.yaml", job).value()).back(), "activations");
  };
  std::int64_t before = 0;
  for (int prompts = 40; prompts <= 120; prompts += 2) {
    const std::int64_t now = activations_of(prompts);
    EXPECT_GE(now, before) << prompts;
    before = now;
  }
}

TEST(Memory, FragmentsCoverAllMemoryOfTheTrainingProcess) {
  const plan::Job job = test::grpo_job();
  const TaskMemory training = memory_in(memory_of(job, test::co_located(job)), job, "actor_train");
  const double beyond = software_of(job)->conventions.reserved_factor - 1;
  EXPECT_EQ(bytes_in(job, training, "allocator reserve of other models"),
            std::llround(beyond * 2 * parameters));  // the reference's
}

TEST(Memory, ReportsTheMissingMemory) {
  plan::Job job = test::grpo_job();
  job.cluster.groups[0].gpu.usable_memory = 10'000'000'000;
  const auto memory = memory_of(job, test::co_located(job));
  const TaskMemory& training = memory_in(memory, job, "actor_train");
  EXPECT_FALSE(training.fits());
  EXPECT_EQ(training.margin(), 10'000'000'000 - training.needed());
  EXPECT_TRUE(std::is_sorted(training.parts.begin(), training.parts.end(),
                             [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; }));
}

TEST(Memory, ADeviceWithoutEnoughMemoryCountsBeforeOneWithoutTheMargin) {
  plan::Job job =
      test::ppo_job("groups: [{nodes: 1, gpus_per_node: 8, gpu: H100}, {nodes: 1, gpus_per_node: 8, gpu: A100}]");
  plan::Plan plan = test::pipelined_on_16(job);
  plan::TaskPlan& reference = plan.tasks[workflow::find_task(job.workflow, "reference_infer")->index()];
  reference.mesh = {.first = 0, .count = 8};
  reference.layout.data = 8;
  reference.offload.weights = false;
  const auto set_usable = [&](std::int64_t large, std::int64_t small) {
    job.cluster.groups[0].gpu.usable_memory = large;
    job.cluster.groups[1].gpu.usable_memory = small;
    return memory_in(memory_of(job, plan), job, "actor_train");
  };
  const std::int64_t everything = std::int64_t{1} << 40;
  const TaskMemory on_large = set_usable(1, everything);
  const TaskMemory on_small = set_usable(everything, 1);
  ASSERT_EQ(on_large.device, 0);
  ASSERT_EQ(on_small.device, 8);
  ASSERT_GT(on_large.needed(), on_small.needed());
  const TaskMemory worst = set_usable(on_large.needed(), on_small.needed() - 1);
  EXPECT_EQ(worst.device, 8);
  EXPECT_EQ(worst.fit(), Fit::does_not_fit);
}

TEST(Memory, HostMemoryIsALimitToo) {
  plan::Job job = test::grpo_job();
  job.cluster.groups[0].host_memory = 1'000'000'000;
  const auto memory = memory_of(job, test::co_located(job, R"(, "offload": ["optimizer"])"));
  EXPECT_FALSE(memory_in(memory, job, "actor_generate").fits());
}

TEST(Memory, RulesHoldNothing) {
  const plan::Job job = test::grpo_job();
  const auto memory = memory_of(job, test::co_located(job));
  EXPECT_EQ(memory_in(memory, job, "reward_rule").needed(), 0);
  EXPECT_TRUE(memory_in(memory, job, "reward_rule").fits());
}

const std::string node = "nodes: 1, gpus_per_node: 8, gpu: H100";

planner::Ranking ranking_of(const plan::Job& job) {
  return planner::rank_plans(scenario_of(job, software_of(job).value()), test::quick_options()).value();
}

TEST(MinMargin, DefaultsToTheErrorOfTheConventions) {
  for (const std::string_view name : cost::conventions_names()) {
    const plan::Job job = test::ppo_job(node, "software: {training: " + std::string(name) + "}\n");
    const Software software = software_of(job).value();
    EXPECT_EQ(min_margin(scenario_of(job, software)).share, std::max(0.04, software.conventions.memory_error)) << name;
  }
}

TEST(MinMargin, IsSetByTheJob) {
  const plan::Job job = test::ppo_job(node, "limits: {margin: 10GiB}\n");
  const Scenario scenario = scenario_of(job, software_of(job).value());
  const cluster::Gpu& gpu = job.cluster.groups.front().gpu;
  EXPECT_EQ(plan_memory(scenario, gpu), gpu.usable_memory - (std::int64_t{10} << 30));
}

TEST(MinMargin, IsLeftByEveryPlan) {
  const plan::Job wide = test::ppo_job(node, "limits: {margin: 30%}\n");
  const planner::Ranking ranking = ranking_of(wide);
  ASSERT_FALSE(ranking.plans.empty());
  for (const planner::RankedPlan& ranked : ranking.plans)
    for (const TaskMemory& memory : ranked.estimate.memory)
      if (memory.usable > 0) {
        EXPECT_GE(memory.margin(), memory.usable * 3 / 10);
      }
}

TEST(MinMargin, CostsTimeAndNeverGainsAny) {
  double last = 0;
  for (const std::string margin : {"0", "20%", "40%"}) {
    const planner::Ranking ranking = ranking_of(test::ppo_job(node, "limits: {margin: " + margin + "}\n"));
    ASSERT_FALSE(ranking.plans.empty());
    EXPECT_GE(ranking.bound, last * (1 - 1e-9)) << margin;
    last = ranking.bound;
  }
}

TEST(Fit, IsTightInsideTheMargin) {
  TaskMemory memory;
  memory.usable = 100;
  memory.min_margin = 10;
  memory.parts = {{MemoryKind::logits, {}, 90}};
  EXPECT_EQ(memory.fit(), Fit::fits);
  memory.parts.front().bytes = 91;
  EXPECT_EQ(memory.fit(), Fit::tight);
  EXPECT_TRUE(memory.fits());
  memory.parts.front().bytes = 101;
  EXPECT_EQ(memory.fit(), Fit::does_not_fit);
  memory.parts.front().bytes = 50;
  memory.host = 1;
  EXPECT_EQ(memory.fit(), Fit::does_not_fit) << "in host memory";
}

}  // namespace
}  // namespace dovetail::predict
