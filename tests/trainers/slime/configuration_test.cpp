#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "llm/bundled_models.h"
#include "support/temporary_folder.h"
#include "trainers/slime/slime.h"
#include "trainers/verl/imported.h"

namespace dovetail::trainers {
namespace {

const std::string dense_shape =
    "--swiglu --num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --use-rotary-position-embeddings --disable-bias-linear "
    "--normalization RMSNorm --vocab-size 151936 --kv-channels 128 --qk-layernorm "
    "--untie-embeddings-and-output-weights ";

/// Returns shape flags with `dense` dense layers before the layers with experts, in the form that scripts use.
std::string expert_shape(int dense, const std::string& more) {
  return fmt::format(
      "--disable-bias-linear --swiglu --normalization RMSNorm --position-embedding-type rope --num-layers 12 "
      "--hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 16 --vocab-size 100000 "
      "--untie-embeddings-and-output-weights --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 "
      "--moe-layer-freq [0]*{}+[1]*{} --moe-grouped-gemm --moe-token-dispatcher-type alltoall --qk-layernorm {} ",
      dense, 12 - dense, more);
}

const std::string latent_shape =
    expert_shape(1,
                 "--multi-latent-attention --kv-lora-rank 512 --v-head-dim 96 --kv-channels 128 "
                 "--moe-shared-expert-intermediate-size 2816 --moe-router-enable-expert-bias");

const std::string rollouts =
    "--hf-checkpoint /models/Qwen3-8B --ref-load /models/Qwen3-8B_torch_dist --num-rollout 100 --rollout-batch-size 32 "
    "--n-samples-per-prompt 8 --rollout-max-response-len 8192 --rollout-max-prompt-len 2048 --global-batch-size 64 "
    "--balance-data --attention-dropout 0.0 --hidden-dropout 0.0 ";

const std::string layouts =
    "--tensor-model-parallel-size 2 --sequence-parallel --use-dynamic-batch-size --max-tokens-per-gpu 9216 "
    "--rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7 ";

std::string script(const std::string& flags, const std::string& program = "train.py") {
  return "#!/bin/bash\nMORE=(" + flags +
         ")\nray job submit --address=\"http://127.0.0.1:8265\" --runtime-env-json='{\"a\": \"b\"}' \\\n   -- "
         "python3 " +
         program + " --actor-num-nodes 1 --actor-num-gpus-per-node 8 ${MORE[@]} ";
}

/// GRPO of a dense model on one node.
const std::string grpo = script(dense_shape + rollouts + layouts + "--colocate --use-kl-loss --kl-loss-coef 0.001");
/// PPO of a mixture of experts, with engines on a separate node.
const std::string ppo = script(latent_shape + rollouts +
                               "--advantage-estimator ppo --rollout-num-gpus 8 --micro-batch-size 2 "
                               "--expert-model-parallel-size 4 --rollout-num-gpus-per-engine 4 --sglang-ep-size 4");

/// Selective recomputation of modules.
const std::string in_parts = grpo + "--recompute-granularity selective ";

/// Full recomputation of layers.
const std::string recomputed =
    grpo + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 ";

/// Returns the script without a flag.
std::string without(std::string from, const std::string& flag) {
  const std::size_t at = from.find(flag);
  EXPECT_NE(at, std::string::npos) << flag;
  return at == std::string::npos ? from : from.erase(at, flag.size());
}

TEST(SlimeConfiguration, ImportsGrpo) {
  const auto read = imported(grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "slime");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\nname: run\n"
            "algorithm: {name: grpo, reference: pass, reward: rule, policy_log_probabilities: trainer}\n"
            "models:\n  actor: qwen3-8b\n"
            "workload:\n  prompts: 32\n  samples_per_prompt: 8\n  mini_batch: 64\n  epochs: 1\n"
            "  prompt_length: 2048\n  response_length: 8192\n"
            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100-80}\nsoftware: {framework: slime, training: "
            "megatron-policy, engine: sglang}\n");
  const plan::TaskPlan& trained = planned(*read, "actor_train");
  EXPECT_EQ(llm::to_text(trained.layout), "dp4 tp2 pp1 zero1 sp");
  EXPECT_EQ(trained.micro_batching.tokens, 9216);
  EXPECT_TRUE(trained.offload.weights && trained.offload.gradients && trained.offload.optimizer);
  const plan::TaskPlan& generated = planned(*read, "actor_generate");
  EXPECT_EQ(llm::to_text(generated.layout), "dp4 tp2 pp1");
  EXPECT_EQ(generated.engine.memory_utilization, 0.7);
  EXPECT_EQ(generated.engine.max_num_seqs, 512);
  EXPECT_TRUE(generated.offload.weights);
  EXPECT_TRUE(planned(*read, "reference_infer").offload.weights);
}

TEST(SlimeConfiguration, PpoHasTheCriticOnTheActorsGpusAndEnginesAfterIt) {
  const auto read = imported(ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->run.cluster.nodes, 2);
  const plan::TaskPlan& actor = planned(*read, "actor_train");
  const plan::TaskPlan& critic = planned(*read, "critic_train");
  EXPECT_EQ(actor.mesh, (cluster::Mesh{.first = 0, .count = 8}));
  EXPECT_EQ(critic.mesh, actor.mesh);
  EXPECT_EQ(critic.layout, actor.layout);
  EXPECT_EQ(actor.layout.expert, 4);
  EXPECT_EQ(actor.micro_batching.sequences, 2);
  EXPECT_TRUE(critic.offload.optimizer);
  const plan::TaskPlan& generated = planned(*read, "actor_generate");
  EXPECT_EQ(generated.mesh, (cluster::Mesh{.first = 8, .count = 8}));
  EXPECT_EQ(llm::to_text(generated.layout), "dp2 tp4 pp1 ep4");
  EXPECT_FALSE(generated.offload.weights);
}

/// Returns the shape of the actor in the job.
llm::Transformer shape_of(const std::string& flags) {
  const auto read = imported(script(flags + rollouts + "--colocate"));
  EXPECT_TRUE(read.ok()) << base::to_text(read.error());
  if (!read.ok()) return {};
  llm::Transformer model = read->job.models.front();
  model.name = {};
  return model;
}

TEST(SlimeConfiguration, MegatronsFlagsDefineTheModel) {
  llm::Transformer wanted;
  wanted.layers = 12;
  wanted.hidden = 2048;
  wanted.heads = wanted.key_value_heads = 16;
  wanted.head_size = 128 + 64;
  wanted.width = 8192;
  wanted.vocabulary = 100000;
  wanted.latent = llm::LatentAttention{0, 512, 128, 64, 96};
  wanted.experts = llm::Experts{64, 6, 1408, 2816, false, 1, true};
  EXPECT_EQ(shape_of(latent_shape), wanted);

  llm::Transformer bundled = llm::find_bundled_model("qwen3-8b").value();
  bundled.name = {};
  EXPECT_EQ(shape_of(dense_shape), bundled);
  // Defaults of heads, feed-forward width and biases.
  const llm::Transformer plain = shape_of(
      "--num-layers 4 --hidden-size 1024 --num-attention-heads 8 --vocab-size 1000 --swiglu --normalization RMSNorm "
      "--use-rotary-position-embeddings ");
  EXPECT_EQ(plain.head_size, 128);
  EXPECT_EQ(plain.key_value_heads, 8);
  EXPECT_EQ(plain.width, 2688);
  EXPECT_TRUE(plain.tied_embeddings && plain.query_key_value_bias && plain.attention_output_bias);
}

TEST(SlimeConfiguration, AShapeThatIsNotBundledIsInTheJob) {
  const auto read = imported(script(latent_shape + rollouts + "--colocate"));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("actor: {\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 12"), std::string::npos)
      << read->text;
}

TEST(SlimeConfiguration, EvaluatesPythonLayerLists) {
  const auto dense_layers = [](const std::string& frequency) {
    const auto read = imported(script(expert_shape(0, "--moe-layer-freq " + frequency) + rollouts + "--colocate"));
    if (!read.ok()) return std::int64_t{-1};
    return read->job.models.front().experts->dense_layers;
  };
  // In the known families, models without shared experts have experts from the first layer.
  EXPECT_EQ(dense_layers("1"), 0);
  EXPECT_EQ(dense_layers("[1]*12"), 0);
  EXPECT_EQ(dense_layers("'([1]*3+[1])*3'"), 0);
  EXPECT_EQ(dense_layers("[1,1,1,1,1,1,1,1,1,1,1,1]"), 0);
  for (const char* wrong : {"2", "[1]*11", "'([1]*3+[0])*3'", "[1]*", "[2]*12", "[1]*99999", "'([1]*12'", "[]", "x"})
    EXPECT_EQ(dense_layers(wrong), -1) << wrong;
}

/// A flag, the script to which it is added, and the result that it affects.
struct Change {
  const std::string& base;
  const char* flags;
  Where where;
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.flags; }

class SlimeFlag : public testing::TestWithParam<Change> {};

TEST_P(SlimeFlag, AffectsTheExpectedResult) {
  const Change& change = GetParam();
  expect_changed(imported_text(change.base), imported_text(change.base + change.flags), change.where);
}

INSTANTIATE_TEST_SUITE_P(
    Placement, SlimeFlag,
    testing::Values(
        Change{grpo, "--actor-num-nodes 2", Where::job}, Change{grpo, "--actor-num-gpus-per-node 4", Where::job},
        Change{ppo, "--rollout-num-gpus 4", Where::plan}, Change{ppo, "--rollout-num-gpus 16", Where::job},
        Change{grpo, "--rollout-num-gpus-per-engine 4", Where::plan},
        Change{grpo, "--num-gpus-per-node 16", Where::job}, Change{grpo, "--num-gpus-per-node 4", Where::not_modelled},
        Change{ppo, "--colocate", Where::job}, Change{ppo, "--offload", Where::not_modelled},
        Change{grpo, "--no-offload-train", Where::plan}, Change{ppo, "--no-offload-train", Where::ignored},
        Change{grpo, "--no-offload-rollout", Where::plan}, Change{ppo, "--offload-rollout", Where::not_modelled}));

INSTANTIATE_TEST_SUITE_P(Batches, SlimeFlag,
                         testing::Values(Change{grpo, "--rollout-batch-size 64", Where::job},
                                         Change{grpo, "--n-samples-per-prompt 16", Where::job},
                                         Change{grpo, "--global-batch-size 128", Where::job},
                                         Change{grpo, "--rollout-max-prompt-len 1024", Where::job},
                                         Change{grpo, "--rollout-max-response-len 4096", Where::job},
                                         Change{grpo, "--rollout-max-context-len 4096", Where::job},
                                         Change{ppo, "--use-dynamic-batch-size --max-tokens-per-gpu 8192", Where::plan},
                                         Change{grpo, "--max-tokens-per-gpu 4096", Where::plan},
                                         Change{ppo, "--max-tokens-per-gpu 4096", Where::ignored},
                                         Change{grpo, "--log-probs-max-tokens-per-gpu 4096", Where::ignored},
                                         Change{grpo, "--log-probs-chunk-size 1024", Where::not_modelled},
                                         Change{ppo, "--micro-batch-size 4", Where::plan},
                                         Change{grpo, "--micro-batch-size 4", Where::ignored},
                                         Change{grpo, "--balance-by-flops", Where::not_modelled},
                                         Change{grpo, "--partial-rollout", Where::not_modelled},
                                         Change{grpo, "--over-sampling-batch-size 64", Where::not_modelled},
                                         Change{grpo, "--dynamic-sampling-filter-path a.b", Where::not_modelled}));

INSTANTIATE_TEST_SUITE_P(
    WeightsAndLearning, SlimeFlag,
    testing::Values(Change{ppo,
                           "--update-weight-mode delta --update-weight-transport disk --update-weight-disk-dir /a "
                           "--update-weight-local-checkpoint-dir /b",
                           Where::not_modelled},
                    Change{grpo, "--update-weight-transport disk --update-weight-disk-dir /a", Where::not_modelled},
                    Change{grpo, "--update-weight-buffer-size 1073741824", Where::job},
                    Change{grpo, "--update-weights-interval 2", Where::ignored},
                    Change{grpo, "--advantage-estimator ppo", Where::job}, Change{ppo, "--use-kl-loss", Where::job},
                    Change{ppo, "--kl-coef 0.1", Where::job}, Change{grpo, "--use-rollout-logprobs", Where::job},
                    Change{grpo, "--keep-old-actor", Where::not_modelled},
                    Change{grpo, "--use-opd --opd-type sglang", Where::not_modelled},
                    Change{grpo, "--hf-checkpoint /models/Qwen3-8B-FP8", Where::not_modelled},
                    Change{grpo, "--hf-checkpoint /models/Qwen3-8B-FP8", Where::job},
                    Change{grpo, "--hf-checkpoint /models/Qwen3-8B-AWQ", Where::job},
                    Change{grpo, "--sglang-quantization fp8", Where::job},
                    Change{grpo, "--sglang-quantization modelopt", Where::not_modelled},
                    Change{grpo, "--sglang-quantization w4afp8", Where::job},
                    Change{grpo, "--hidden-size 2048", Where::job},
                    Change{grpo, "--mtp-num-layers 1", Where::not_modelled},
                    Change{grpo, "--post-mlp-layernorm", Where::not_modelled},
                    Change{grpo, "--spec slime_plugins.models.glm4 f", Where::not_modelled},
                    Change{grpo, "--rm-url http://a/b", Where::not_modelled},
                    Change{grpo, "--custom-generate-function-path a.b", Where::not_modelled},
                    Change{grpo, "--freeze-params-name-list embedding", Where::not_modelled}));

INSTANTIATE_TEST_SUITE_P(
    Megatron, SlimeFlag,
    testing::Values(
        Change{grpo, "--tensor-model-parallel-size 4", Where::plan},
        Change{grpo, "--pipeline-model-parallel-size 2", Where::plan},
        Change{grpo, "--pipeline-model-parallel-size 2 --decoder-last-pipeline-num-layers 12", Where::plan},
        Change{grpo, "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 6", Where::plan},
        Change{grpo, "--context-parallel-size 2", Where::plan}, Change{ppo, "--sequence-parallel", Where::ignored},
        Change{ppo, "--expert-model-parallel-size 8", Where::plan},
        Change{ppo, "--expert-model-parallel-size 2 --expert-tensor-parallel-size 2", Where::plan},
        Change{grpo, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", Where::plan},
        Change{grpo, "--recompute-granularity selective", Where::plan},
        Change{grpo, "--moe-layer-recompute", Where::plan}, Change{in_parts, "--recompute-modules moe", Where::plan},
        Change{in_parts, "--recompute-modules mlp", Where::not_modelled},
        Change{recomputed, "--recompute-method block", Where::not_modelled},
        Change{recomputed, "--recompute-num-layers 2", Where::not_modelled},
        Change{grpo, "--optimizer-cpu-offload --use-precision-aware-optimizer", Where::plan},
        Change{grpo, "--use-precision-aware-optimizer", Where::job},
        Change{grpo, "--overlap-cpu-optimizer-d2h-h2d", Where::not_modelled},
        Change{grpo, "--optimizer-offload-fraction 0.5", Where::job},
        Change{grpo, "--sglang-context-length 4096", Where::job},
        Change{grpo, "--optimizer-cpu-offload --use-precision-aware-optimizer --optimizer-offload-fraction 0.5",
               Where::job},
        Change{grpo, "--grad-reduce-in-bf16", Where::job}, Change{grpo, "--fp8-format hybrid", Where::not_modelled},
        Change{grpo, "--attention-backend unfused", Where::not_modelled},
        Change{grpo, "--some-flag-of-a-later-version 3", Where::not_modelled}));

INSTANTIATE_TEST_SUITE_P(
    Engines, SlimeFlag,
    testing::Values(Change{grpo, "--sglang-mem-fraction-static 0.6", Where::plan},
                    Change{grpo, "--sglang-cuda-graph-bs 1 2 4", Where::not_modelled},
                    Change{grpo, "--sglang-cuda-graph-max-bs 16", Where::not_modelled},
                    Change{grpo, "--sglang-disable-cuda-graph", Where::plan},
                    Change{ppo, "--sglang-ep-size 2", Where::plan}, Change{grpo, "--sglang-ep-size 2", Where::ignored},
                    Change{ppo, "--sglang-dp-size 4 --sglang-enable-dp-attention", Where::plan},
                    Change{grpo, "--sglang-dp-size 2 --sglang-enable-dp-attention", Where::not_modelled},
                    Change{grpo, "--sglang-pp-size 2", Where::plan},
                    Change{grpo, "--sglang-max-running-requests 64", Where::plan},
                    Change{grpo, "--sglang-server-concurrency 128", Where::plan},
                    Change{grpo, "--sglang-chunked-prefill-size 4096", Where::plan},
                    Change{grpo, "--sglang-chunked-prefill-size -1", Where::plan},
                    Change{grpo, "--sglang-speculative-algorithm EAGLE", Where::not_modelled},
                    Change{grpo, "--sglang-kv-cache-dtype fp8_e4m3", Where::job},
                    Change{grpo, "--sglang-config \"$(mktemp)\"", Where::not_modelled}));

TEST(SlimeConfiguration, RemovingAFlagHasAnEffect) {
  expect_changed(imported_text(grpo), imported_text(without(grpo, "--sequence-parallel ")), Where::plan);
  expect_changed(imported_text(grpo), imported_text(without(grpo, "--balance-data ")), Where::not_modelled);
  expect_changed(imported_text(grpo), imported_text(without(grpo, "--use-kl-loss ")), Where::job);
  expect_changed(imported_text(grpo), imported_text(without(grpo, "--attention-dropout 0.0 ")), Where::not_modelled);
  const std::string apart = script(dense_shape + rollouts + layouts + "--rollout-num-gpus 4 ");
  expect_changed(imported_text(apart), imported_text(apart + "--offload-train"), Where::plan);
}

TEST(SlimeConfiguration, ExpertGroupsAreShardedOverTheRestOfAnEngine) {
  const auto layout = [](const std::string& flags) {
    const auto read = imported(ppo + flags);
    EXPECT_TRUE(read.ok()) << base::to_text(read.error());
    return read.ok() ? llm::to_text(planned(*read, "actor_generate").layout) : std::string();
  };
  EXPECT_EQ(layout("--sglang-ep-size 4"), "dp2 tp4 pp1 ep4");
  EXPECT_EQ(layout("--sglang-ep-size 2"), "dp2 tp4 pp1 ep2 etp2");
  // The default, which other engines' plans omit too.
  EXPECT_EQ(layout("--sglang-ep-size 1"), "dp2 tp4 pp1");
}

TEST(SlimeConfiguration, TheReferenceReplacesTheActorOnTheDevices) {
  const std::string apart = script(dense_shape + rollouts + layouts + "--rollout-num-gpus 4 ");
  for (const bool has_reference : {false, true}) {
    const auto read = imported(apart + (has_reference ? "--use-kl-loss" : ""));
    ASSERT_TRUE(read.ok()) << base::to_text(read.error());
    const plan::Offload& offload = planned(*read, "actor_train").offload;
    EXPECT_EQ(offload.weights, has_reference);
    EXPECT_FALSE(offload.gradients || offload.optimizer);
  }
}

TEST(SlimeConfiguration, StepsAndBatchSizeAreAlternatives) {
  std::string steps = grpo;
  const std::string batch = "--global-batch-size 64 ";
  steps.replace(steps.find(batch), batch.size(), "--num-steps-per-rollout 4 ");
  EXPECT_EQ(imported_text(steps).job, imported_text(grpo).job);
  EXPECT_NE(imported_text(steps + "--num-steps-per-rollout 2").job, imported_text(grpo).job);
}

TEST(SlimeConfiguration, OneStepNeedsNoActorInference) {
  const auto one = imported(grpo + "--global-batch-size 256");
  ASSERT_TRUE(one.ok()) << base::to_text(one.error());
  EXPECT_FALSE(one->run.trainer_log_probabilities);
  for (const char* reason : {"--advantage-estimator gspo", "--use-opd --opd-type sglang", "--keep-old-actor",
                             "--use-routing-replay", "--get-mismatch-metrics --custom-tis-function-path a.b"}) {
    const auto read = imported(grpo + "--global-batch-size 256 " + reason);
    ASSERT_TRUE(read.ok()) << reason << ": " << base::to_text(read.error());
    EXPECT_TRUE(read->run.trainer_log_probabilities) << reason;
  }
}

TEST(SlimeConfiguration, AsyncGeneratesAnIterationAhead) {
  const std::string flags = dense_shape + rollouts + layouts + "--rollout-num-gpus 4 ";
  const auto sync = imported(script(flags));
  const auto ahead = imported(script(flags, "train_async.py"));
  ASSERT_TRUE(sync.ok()) << base::to_text(sync.error());
  ASSERT_TRUE(ahead.ok()) << base::to_text(ahead.error());
  EXPECT_EQ(sync->run.steps_off_policy, 0);
  EXPECT_EQ(ahead->run.steps_off_policy, 1);
  EXPECT_NE(imported_text(script(flags + "--update-weights-interval 2", "train_async.py")).not_modelled,
            imported_text(script(flags, "train_async.py")).not_modelled);
  EXPECT_FALSE(imported(script(flags + "--colocate", "train_async.py")).ok());
}

TEST(SlimeConfiguration, ColocatedGpusAreTheLargerPool) {
  const auto read = imported(grpo + "--rollout-num-gpus 16");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->run.cluster.nodes, 2);
  EXPECT_EQ(planned(*read, "actor_train").mesh.count, 8);
  EXPECT_EQ(planned(*read, "actor_generate").mesh, (cluster::Mesh{.first = 0, .count = 16}));
}

TEST(SlimeConfiguration, AppliesTheUsersOptions) {
  ImportOptions options;
  options.cluster = "2x16xA100-80";
  options.models = {"actor=qwen3-4b"};
  options.prompt_length = "500";
  const auto read = import_run("run.sh", grpo + "--spec a b", options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("actor: qwen3-4b\n"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("prompt_length: 500\n"), std::string::npos) << read->text;
  EXPECT_EQ(read->run.cluster.gpus_per_node, 16);
  options.cluster = "1x4xA100-80";
  EXPECT_FALSE(import_run("run.sh", grpo, options).ok());
}

class SlimeRejection : public testing::TestWithParam<const char*> {};

TEST_P(SlimeRejection, IsReportedAtItsFlag) {
  for (const std::string& base : {grpo, ppo}) {
    const auto read = imported(base + GetParam());
    if (read.ok()) continue;
    EXPECT_GT(read.error().line, 0) << base::to_text(read.error());
    return;
  }
  ADD_FAILURE() << GetParam() << " is accepted";
}

INSTANTIATE_TEST_SUITE_P(
    Starts, SlimeRejection,
    testing::Values(
        "--rollout-temperature 0", "--use-opd", "--opd-teacher-load /a", "--use-opd --opd-type megatron",
        "--eval-interval 10", "--save-interval 10", "--kl-coef 0.1", "--advantage-estimator reinforce_plus_plus",
        "--use-rollout-logprobs --use-tis", "--get-mismatch-metrics", "--balance-by-flops", "--num-steps-per-rollout 2",
        "--over-sampling-batch-size 16", "--enable-mtp-training", "--rollout-max-context-len 2048",
        "--update-weight-transport disk", "--update-weight-mode delta", "--release-train", "--optimizer-cpu-offload",
        "--recompute-granularity full", "--recompute-granularity selective --recompute-method uniform",
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --moe-layer-recompute",
        "--decoder-last-pipeline-num-layers 3", "--sglang-dp-size 2", "--sglang-config a --prefill-num-servers 1",
        "--overlap-param-gather", "--tensor-model-parallel-size 2", "--global-batch-size 2", "--micro-batch-size 3",
        "--rollout-num-gpus 0", "--colocate --rollout-num-gpus-per-engine 16"));

INSTANTIATE_TEST_SUITE_P(Kinds, SlimeRejection,
                         testing::Values("--debug-train-only", "--debug-rollout-only", "--load-debug-rollout-data a",
                                         "--loss-type sft_loss", "--rollout-external-engine-addrs a:1", "--spec a b",
                                         "--spec slime_plugins.models.qwen3_next f", "--attention-output-gate",
                                         "--custom-model-provider-path a.b", "--position-embedding-type relative",
                                         "--normalization LayerNorm", "--tensor-model-parallel-size 3",
                                         "--expert-model-parallel-size 3", "--sglang-ep-size 3", "--sglang-pp-size 3",
                                         "--global-batch-size 100", "--global-batch-size many",
                                         "--advantage-estimator x", "--num-query-groups 5", "--num-attention-heads 0",
                                         "--rollout-batch-size 99999999", "--actor-num-nodes 99999999",
                                         "--rollout-num-gpus 99999999", "--rollout-max-response-len 0"));

TEST(SlimeConfiguration, FindsFilesOfAnotherMachineByTheEndOfTheirPath) {
  const test::TemporaryFolder root;
  std::filesystem::create_directories(root.file("scripts/models"));
  root.write("scripts/models/eight.sh", "MODEL_ARGS=(" + dense_shape + ")\n");
  ImportOptions options;
  options.root = root.path();
  const std::string rest = script(rollouts + layouts + "--colocate ") + "${MODEL_ARGS[@]}\n";
  const std::string from = rest.substr(std::string("#!/bin/bash\n").size());
  const auto read = import_run("run.sh", "#!/bin/bash\nsource /root/slime/scripts/models/eight.sh\n" + from, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("actor: qwen3-8b\n"), std::string::npos) << read->text;
  EXPECT_NE(findings_text(*read, read->run.assumed)
                .find("scripts/models/eight.sh was read instead of /root/slime/scripts/models/eight.sh"),
            std::string::npos);
  const auto lost = import_run("run.sh", "#!/bin/bash\nsource /root/slime/scripts/models/nine.sh\n" + from, options);
  ASSERT_FALSE(lost.ok());
  EXPECT_NE(
      lost.error().message.find("/root/slime/scripts/models/nine.sh, included on line 2 of run.sh, was not read: "),
      std::string::npos)
      << lost.error().message;
}

TEST(SlimeConfiguration, RejectsMissingFlags) {
  for (const std::string flag :
       {"--num-layers 36", "--vocab-size 151936", "--rollout-batch-size 32", "--num-rollout 100",
        "--rollout-max-response-len 8192", "--ref-load /models/Qwen3-8B_torch_dist"}) {
    const auto read = imported(without(grpo, flag));
    // A known checkpoint name gives the vocabulary.
    EXPECT_EQ(read.ok(), flag.starts_with("--vocab-size")) << flag;
  }
}

}  // namespace
}  // namespace dovetail::trainers
