#include "trainers/areal/configuration.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "trainers/areal/allocation.h"
#include "trainers/imported.h"

namespace dovetail::trainers {
namespace {

/// GRPO on one node, by FSDP beside SGLang.
constexpr const char* fsdp_grpo =
    "experiment_name: grpo\n"
    "enable_offload: false\n"
    "cluster: {n_nodes: 1, n_gpus_per_node: 8}\n"
    "rollout:\n"
    "  backend: \"sglang:d4p1t1\"\n"
    "  max_concurrent_rollouts: 64\n"
    "  consumer_batch_size: ${train_dataset.batch_size}\n"
    "  max_head_offpolicyness: 2\n"
    "gconfig: {n_samples: 4, max_new_tokens: 1024}\n"
    "actor:\n"
    "  backend: \"fsdp:d4p1t1\"\n"
    "  path: Qwen/Qwen2.5-1.5B-Instruct\n"
    "  gradient_checkpointing: true\n"
    "  dtype: bfloat16\n"
    "  mb_spec: {max_tokens_per_mb: 10240}\n"
    "  optimizer: {type: adam, lr: 1.7e-5}\n"
    "  kl_ctl: 0.01\n"
    "  ppo_n_minibatches: 2\n"
    "  recompute_logprob: true\n"
    "  use_decoupled_loss: true\n"
    "ref:\n"
    "  backend: ${actor.backend}\n"
    "  path: ${actor.path}\n"
    "  dtype: ${actor.dtype}\n"
    "  mb_spec: {max_tokens_per_mb: 20480}\n"
    "  optimizer: null\n"
    "  scheduling_strategy: {type: colocation, target: actor}\n"
    "sglang: {context_length: 32768, mem_fraction_static: 0.8}\n"
    "vllm: {max_model_len: 32768, gpu_memory_utilization: 0.9}\n"
    "train_dataset: {batch_size: 64, max_length: 512}\n";

/// PPO of a model with experts on several nodes, by Megatron beside vLLM.
constexpr const char* megatron_ppo =
    "cluster: {n_nodes: 4, n_gpus_per_node: 8}\n"
    "rollout:\n"
    "  backend: vllm:d4t2\n"
    "  max_concurrent_rollouts: 256\n"
    "  consumer_batch_size: 64\n"
    "gconfig: {n_samples: 8, max_new_tokens: 2048}\n"
    "actor:\n"
    "  backend: megatron:(attn:d2p2t2|ffn:d1p2t1e4)\n"
    "  path: Qwen/Qwen3-30B-A3B\n"
    "  gradient_checkpointing: true\n"
    "  mb_spec: {max_tokens_per_mb: 16384}\n"
    "  optimizer: {type: adam}\n"
    "  kl_ctl: 0.0\n"
    "  ppo_n_minibatches: 1\n"
    "  megatron: {recompute_granularity: full}\n"
    "critic:\n"
    "  backend: megatron:d2p2t2e4\n"
    "  path: ${actor.path}\n"
    "  mb_spec: {max_tokens_per_mb: 16384}\n"
    "  optimizer: {type: adam}\n"
    "  ppo_n_minibatches: 1\n"
    "vllm: {max_model_len: 8192, gpu_memory_utilization: 0.7}\n"
    "train_dataset: {batch_size: 64, max_length: 1024}\n";

/// By Archon, with a pipeline.
constexpr const char* archon_grpo =
    "cluster: {n_nodes: 2, n_gpus_per_node: 8}\n"
    "rollout: {backend: \"sglang:d8\", consumer_batch_size: 32}\n"
    "gconfig: {n_samples: 8, max_new_tokens: 1024}\n"
    "actor:\n"
    "  backend: archon:d4p2\n"
    "  path: Qwen/Qwen3-8B\n"
    "  gradient_checkpointing: true\n"
    "  mb_spec: {max_tokens_per_mb: 8192}\n"
    "  optimizer: {type: adam}\n"
    "  kl_ctl: 0.0\n"
    "  ppo_n_minibatches: 1\n"
    "train_dataset: {batch_size: 32, max_length: 1024}\n";

/// As a file of before March 2026.
constexpr const char* old_grpo =
    "allocation_mode: sglang.d4p1t1+d2p2t1\n"
    "cluster: {n_nodes: 1, n_gpus_per_node: 8}\n"
    "rollout: {max_concurrent_rollouts: 64, consumer_batch_size: 64, max_head_offpolicyness: 2}\n"
    "gconfig: {n_samples: 4, max_new_tokens: 1024}\n"
    "actor:\n"
    "  path: Qwen/Qwen2.5-1.5B-Instruct\n"
    "  mb_spec: {max_tokens_per_mb: 10240}\n"
    "  optimizer: {type: adam}\n"
    "  kl_ctl: 0.01\n"
    "  ppo_n_minibatches: 1\n"
    "  behave_imp_weight_cap: 5.0\n"
    "ref: {path: \"${actor.path}\", mb_spec: {max_tokens_per_mb: 10240}}\n"
    "launcher: {inference_server_cpus_per_gpu: 4}\n"
    "async_training: true\n"
    "train_dataset: {batch_size: 64, max_length: 512}\n";

/// What a rollout on the actor's GPUs needs.
constexpr const char* sharing =
    "enable_offload=true +actor.weight_update_mode=disk +rollout.scheduling_strategy.type=colocation "
    "+rollout.scheduling_strategy.target=actor";

/// Overrides with blanks between them.
ImportOptions with(const std::string& overrides) {
  ImportOptions options;
  std::size_t begin = 0;
  while (begin < overrides.size()) {
    const std::size_t end = std::min(overrides.find(' ', begin), overrides.size());
    if (end > begin) options.arguments.push_back(overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

base::Result<Import> areal(const char* file, const std::string& overrides = {}) {
  return import_run("run.yaml", file, with(overrides));
}

Told areal_told(const char* file, const std::string& overrides = {}) {
  return told_of("run.yaml", file, with(overrides));
}

ArealAllocation allocated(std::string_view text) {
  const auto read = parse_areal_backend(text);
  EXPECT_TRUE(read.ok()) << text << (read.ok() ? "" : base::to_text(read.error()));
  return read.ok() ? *read : ArealAllocation{};
}

TEST(ArealAllocationText, SaysBackendAndDegreesInAnyOrder) {
  const ArealAllocation megatron = allocated("megatron:d2p3t4c5e2");
  EXPECT_EQ(megatron, (ArealAllocation{.backend = "megatron",
                                       .name = {},
                                       .data = 2,
                                       .tensor = 4,
                                       .pipeline = 3,
                                       .context = 5,
                                       .expert = 2,
                                       .expert_tensor = 1}));
  EXPECT_EQ(megatron.devices(), 120);
  EXPECT_EQ(allocated(" sglang : t2 d4 ").devices(), 8);
  EXPECT_EQ(allocated("fsdp[actor]:d4").name, "actor");
  EXPECT_EQ(allocated("vllm:d1p1t2").tensor, 2);
  EXPECT_EQ(allocated("archon:d8").backend, "archon");
}

TEST(ArealAllocationText, FoldsExpertsOntoTheGpusOfAttention) {
  for (const char* text : {"megatron:(attn:d4p2t2c2|ffn:d2p2t4e2)", "megatron:attn:d4p2t2c2|ffn:p2t4e2",
                           "megatron:(attn:d4p2t2c2|ffn:t4e2)"}) {
    const ArealAllocation folded = allocated(text);
    EXPECT_EQ(folded.devices(), 32) << text;
    EXPECT_EQ(folded.expert, 2) << text;
    EXPECT_EQ(folded.expert_tensor, 4) << text;
    EXPECT_EQ(folded.tensor, 2) << text;
  }
  EXPECT_EQ(allocated("megatron:(attn:d1p12t4|ffn:d1p12e4)").expert_tensor, 1);
}

TEST(ArealAllocationText, ThatIsNoneIsAnError) {
  for (const char* wrong : {"",
                            "d4",
                            "fsdp",
                            "fsdp:",
                            "fsdp:4",
                            "fsdp:d",
                            "fsdp:d0",
                            "fsdp:d4x2",
                            "fsdp:d4p2",
                            "fsdp:d4e2",
                            "sglang:d4c2",
                            "sglang:d4e2",
                            "sglang.d4",
                            "sglang:d4+fsdp:d4",
                            "tgi:d4",
                            "megatron:d2e4",
                            "megatron:(attn:d4|ffn:e3)",
                            "megatron:(attn:d4p2|ffn:d2p4)",
                            "megatron:(attn:d4p2|ffn:d4p2e2)",
                            "megatron:(attn:d4|ffn:e4",
                            "megatron:(attn:d4e2|ffn:e4)",
                            "fsdp:d99999999999999999999",
                            "megatron:d65536t65536p65536c65536",
                            "fsdp[actor:d4",
                            "[actor]:d4",
                            "fsdp:m4"}) {
    const auto read = parse_areal_backend(wrong);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_NE(read.error().message.find("accepted: BACKEND:DEGREES"), std::string::npos) << read.error().message;
  }
}

TEST(ArealAllocationText, ForAllEnginesTakesEveryVersion) {
  struct Case {
    const char* text;
    const char* trains;
    int rollout;
    int actor;
    bool colocated;
  };
  for (const Case& each :
       {Case{"sglang.d4p1t1+d4p1t1", "fsdp", 4, 4, false}, Case{"sglang:d4+d2p2", "megatron", 4, 4, false},
        Case{"sglang.d4p1m1+d2p2m2", "megatron", 4, 8, false}, Case{"vllm:d4t2 + archon:d8", "archon", 8, 8, false},
        Case{"fsdp:d2+sglang:d6", "fsdp", 6, 2, false}, Case{"sglang:d4|fsdp[actor]:d4", "fsdp", 4, 4, true},
        Case{"sglang:d4t8+megatron:(attn:d1p12t4|ffn:d1p12e4)", "megatron", 32, 48, false},
        Case{"sglang.d2t4+attn:d4p2|ffn:e4", "megatron", 8, 8, false}}) {
    const auto read = parse_areal_mode(each.text);
    ASSERT_TRUE(read.ok()) << each.text << base::to_text(read.error());
    EXPECT_EQ(read->actor.backend, each.trains) << each.text;
    EXPECT_EQ(read->rollout.devices(), each.rollout) << each.text;
    EXPECT_EQ(read->actor.devices(), each.actor) << each.text;
    EXPECT_EQ(read->colocated, each.colocated) << each.text;
  }
  for (const char* wrong : {"sglang:d4", "d8p1t1", "sglang:d4+eval", "sglang:d4+fsdp:d2+fsdp:d2", "sglang:d4|fsdp:d2",
                            "sglang:d4+vllm:d4", "sglang:d4+", "+", "sglang:d4,fsdp:d4"})
    EXPECT_FALSE(parse_areal_mode(wrong).ok()) << wrong;
}

TEST(ArealConfiguration, OfGrpoByFsdpIsAJobAndAPlan) {
  const base::Result<Import> read = areal(fsdp_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "areal");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\n"
            "name: run\n"
            "algorithm: {name: grpo, reference: pass, reward: rule, policy_log_probabilities: trainer}\n"
            "models:\n"
            "  actor: qwen2.5-1.5b\n"
            "workload:\n"
            "  prompts: 64\n"
            "  samples_per_prompt: 4\n"
            "  mini_batch: 128\n"
            "  epochs: 1\n"
            "  steps_off_policy: 2\n"
            "  prompt_length: 512\n"
            "  response_length: 1024\n"
            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100-80}\n"
            "software: {training: fsdp2, \"weight_type\": \"bf16\", \"gradient_type\": \"bf16\", \"moment_type\": "
            "\"bf16\", \"engine\": \"sglang\"}\n");
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(train.mesh.count, 4);
  EXPECT_EQ(llm::to_text(train.layout), "dp4 tp1 pp1 zero3 recompute");
  EXPECT_EQ(train.micro_batching.tokens, 10240);
  EXPECT_EQ(train.offload, plan::Offload{});
  EXPECT_EQ(llm::to_text(planned(*read, "actor_infer").layout), "dp4 tp1 pp1 zero3");
  const plan::TaskPlan& reference = planned(*read, "reference_infer");
  EXPECT_EQ(reference.mesh, train.mesh);
  EXPECT_EQ(reference.micro_batching.tokens, 20480);
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  EXPECT_EQ(llm::to_text(generate.layout), "dp4 tp1 pp1");
  EXPECT_FALSE(cluster::overlap(generate.mesh, train.mesh));
  EXPECT_EQ(generate.engine.memory_utilization, 0.8);
  EXPECT_EQ(generate.engine.max_num_seqs, 64);  // 64 groups of 4 at once, on 4 instances
  EXPECT_FALSE(generate.engine.chunked_prefill);
}

TEST(ArealConfiguration, OfPpoByMegatronHasACriticOfItsOwn) {
  const base::Result<Import> read = areal(megatron_ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{name: ppo, reference: skip, reward: rule, policy_log_probabilities: engine}"),
            std::string::npos)
      << read->text;
  EXPECT_NE(read->text.find("critic: qwen3-30b-a3b"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("training: megatron-policy"), std::string::npos) << read->text;
  const plan::TaskPlan& actor = planned(*read, "actor_train");
  EXPECT_EQ(llm::to_text(actor.layout), "dp2 tp2 pp2 ep4 zero1 sp recompute");
  const plan::TaskPlan& critic = planned(*read, "critic_train");
  EXPECT_EQ(llm::to_text(critic.layout), "dp2 tp2 pp2 ep4 zero1 sp");
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  for (const auto& [one, other] :
       {std::pair{&actor, &critic}, std::pair{&actor, &generate}, std::pair{&critic, &generate}})
    EXPECT_FALSE(cluster::overlap(one->mesh, other->mesh));
  EXPECT_EQ(llm::to_text(generate.layout), "dp4 tp2 pp1");
  EXPECT_EQ(generate.engine.max_num_seqs, 256);
}

TEST(ArealConfiguration, OfArchonHasAnInterleavedPipelineAndSelectiveRecomputation) {
  const base::Result<Import> read = areal(archon_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp4 tp1 pp2 vpp2 zero3 selective");
}

TEST(ArealConfiguration, OfARolloutOnTheActorsGpusMovesOneOutForTheOther) {
  const base::Result<Import> read = areal(fsdp_grpo, sharing);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(planned(*read, "actor_generate").mesh, train.mesh);
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = true, .optimizer = true}));
  EXPECT_TRUE(planned(*read, "actor_generate").offload.weights);
}

TEST(ArealConfiguration, OfAnOlderVersionHasCriticAndReferenceWhereTheActorIs) {
  const base::Result<Import> read = areal(old_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp2 tp1 pp2 zero1");
  EXPECT_EQ(planned(*read, "reference_infer").mesh, planned(*read, "actor_train").mesh);
  const std::string ignored = told(*read, read->run.ignored);
  for (const char* gone : {"launcher", "async_training", "actor.behave_imp_weight_cap"})
    EXPECT_NE(ignored.find(gone), std::string::npos) << ignored;
}

TEST(ArealConfiguration, SaysTheSameByOneStringForAllAsByOneForEach) {
  const std::string rest(std::string_view(old_grpo).substr(std::string_view(old_grpo).find('\n') + 1));
  const Told before = told_of("run.yaml", old_grpo);
  const Told now = told_of("run.yaml", rest,
                           with("+rollout.backend=\"sglang:d4p1t1\" +actor.backend=megatron:d2p2t1 "
                                "+ref.backend=megatron:d2p2t1 +ref.scheduling_strategy.type=colocation "
                                "+ref.scheduling_strategy.target=actor"));
  EXPECT_EQ(before.job, now.job);
  EXPECT_EQ(before.plan, now.plan);
  // Where both are said the engines' own count.
  const Told both = told_of("run.yaml", fsdp_grpo, with("+allocation_mode=sglang:d2+fsdp:d6"));
  EXPECT_EQ(both.job, areal_told(fsdp_grpo).job);
  EXPECT_EQ(both.plan, areal_told(fsdp_grpo).plan);
  EXPECT_NE(both.ignored.find("allocation_mode"), std::string::npos);
}

struct ArealChange {
  const char* override;
  Where where;
  const char* file = fsdp_grpo;
  std::string given = {};  ///< beside it, before as after
};

const ArealChange areal_changes[] = {
    {"rollout.backend=sglang:d2t2", Where::plan},
    {"rollout.backend=vllm:d4", Where::not_modelled},
    {"actor.backend=fsdp:d2t2", Where::plan},
    {"actor.backend=fsdp:d2c2", Where::plan},
    {"actor.backend=megatron:d2p2", Where::job},
    {"actor.backend='megatron:(attn:d2p2t2|ffn:d2p2e2)'", Where::plan, megatron_ppo},
    {"actor.backend='megatron:(attn:d2p2t2|ffn:p2t2e2)'", Where::plan, megatron_ppo},
    {"actor.backend=archon:d8", Where::plan, archon_grpo},
    {"critic.backend=megatron:d4t2e4", Where::plan, megatron_ppo},
    {"ref.backend=fsdp:d2t2", Where::plan},
    {"ref.backend=megatron:d4", Where::not_modelled},
    {"ref.scheduling_strategy.type=separation", Where::plan, fsdp_grpo, "cluster.n_nodes=2"},
    {"+critic.scheduling_strategy={type:colocation,target:actor}", Where::plan, megatron_ppo},
    {"rollout.scheduling_strategy.target=ref", Where::plan, fsdp_grpo,
     std::string(sharing) + " cluster.n_nodes=2 ref.scheduling_strategy.type=separation"},
    {"+rollout.scheduling_strategy.fork=false", Where::not_modelled},
    {"allocation_mode=sglang.d2p1t2+d2p2t1", Where::plan, old_grpo},
    {"allocation_mode=sglang.d4p1t1+d1p2t2", Where::plan, old_grpo},
    {"allocation_mode='sglang:d4|megatron[actor]:d2p2'", Where::plan, old_grpo,
     "+enable_offload=true +actor.weight_update_mode=disk"},
    {"cluster.n_nodes=2", Where::job},
    {"cluster.n_gpus_per_node=16", Where::job},
    {"enable_offload=true", Where::not_modelled},
    {"+actor.offload=true", Where::plan, fsdp_grpo, "enable_offload=true"},
    {"+ref.offload=true", Where::plan, fsdp_grpo, "enable_offload=true"},
    {"+critic.offload=true", Where::plan, megatron_ppo, "+enable_offload=true"},
    {"rollout.max_concurrent_rollouts=32", Where::plan},
    {"rollout.max_head_offpolicyness=0", Where::job},
    {"rollout.consumer_batch_size=128", Where::not_modelled},
    {"+rollout.pause_grace_period=2", Where::not_modelled},
    {"+rollout.return_routed_experts=true", Where::not_modelled},
    {"+rollout._version=v2", Where::not_modelled},
    {"+rollout.agent={tool_call_parser:glm}", Where::not_modelled},
    {"rollout.agent.mode=online", Where::not_modelled, fsdp_grpo, "+rollout.agent={mode:inline}"},
    {"+gconfig.ignore_eos=true", Where::not_modelled},
    {"+gconfig.min_new_tokens=16", Where::not_modelled},
    {"gconfig.n_samples=8", Where::job},
    {"gconfig.max_new_tokens=2048", Where::job},
    {"+gconfig.max_tokens=1024", Where::job},
    {"+gconfig.use_beam_search=true", Where::not_modelled},
    {"train_dataset.batch_size=32", Where::job},
    {"train_dataset.max_length=1024", Where::job},
    {"~train_dataset.max_length", Where::job},
    {"actor.path=Qwen/Qwen2.5-7B", Where::job},
    {"critic.path=Qwen/Qwen3-8B", Where::job, megatron_ppo, "critic.backend=megatron:d2p2t2"},
    {"ref.path=Qwen/Qwen2.5-7B", Where::not_modelled},
    {"actor.dtype=float32", Where::not_modelled},
    {"actor.dtype=float32", Where::not_modelled, fsdp_grpo, "+actor.use_lora=true"},
    {"ref.dtype=float32", Where::not_modelled},
    {"+actor.dtype=float16", Where::not_modelled, megatron_ppo},
    {"actor.gradient_checkpointing=false", Where::plan},
    {"+critic.gradient_checkpointing=true", Where::plan, megatron_ppo},
    {"actor.mb_spec.max_tokens_per_mb=20480", Where::plan},
    {"actor.mb_spec.max_tokens_per_mb=null", Where::plan},
    {"critic.mb_spec.max_tokens_per_mb=8192", Where::plan, megatron_ppo},
    {"ref.mb_spec.max_tokens_per_mb=10240", Where::plan},
    {"+actor.mb_spec.n_mbs=4", Where::not_modelled},
    {"+actor.mb_spec.n_mbs=4", Where::plan, fsdp_grpo, "actor.mb_spec.max_tokens_per_mb=null"},
    {"+actor.mb_spec.granularity=2", Where::not_modelled},
    {"+actor.mb_spec.packing_algorithm=kk", Where::not_modelled},
    {"+actor.pad_to_maximum=true", Where::not_modelled},
    {"actor.ppo_n_minibatches=4", Where::job},
    {"critic.ppo_n_minibatches=2", Where::job, megatron_ppo},
    {"actor.kl_ctl=0", Where::job},
    {"actor.use_decoupled_loss=false", Where::job, fsdp_grpo, "actor.recompute_logprob=false"},
    {"actor.recompute_logprob=false", Where::job, fsdp_grpo, "actor.use_decoupled_loss=false"},
    {"+actor.recompute_logprob=true", Where::job, megatron_ppo},
    {"+actor.prox_logp_method=loglinear", Where::job},
    {"+actor.weight_update_mode=disk", Where::not_modelled},
    {"+actor.use_lora=true", Where::job},
    {"+actor.lora_rank=8", Where::job, fsdp_grpo, "+actor.use_lora=true"},
    {"+actor.target_modules=[q_proj]", Where::not_modelled},
    {"+actor.attn_impl=sdpa", Where::not_modelled},
    {"+actor.grad_reduce_dtype=bfloat16", Where::not_modelled},
    {"actor.optimizer.type=adam_bf16", Where::not_modelled},
    {"actor.optimizer.type=sgd", Where::not_modelled, megatron_ppo},
    {"+actor.enable_tree_training=true", Where::not_modelled},
    {"+actor.fsdp.offload_params=true", Where::plan},
    {"+actor.fsdp.per_layer_optim_step=true", Where::plan},
    {"+actor.megatron.ddp.use_distributed_optimizer=false", Where::plan, megatron_ppo},
    {"+actor.megatron.virtual_pipeline_parallel_size=2", Where::plan, megatron_ppo},
    {"actor.megatron.recompute_granularity=selective", Where::plan, megatron_ppo},
    {"+actor.megatron.recompute_num_layers=2", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.recompute_modules=[moe]", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.ddp.grad_reduce_in_fp32=false", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.ddp.grad_reduce_in_fp32=false", Where::job, megatron_ppo,
     "+critic.megatron.ddp.grad_reduce_in_fp32=false"},
    {"+actor.megatron.ddp.overlap_grad_reduce=true", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.use_precision_aware_optimizer=true", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.use_precision_aware_optimizer=true", Where::job, megatron_ppo,
     "+critic.megatron.use_precision_aware_optimizer=true"},
    {"+actor.megatron.moe_enable_deepep=true", Where::not_modelled, megatron_ppo},
    {"+actor.megatron.fp8_config={mode:e4m3}", Where::not_modelled, megatron_ppo},
    {"+actor.archon.ac_mode=full", Where::plan, archon_grpo},
    {"+actor.archon.ac_mode=memory_budget", Where::not_modelled, archon_grpo, "+actor.archon.enable_compile=true"},
    {"+actor.archon.enable_compile=true", Where::not_modelled, archon_grpo},
    {"+actor.archon.pp_schedule=1F1B", Where::plan, archon_grpo},
    {"+actor.archon.pp_schedule=ZBVZeroBubble", Where::not_modelled, archon_grpo},
    {"+actor.archon.pp_layers_per_stage=5", Where::plan, archon_grpo},
    {"+actor.archon.pp_first_stage_less_layers=0", Where::not_modelled, archon_grpo},
    {"+actor.archon.offload_params=true", Where::plan, archon_grpo},
    {"sglang.mem_fraction_static=0.7", Where::plan},
    {"sglang.context_length=1024", Where::not_modelled},
    {"+sglang.max_running_requests=16", Where::plan},
    {"+sglang.disable_cuda_graph=true", Where::plan},
    {"+sglang.chunked_prefill_size=4096", Where::plan},
    {"+sglang.max_prefill_tokens=16384", Where::plan},
    {"+sglang.ep_size=2", Where::plan, fsdp_grpo, "actor.path=Qwen/Qwen3-30B-A3B rollout.backend=sglang:d2t2"},
    {"+sglang.enable_dp_attention=true", Where::not_modelled},
    {"+sglang.kv_cache_dtype=fp8_e5m2", Where::not_modelled},
    {"vllm.gpu_memory_utilization=0.8", Where::plan, megatron_ppo},
    {"vllm.max_model_len=2048", Where::not_modelled, megatron_ppo},
    {"+vllm.max_num_seqs=64", Where::plan, megatron_ppo},
    {"+vllm.enforce_eager=true", Where::plan, megatron_ppo},
    {"+vllm.no_enable_chunked_prefill=true", Where::plan, megatron_ppo},
    {"+vllm.cpu_offload_gb=4", Where::not_modelled, megatron_ppo},
    {"+vllm.no_enable_prefix_caching=false", Where::not_modelled, megatron_ppo},
    {"+dynamic_bs=true", Where::not_modelled},
    {"+max_turns=4", Where::not_modelled},
    {"+actor.bananas=4", Where::ignored},
    {"+actor.megatron.recompute_granularity=selective", Where::ignored},
    {"+actor.archon.ac_mode=full", Where::ignored, archon_grpo, "actor.gradient_checkpointing=false"},
    {"+ref.backend=fsdp:d2", Where::ignored, archon_grpo},
};

class ArealChangedSetting : public testing::TestWithParam<ArealChange> {};

TEST_P(ArealChangedSetting, ChangesWhatItSaysAndNothingIsDropped) {
  const ArealChange& changed = GetParam();
  expect_changed(areal_told(changed.file, changed.given),
                 areal_told(changed.file, changed.given + " " + changed.override), changed.where);
}

INSTANTIATE_TEST_SUITE_P(Areal, ArealChangedSetting, testing::ValuesIn(areal_changes));

struct ArealRefusal {
  const char* overrides;
  const char* message;  ///< a part of it
  const char* file = fsdp_grpo;
};

TEST(ArealConfiguration, RefusesWhatStopsArealOrIsNoJob) {
  const ArealRefusal all[] = {
      {"+rollout.scheduling_strategy={type:colocation,target:actor}", "`enable_offload` is false and the rollout"},
      {"+rollout.scheduling_strategy={type:colocation,target:actor} enable_offload=true", "accepted: disk"},
      {"+actor.offload=true", "is true without enable_offload"},
      {"+actor.weight_update_mode=nccl", "accepted: xccl, disk"},
      {"+rollout.scheduling_strategy={type:colocation,target:actor} rollout.backend=sglang:d2t2",
       "has 2 workers, and AReaL stops: actor has 4"},
      {"+actor.scheduling_strategy={type:colocation,target:rollout}", "no such engine is there before actor"},
      {"ref.scheduling_strategy.target=critic", "no such engine is there before ref; accepted: actor"},
      {"ref.scheduling_strategy.type=beside", "accepted: separation, colocation"},
      {"ref.backend=fsdp:d8", "has 8 workers"},
      {"actor.backend=fsdp:d2p2", "fsdp has neither pipelines nor groups of experts"},
      {"actor.backend=d4", "there is no backend"},
      {"actor.backend=sglang:d4", "accepted: fsdp, megatron, archon"},
      {"rollout.backend=fsdp:d4", "accepted: sglang, vllm"},
      {"rollout.backend=null", "is not given; accepted: sglang:d4"},
      {"rollout.consumer_batch_size=32", "waits for ever for a batch of 64 prompts"},
      {"~rollout.consumer_batch_size", "is 1, and AReaL waits for ever"},
      {"+rollout.queue_size=16", "is 16 for batches of 64 prompts"},
      {"+rollout.return_routed_experts=true rollout.backend=vllm:d4", "is true with vllm"},
      {"+actor.use_lora=true actor.backend=megatron:d4", "is true with megatron and sglang"},
      {"+actor.use_sapo_loss=true", "accepted: one of them"},
      {"actor.optimizer=null", "is not given to an engine that trains"},
      {"actor.optimizer.type=lion", "accepted: adam, adam_bf16, sgd"},
      {"+actor.fsdp.per_layer_optim_step=true actor.optimizer.type=sgd", "is true with sgd"},
      {"+actor.enable_tree_training=true actor.backend=fsdp:d2c2", "is true with context parallelism"},
      {"actor.ppo_n_minibatches=512", "is 512 of 256 samples"},
      {"actor.ppo_n_minibatches=100", "make no 1 micro-batches in each"},
      {"actor.ppo_n_minibatches=128", "make no 4 micro-batches in each", megatron_ppo},
      {"+actor.prox_logp_method=guess", "accepted: recompute, loglinear, metrics"},
      {"+actor.megatron.virtual_pipeline_parallel_size=2 actor.backend=megatron:d8e4", "is 2 without a pipeline",
       megatron_ppo},
      {"+actor.archon.pp_schedule=Gpipe", "accepted: 1F1B, Interleaved1F1B", archon_grpo},
      {"+actor.archon.ac_mode=memory_budget", "without enable_compile", archon_grpo},
      {"+actor.archon.ac_mode=some", "accepted: none, full, selective", archon_grpo},
      {"+actor.archon.pp_layers_per_stage=8", "accepted: several on each rank", archon_grpo},
      {"+actor.archon.pp_layers_per_stage=5 +actor.archon.pp_schedule=ZBVZeroBubble", "accepted: two on each rank",
       archon_grpo},
      {"+actor.archon.pp_layers_per_stage=5 +actor.archon.pp_schedule=1F1B", "accepted: one on each rank", archon_grpo},
      {"+gconfig.max_tokens=512", "accepted: more than the 512 of a prompt"},
      {"cluster.n_nodes=0", "accepted: at least 1"},
      {"cluster.n_nodes=2", "the engines take 24 of them on 3 nodes", megatron_ppo},
      {"cluster.n_nodes=65536 cluster.n_gpus_per_node=65536", "accepted: at most 65536 GPUs in all"},
      {"actor.path=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"+teacher={path:x}", "jobs do not have"},
      {"actor.bananas=2", "bananas"},
      {"allocation_mode=sglang:d4", "no engine trains", old_grpo},
      {"allocation_mode=d8", "no engine generates", old_grpo},
  };
  for (const ArealRefusal& refused : all) {
    const base::Result<Import> read = areal(refused.file, refused.overrides);
    ASSERT_FALSE(read.ok()) << refused.overrides;
    EXPECT_NE(read.error().message.find(refused.message), std::string::npos)
        << refused.overrides << ": " << base::to_text(read.error());
  }
  const char* supervised = "actor: {backend: \"fsdp:d8\", path: Qwen/Qwen3-8B}\ntrain_dataset: {batch_size: 8}\n";
  const base::Result<Import> read = areal(supervised);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("trains without generation"), std::string::npos) << read.error().message;
}

TEST(ArealConfiguration, OnOneNodeTakesTheGpusThatItsEnginesNeed) {
  const base::Result<Import> read = areal(fsdp_grpo, "cluster.n_gpus_per_node=4");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{nodes: 1, gpus_per_node: 8"), std::string::npos) << read->text;
  EXPECT_NE(told(*read, read->run.assumed).find("counted as a node of as many"), std::string::npos);
}

TEST(ArealConfiguration, OnAnotherClusterHasItsEnginesThere) {
  ImportOptions options;
  options.cluster = "6x4xA100";
  const base::Result<Import> read = import_run("areal:run.yaml", megatron_ppo, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{nodes: 6, gpus_per_node: 4"), std::string::npos) << read->text;
  options.cluster = "2x4xA100";
  EXPECT_FALSE(import_run("areal:run.yaml", megatron_ppo, options).ok());
}

TEST(ArealConfiguration, OfALaunchScriptIsThatOfItsFileAndItsOverrides) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "areal_launch";
  std::filesystem::create_directories(folder / "configs");
  ASSERT_TRUE(base::write_file((folder / "configs" / "grpo.yaml").string(), fsdp_grpo).ok());
  ImportOptions options;
  options.root = folder.string();
  options.arguments = {"gconfig.n_samples=8"};
  for (const char* start :
       {"python3 train.py --config configs/grpo.yaml",
        "python3 -m areal.infra.launcher.local train.py --config "
        "configs/grpo.yaml",
        "python3 tools/prepare.py --config tools/data.yaml\npython -m areal.launcher.ray train.py --config=$CONFIG"}) {
    const std::string script = std::string("#!/bin/bash\nCONFIG=configs/grpo.yaml\n") + start +
                               " train_dataset.batch_size=128 +scheduler.type=local +trial_name=$NAME \"$@\"\n";
    const base::Result<Import> read = import_run((folder / "run.sh").string(), script, options);
    ASSERT_TRUE(read.ok()) << start << base::to_text(read.error());
    EXPECT_EQ(read->trainer, "areal");
    EXPECT_EQ(read->job.workload.prompts, 128);
    EXPECT_EQ(read->job.workload.samples_per_prompt, 8);
  }
  for (const char* wrong : {"python3 train.py --config $X\n", "python3 train.py --config nowhere.yaml\n",
                            "python3 train.py --config configs/grpo.yaml gconfig.bananas=2\n",
                            "python3 -m areal.infra.launcher.local train.py\n"})
    EXPECT_FALSE(import_run((folder / "run.sh").string(), wrong, options).ok()) << wrong;
}

TEST(ArealConfiguration, AsArealSavesItIsReadAsItWasSaid) {
  const std::string said(fsdp_grpo);
  const std::string more =
      "  scheduling_spec: !!python/tuple\n"
      "  - cpu: 8\n"
      "    env_vars: {}\n"
      "  - {cpu: 4}\n"
      "  megatron: {recompute_granularity: full}\n";
  const std::size_t at = said.find("ref:\n");
  const Told saved = told_of("run.yaml", said.substr(0, at) + more + said.substr(at) + "critic: null\nteacher: null\n");
  const Told plain = areal_told(fsdp_grpo);
  EXPECT_EQ(saved.job, plain.job);
  EXPECT_EQ(saved.plan, plain.plan);
}

TEST(ArealConfiguration, IsToldFromAnotherTrainersScript) {
  // A program with a configuration beside a trainer's own is what the script prepares or evaluates by.
  const std::string script =
      "python3 prepare.py --config data.yaml\n"
      "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
      "actor_rollout_ref.rollout.name=vllm algorithm.adv_estimator=grpo actor_rollout_ref.actor.use_dynamic_bsz=True\n";
  const base::Result<Import> read = import_run("run.sh", script, {});
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "verl");
}

}  // namespace
}  // namespace dovetail::trainers
