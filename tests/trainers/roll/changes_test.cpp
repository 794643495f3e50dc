// Effect of each ROLL setting: which result it changes, or whether it is rejected.
#include <gtest/gtest.h>

#include <string>

#include "trainers/roll/configurations.h"

namespace dovetail::trainers {
namespace {

struct RollChange {
  const char* override;
  Where where;
  const char* file = megatron_rlvr;
  std::string given = {};  ///< overrides that both runs have
};

const RollChange roll_changes[] = {
    {"rollout_batch_size=128", Where::job},
    {"prompt_length=1024", Where::job},
    {"response_length=2048", Where::job},
    {"sequence_length=4096", Where::job, fsdp_rlvr},
    {"++response_length=1024", Where::ignored, fsdp_rlvr},
    {"num_return_sequences_in_group=16", Where::job},
    {"ppo_epochs=2", Where::job},
    {"adv_estimator=reinforce", Where::job},
    {"++async_generation_ratio=1", Where::job},
    {"num_gpus_per_node=4", Where::job},
    {"pretrain=Qwen/Qwen3-4B", Where::job},
    {"reward_pretrain=Qwen/Qwen3-1.7B", Where::job, fsdp_rlvr},
    {"++enable_reference=true", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=megatron_infer "
     "++reference.strategy_args.strategy_config.expert_model_parallel_size=8"},
    {"++use_kl_loss=true", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=hf_infer"},
    {"++init_kl_coef=0.1", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=hf_infer"},
    {"++enable_old_logprobs_recompute=true", Where::job, experts_rlvr},
    {"++force_disable_old_logprobs_recompute=true", Where::job},
    {"++max_running_requests=64", Where::plan},
    {"++router_args.max_running_requests=32", Where::plan},
    {"++is_use_additional_prompts=true", Where::not_modelled},
    {"++generate_opt_level=0", Where::not_modelled},
    {"++model_update_buffer_size_mb=2048", Where::job},
    {"++save_logging_board_dir=logs", Where::not_modelled},
    {"++critic_warmup=5", Where::not_modelled, fsdp_rlvr},
    {"++rollout_mock.enable=true", Where::not_modelled},
    {"++entropy_loss_coef=0.01", Where::job},
    {"++is_offload_states=true", Where::ignored},
    {"++is_offload_optimizer_states_in_train_step=true", Where::ignored},
    // Devices.
    {"actor_train.device_mapping=\"list(range(0,32))\"", Where::job},
    {"actor_infer.device_mapping=\"list(range(0,8))\"", Where::plan},
    {"reference.device_mapping=\"list(range(0,8))\"", Where::plan},
    {"critic.device_mapping=\"list(range(0,4))\"", Where::job, fsdp_rlvr},
    {"++critic.device_mapping=\"list(range(0,8))\"", Where::ignored},
    {"++reference.device_mapping=\"list(range(0,32))\"", Where::ignored, experts_rlvr},
    {"rewards.llm_judge.device_mapping=\"list(range(12,14))\"", Where::plan},
    {"++reference.num_gpus_per_worker=2", Where::plan, fsdp_rlvr},
    {"++actor_infer.num_gpus_per_worker=4", Where::ignored},
    {"++actor_train.num_gpus_per_worker=2", Where::ignored},
    {"actor_infer.num_gpus_per_worker=8", Where::plan, experts_rlvr},
    {"rewards.math_rule.world_size=16", Where::not_modelled},
    {"++actor_train.world_size=32", Where::ignored},
    // Strategies.
    {"actor_infer.strategy_args.strategy_name=sglang", Where::not_modelled, megatron_rlvr,
     "++actor_infer.strategy_args.strategy_config.mem_fraction_static=0.8 ++actor_infer.num_gpus_per_worker=2"},
    {"reference.strategy_args.strategy_name=hf_infer", Where::plan},
    {"reference.strategy_args.strategy_name=fsdp2_infer", Where::plan},
    {"actor_train.strategy_args.strategy_name=deepspeed_train", Where::job, fsdp_rlvr},
    {"actor_train.strategy_args.strategy_name=fsdp2_train", Where::job},
    {"++actor_train.strategy_args.strategy_config.zero_optimization.stage=2", Where::plan, fsdp_rlvr,
     "actor_train.strategy_args.strategy_name=deepspeed_train"},
    {"++actor_train.strategy_args.strategy_config.zero_optimization.offload_optimizer.device=cpu", Where::plan,
     fsdp_rlvr, "actor_train.strategy_args.strategy_name=deepspeed_train"},
    {"actor_train.strategy_args.strategy_config.tensor_model_parallel_size=4", Where::job},
    {"reference.strategy_args.strategy_config.tensor_model_parallel_size=4", Where::plan},
    {"actor_train.strategy_args.strategy_config.pipeline_model_parallel_size=4", Where::job},
    {"++actor_train.strategy_args.strategy_config.virtual_pipeline_model_parallel_size=2", Where::plan},
    {"++actor_train.strategy_args.strategy_config.context_parallel_size=2", Where::job},
    {"++actor_train.strategy_args.strategy_config.sequence_parallel=true", Where::plan},
    {"actor_train.strategy_args.strategy_config.expert_model_parallel_size=4", Where::plan, experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.expert_tensor_parallel_size=2", Where::plan, experts_rlvr},
    {"actor_train.strategy_args.strategy_config.use_distributed_optimizer=false", Where::plan},
    {"actor_train.strategy_args.strategy_config.recompute_granularity=selective", Where::plan},
    {"++actor_train.strategy_args.strategy_config.recompute_modules=moe", Where::ignored},
    {"++actor_train.strategy_args.strategy_config.recompute_modules=[moe,layernorm]", Where::not_modelled,
     megatron_rlvr, "actor_train.strategy_args.strategy_config.recompute_granularity=selective"},
    {"++actor_train.strategy_args.strategy_config.recompute_modules=moe", Where::plan, megatron_rlvr,
     "actor_train.strategy_args.strategy_config.recompute_granularity=selective"},
    {"++actor_train.strategy_args.strategy_config.recompute_num_layers=2", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.overlap_grad_reduce=true", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.optimizer_cpu_offload=true", Where::ignored},
    {"++actor_train.strategy_args.strategy_config.pipeline_model_parallel_layout=E", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.cross_entropy_loss_fusion=true", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.mtp_num_layers=1", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.something_new=1", Where::not_modelled},
    {"actor_train.strategy_args.strategy_config.moe_token_dispatcher_type=allgather", Where::not_modelled,
     experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.moe_layer_recompute=true", Where::plan, experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.reshard_after_forward=false", Where::plan, fsdp_rlvr},
    {"actor_train.strategy_args.strategy_config.fsdp_size=4", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.offload_policy=true", Where::plan, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.param_dtype=bf16", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.param_dtype=bf16", Where::job, fsdp_rlvr,
     "++critic.strategy_args.strategy_config.param_dtype=bf16"},
    {"++actor_train.strategy_args.strategy_config.reduce_dtype=bf16", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.ep_size=4", Where::plan, fsdp_rlvr, "pretrain=Qwen/Qwen3-30B-A3B"},
    {"++actor_train.model_args.ulysses_size=2", Where::job, fsdp_rlvr},
    {"++actor_train.model_args.disable_gradient_checkpointing=true", Where::plan, fsdp_rlvr},
    {"++actor_train.model_args.disable_gradient_checkpointing=true", Where::ignored},
    {"actor_train.model_args.dtype=fp16", Where::not_modelled},
    {"actor_infer.model_args.dtype=fp32", Where::not_modelled},
    {"actor_train.model_args.attn_implementation=sdpa", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.model_args.freeze_module_prefix=vision_model", Where::not_modelled},
    {"++actor_train.model_args.lora_target=all-linear", Where::job},
    {"++actor_train.model_args.lora_rank=16", Where::job, megatron_rlvr, roll_adapters},
    // Batches.
    {"actor_train.training_args.per_device_train_batch_size=2", Where::job},
    {"actor_train.training_args.gradient_accumulation_steps=32", Where::job},
    {"critic.training_args.gradient_accumulation_steps=1", Where::job, fsdp_rlvr},
    {"actor_train.infer_batch_size=2", Where::plan},
    {"reference.infer_batch_size=2", Where::plan},
    {"rewards.llm_judge.infer_batch_size=8", Where::plan},
    {"++actor_train.use_dynamic_batching_in_train=true", Where::job, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_train=12288"},
    {"actor_train.max_tokens_per_microbatch_in_train=24576", Where::job, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_train=12288 ++actor_train.use_dynamic_batching_in_train=true"},
    {"++actor_train.max_tokens_per_microbatch_in_train=24576", Where::ignored},
    {"++actor_train.sequence_length_round_in_train=128", Where::not_modelled, megatron_rlvr, roll_dynamic},
    {"++actor_train.use_dynamic_batching_in_infer=true", Where::plan, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_infer=24576"},
    {"++actor_train.max_tokens_per_microbatch_in_infer=49152", Where::plan, megatron_rlvr, roll_dynamic},
    {"++actor_train.sequence_length_round_in_infer=128", Where::not_modelled, megatron_rlvr, roll_dynamic},
    {"++actor_train.use_sequence_packing=true", Where::job},
    {"++actor_train.sequence_packing_args.algorithm=none", Where::plan, megatron_rlvr, roll_balanced},
    {"++actor_train.sequence_packing_args.max_packed_sequence_length_train=12288", Where::plan, megatron_rlvr,
     roll_balanced},
    {"++actor_train.sequence_packing_args.max_packed_sequence_length_forward=12288", Where::plan, megatron_rlvr,
     roll_balanced},
    {"++actor_train.sequence_packing_args.min_num_micro_batches_train=2", Where::not_modelled, megatron_rlvr,
     roll_balanced},
    // Engines.
    {"actor_infer.strategy_args.strategy_config.tensor_parallel_size=4", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.pipeline_parallel_size=2", Where::plan},
    {"actor_infer.strategy_args.strategy_config.gpu_memory_utilization=0.6", Where::plan},
    {"actor_infer.strategy_args.strategy_config.block_size=32", Where::not_modelled},
    {"actor_infer.strategy_args.strategy_config.max_model_len=4096", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.enforce_eager=true", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.max_num_seqs=64", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.max_num_batched_tokens=32768", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.enable_chunked_prefill=false", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.enable_prefix_caching=false", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.sleep_level=2", Where::job},
    {"++actor_infer.strategy_args.strategy_config.kv_cache_dtype=fp8", Where::job},
    {"++actor_infer.strategy_args.strategy_config.quantization=fp8", Where::job},
    {"++actor_infer.strategy_args.strategy_config.quantization=fp8", Where::not_modelled},
    {"++rewards.llm_judge.strategy_args.strategy_config.quantization=fp8", Where::not_modelled},
    {"actor_infer.strategy_args.strategy_config.mem_fraction_static=0.8", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.ep_size=4", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.disable_cuda_graph=true", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.enable_memory_saver=false", Where::not_modelled, experts_rlvr},
    {"actor_infer.generating_args.num_beams=4", Where::not_modelled},
    {"++actor_infer.generating_args.num_return_sequences=2", Where::ignored},
    {"actor_infer.generating_args.max_new_tokens=100", Where::ignored},
    {"++rewards.math_rule.query_filter_config.type=mean_filter", Where::not_modelled},
    {"++rewards.math_rule.judge_model_type=api", Where::not_modelled},
};

class RollChangedSetting : public testing::TestWithParam<RollChange> {};

TEST_P(RollChangedSetting, AffectsTheExpectedResult) {
  const RollChange& changed = GetParam();
  expect_changed(roll_text(changed.file, changed.given),
                 roll_text(changed.file, changed.given + " " + changed.override), changed.where);
}

INSTANTIATE_TEST_SUITE_P(Roll, RollChangedSetting, testing::ValuesIn(roll_changes));

struct RollRejection {
  const char* overrides;
  const char* message;  ///< part of the message
  const char* file = megatron_rlvr;
};

TEST(RollConfiguration, RejectsUnsupportedConfigurations) {
  const RollRejection all[] = {
      {"adv_estimator=bananas", "accepted: gae, reinforce, grpo"},
      {"++async_generation_ratio=0.5", "accepted: 0, or 1 to 1000"},
      {"++async_generation_ratio=1 ++generate_opt_level=0", "is 0 with async_generation_ratio"},
      {"actor_train.device_mapping=\"list(range(0,2))+list(range(14,16))\"", "accepted: consecutive GPUs"},
      {"actor_train.device_mapping=\"list([0,1,2,3,8,9,10,11])\"", "[0, 1, 2, 3, 8, 9, 10, 11]"},
      {"actor_train.device_mapping=\"sorted(range(8))\"", "accepted: lists of GPUs"},
      {"actor_train.device_mapping=null", "accepted: the role's GPUs"},
      {"actor_infer.device_mapping=\"list(range(4,12))\"", "accepted: devices of one node, or whole nodes"},
      {"actor_train.strategy_args.strategy_name=vllm", "accepted: megatron_train, fsdp2_train, deepspeed_train"},
      {"actor_infer.strategy_args.strategy_name=hf_infer", "accepted: vllm, sglang"},
      {"reference.strategy_args.strategy_name=vllm", "accepted: megatron_infer, fsdp2_infer"},
      {"actor_train.strategy_args.strategy_config.tensor_model_parallel_size=3", "does not divide the 16 GPUs"},
      {"++actor_train.strategy_args.strategy_config.virtual_pipeline_model_parallel_size=3",
       "a product that divides the 28 layers"},
      {"++actor_train.strategy_args.strategy_config.overlap_param_gather=true", "accepted: false"},
      {"rollout_batch_size=66", "accepted: a multiple of 4, the number of data-parallel ranks"},
      {"actor_train.training_args.gradient_accumulation_steps=7", "is 7, but 7 steps x"},
      {"++actor_train.router_replay.mode=R2", "accepted: disable, R3"},
      {"++actor_train.use_dynamic_batching_in_train=true", "max_tokens_per_microbatch_in_train"},
      {"++actor_train.use_dynamic_batching_in_train=true ++actor_train.max_tokens_per_microbatch_in_train=4096",
       "accepted: at least 6144"},
      {"++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=best",
       "accepted: none, load_balance"},
      {"++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=load_balance "
       "++actor_train.sequence_packing_args.max_packed_sequence_length_train=4096",
       "accepted: at least 6144"},
      {"actor_infer.strategy_args.strategy_config.tensor_parallel_size=5", "does not divide the 12 GPUs"},
      {"++actor_infer.strategy_args.strategy_config.data_parallel_size=2",
       "accepted: 1, or the number of workers of actor_infer (6)"},
      {"actor_infer.strategy_args.strategy_name=sglang ++actor_infer.num_gpus_per_worker=2", "mem_fraction_static"},
      {"++rewards.other={device_mapping:\"list(range(0,2))\"}", "jobs have only one"},
      {"++is_pure_opd=true", "jobs cannot have teachers"},
      {"++use_opd=true", "jobs cannot have teachers"},
      {"++train_env_manager.num_env_groups=8", "agents' turns with environments"},
      {"++val_prompt_length=1024", "accepted: both val_prompt_length"},
      {"pretrain=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"rewards.llm_judge.model_args.model_name_or_path=x/Nothing-9B", "accepted: --model reward=NAME"},
      {"++actor_train.model_args.model_name_or_path=a ++actor_infer.model_args.model_name_or_path=b "
       "++reference.model_args.model_name_or_path=a",
       "differs from the model of actor_train"},
      {"bananas=2", "bananas"},
      {"++actor_train.model_args.lora_target=all-linear", "is set with sglang", experts_rlvr},
      {"actor_infer.num_gpus_per_worker=3", "does not divide the 32 GPUs", experts_rlvr},
      {"++actor_infer.strategy_args.strategy_config.tensor_parallel_size=2", "but each engine needs tensor",
       experts_rlvr},
      {"++actor_train.model_args.ulysses_size=2 actor_train.strategy_args.strategy_config.fsdp_size=1",
       "accepted: at least ulysses_size", fsdp_rlvr},
      {"actor_train.strategy_args.strategy_config.fsdp_size=3", "accepted: a divisor of the 8 GPUs", fsdp_rlvr},
      {"sequence_length=1024", "accepted: more than prompt_length (1024)", fsdp_rlvr},
      {"sequence_length=null", "is missing or below 1, which ROLL rejects", fsdp_rlvr},
      {"critic.device_mapping=null", "accepted: the role's GPUs", fsdp_rlvr},
      {"++reference.num_gpus_per_worker=3", "accepted: a divisor of the 8 GPUs of reference", fsdp_rlvr},
  };
  for (const RollRejection& rejected : all) {
    const base::Result<Import> read = roll(rejected.file, rejected.overrides);
    ASSERT_FALSE(read.ok()) << rejected.overrides;
    EXPECT_NE(read.error().message.find(rejected.message), std::string::npos)
        << rejected.overrides << ": " << base::to_text(read.error());
  }
  for (const char* const other :
       {"sft_train: {device_mapping: list(range(0,8))}\n", "student_train: {}\nteacher: {}\n", "actor_train: {}\n"}) {
    const base::Result<Import> read = import_run("run.yaml", other, {});
    ASSERT_FALSE(read.ok()) << other;
    EXPECT_NE(read.error().message.find("accepted: configurations of start_rlvr_pipeline"), std::string::npos)
        << base::to_text(read.error());
  }
}

}  // namespace
}  // namespace dovetail::trainers
