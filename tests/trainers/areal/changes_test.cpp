// Effect of each AReaL setting: which result it changes, or whether it is rejected.
#include <gtest/gtest.h>

#include <string>

#include "trainers/areal/configurations.h"

namespace dovetail::trainers {
namespace {

struct ArealChange {
  const char* override;
  Where where;
  const char* file = fsdp_grpo;
  std::string given = {};  ///< overrides that both runs have
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
     std::string(areal_sharing) + " cluster.n_nodes=2 ref.scheduling_strategy.type=separation"},
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
    {"actor.megatron.recompute_granularity=selective +actor.megatron.recompute_modules=[moe]", Where::plan,
     megatron_ppo, "actor.megatron.recompute_granularity=selective"},
    {"+actor.megatron.recompute_modules=[mlp]", Where::not_modelled, megatron_ppo},
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
    {"sglang.context_length=1024", Where::job},
    {"sglang.context_length=256", Where::not_modelled},
    {"+sglang.max_running_requests=16", Where::plan},
    {"+sglang.disable_cuda_graph=true", Where::plan},
    {"+sglang.chunked_prefill_size=4096", Where::plan},
    {"+sglang.max_prefill_tokens=16384", Where::plan},
    {"+sglang.ep_size=2", Where::plan, fsdp_grpo, "actor.path=Qwen/Qwen3-30B-A3B rollout.backend=sglang:d2t2"},
    {"+sglang.enable_dp_attention=true", Where::not_modelled},
    {"+sglang.kv_cache_dtype=fp8_e5m2", Where::job},
    {"+sglang.kv_cache_dtype=other", Where::not_modelled},
    {"vllm.gpu_memory_utilization=0.8", Where::plan, megatron_ppo},
    {"vllm.max_model_len=2048", Where::job, megatron_ppo},
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

TEST_P(ArealChangedSetting, AffectsTheExpectedResult) {
  const ArealChange& changed = GetParam();
  expect_changed(areal_text(changed.file, changed.given),
                 areal_text(changed.file, changed.given + " " + changed.override), changed.where);
}

INSTANTIATE_TEST_SUITE_P(Areal, ArealChangedSetting, testing::ValuesIn(areal_changes));

struct ArealRejection {
  const char* overrides;
  const char* message;  ///< part of the message
  const char* file = fsdp_grpo;
};

TEST(ArealConfiguration, RejectsUnsupportedConfigurations) {
  const ArealRejection all[] = {
      {"+rollout.scheduling_strategy={type:colocation,target:actor}", "`enable_offload` is false although the rollout"},
      {"+rollout.scheduling_strategy={type:colocation,target:actor} enable_offload=true", "accepted: disk"},
      {"+actor.offload=true", "is true without enable_offload"},
      {"+actor.weight_update_mode=nccl", "accepted: xccl, disk"},
      {"+rollout.scheduling_strategy={type:colocation,target:actor} rollout.backend=sglang:d2t2",
       "has 2 workers, but actor has 4, which AReaL rejects"},
      {"+actor.scheduling_strategy={type:colocation,target:rollout}", "no engine of that name is created before actor"},
      {"ref.scheduling_strategy.target=critic", "no engine of that name is created before ref; accepted: actor"},
      {"ref.scheduling_strategy.type=beside", "accepted: separation, colocation"},
      {"ref.backend=fsdp:d8", "has 8 workers"},
      {"actor.backend=fsdp:d2p2", "fsdp supports neither pipelines nor expert parallelism"},
      {"actor.backend=d4", "the backend is missing"},
      {"actor.backend=sglang:d4", "accepted: fsdp, megatron, archon"},
      {"rollout.backend=fsdp:d4", "accepted: sglang, vllm"},
      {"rollout.backend=null", "is missing; accepted: values such as sglang:d4"},
      {"rollout.consumer_batch_size=32", "waits forever for a batch of 64 prompts"},
      {"~rollout.consumer_batch_size", "is 1, so AReaL waits forever"},
      {"+rollout.queue_size=16", "is 16 for batches of 64 prompts"},
      {"+rollout.return_routed_experts=true rollout.backend=vllm:d4", "is true with generation by vllm"},
      {"+actor.use_lora=true actor.backend=megatron:d4", "is true with training by megatron and generation by sglang"},
      {"+actor.use_sapo_loss=true", "accepted: at most one of them"},
      {"actor.optimizer=null", "is missing for an engine that trains"},
      {"actor.optimizer.type=lion", "accepted: adam, adam_bf16, sgd"},
      {"+actor.fsdp.per_layer_optim_step=true actor.optimizer.type=sgd", "is true with sgd"},
      {"+actor.enable_tree_training=true actor.backend=fsdp:d2c2", "is true with context parallelism"},
      {"actor.ppo_n_minibatches=512", "is 512; accepted: at most the 256 samples"},
      {"actor.ppo_n_minibatches=100", "do not suffice for 1 or more micro-batches"},
      {"actor.ppo_n_minibatches=128", "do not suffice for 4 or more micro-batches", megatron_ppo},
      {"+actor.prox_logp_method=guess", "accepted: recompute, loglinear, metrics"},
      {"+actor.megatron.virtual_pipeline_parallel_size=2 actor.backend=megatron:d8e4", "is 2 without a pipeline",
       megatron_ppo},
      {"+actor.archon.pp_schedule=Gpipe", "accepted: 1F1B, Interleaved1F1B", archon_grpo},
      {"+actor.archon.ac_mode=memory_budget", "without enable_compile", archon_grpo},
      {"+actor.archon.ac_mode=some", "accepted: none, full, selective", archon_grpo},
      {"+actor.archon.pp_layers_per_stage=8", "accepted: the same number of chunks per rank, at least two",
       archon_grpo},
      {"+actor.archon.pp_layers_per_stage=5 +actor.archon.pp_schedule=ZBVZeroBubble", "accepted: two chunks per rank",
       archon_grpo},
      {"+actor.archon.pp_layers_per_stage=5 +actor.archon.pp_schedule=1F1B", "accepted: one chunk per rank",
       archon_grpo},
      {"+gconfig.max_tokens=512", "accepted: more than the prompt cap (512)"},
      {"cluster.n_nodes=0", "accepted: at least 1"},
      {"cluster.n_nodes=2", "the engines need 24 GPUs on 3 nodes", megatron_ppo},
      {"cluster.n_nodes=65536 cluster.n_gpus_per_node=65536", "accepted: at most 65536 GPUs in total"},
      {"actor.path=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"+teacher={path:x}", "jobs cannot have teachers"},
      {"actor.bananas=2", "bananas"},
      {"allocation_mode=sglang:d4", "no engine trains", old_grpo},
      {"allocation_mode=d8", "no engine generates", old_grpo},
  };
  for (const ArealRejection& rejected : all) {
    const base::Result<Import> read = areal(rejected.file, rejected.overrides);
    ASSERT_FALSE(read.ok()) << rejected.overrides;
    EXPECT_NE(read.error().message.find(rejected.message), std::string::npos)
        << rejected.overrides << ": " << base::to_text(read.error());
  }
  const char* supervised = "actor: {backend: \"fsdp:d8\", path: Qwen/Qwen3-8B}\ntrain_dataset: {batch_size: 8}\n";
  const base::Result<Import> read = areal(supervised);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("does not generate"), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace dovetail::trainers
