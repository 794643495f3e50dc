// Configurations of ROLL that the tests modify.
#pragma once

#include <algorithm>
#include <string>

#include "trainers/imported.h"

namespace dovetail::trainers {

/// Dense model trained by Megatron. Engines use some of its GPUs, and a reward model for one domain uses the others.
inline constexpr const char* megatron_rlvr =
    "hydra: {run: {dir: .}}\n"
    "num_gpus_per_node: 8\n"
    "rollout_batch_size: 64\n"
    "prompt_length: 2048\n"
    "response_length: 4096\n"
    "num_return_sequences_in_group: 8\n"
    "ppo_epochs: 1\n"
    "adv_estimator: grpo\n"
    "pretrain: Qwen/Qwen2.5-7B\n"
    "actor_train:\n"
    "  model_args: {dtype: bf16, model_type: ~}\n"
    "  training_args: {per_device_train_batch_size: 1, gradient_accumulation_steps: 16}\n"
    "  strategy_args:\n"
    "    strategy_name: megatron_train\n"
    "    strategy_config:\n"
    "      tensor_model_parallel_size: 2\n"
    "      pipeline_model_parallel_size: 2\n"
    "      use_distributed_optimizer: true\n"
    "      recompute_granularity: full\n"
    "  device_mapping: list(range(0,16))\n"
    "  infer_batch_size: 4\n"
    "actor_infer:\n"
    "  model_args: {dtype: bf16}\n"
    "  generating_args: {max_new_tokens: '${response_length}', num_beams: 1}\n"
    "  strategy_args:\n"
    "    strategy_name: vllm\n"
    "    strategy_config: {gpu_memory_utilization: 0.8, block_size: 16, max_model_len: 8000, tensor_parallel_size: 2}\n"
    "  device_mapping: list(range(0,12))\n"
    "  infer_batch_size: 1\n"
    "reference:\n"
    "  model_args: {dtype: bf16}\n"
    "  strategy_args: {strategy_name: megatron_infer, strategy_config: {tensor_model_parallel_size: 2}}\n"
    "  device_mapping: list(range(0,16))\n"
    "  infer_batch_size: 8\n"
    "rewards:\n"
    "  math_rule: {worker_cls: rules.Math, world_size: 8, infer_batch_size: 1}\n"
    "  llm_judge:\n"
    "    judge_model_type: inference\n"
    "    model_args: {model_name_or_path: Qwen/Qwen2.5-3B-Instruct}\n"
    "    strategy_args: {strategy_name: vllm, strategy_config: {gpu_memory_utilization: 0.8}}\n"
    "    device_mapping: list(range(12,16))\n"
    "    infer_batch_size: 4\n";

/// Model with experts trained by Megatron with a pipeline, with SGLang engines and a reward rule.
inline constexpr const char* experts_rlvr =
    "rollout_batch_size: 64\n"
    "prompt_length: 1024\n"
    "response_length: 3072\n"
    "num_return_sequences_in_group: 16\n"
    "adv_estimator: reinforce\n"
    "init_kl_coef: 0\n"
    "pretrain: Qwen/Qwen3-30B-A3B-Base\n"
    "actor_train:\n"
    "  training_args: {per_device_train_batch_size: 1, gradient_accumulation_steps: 64}\n"
    "  strategy_args:\n"
    "    strategy_name: megatron_train\n"
    "    strategy_config:\n"
    "      pipeline_model_parallel_size: 2\n"
    "      expert_model_parallel_size: 8\n"
    "      use_distributed_optimizer: true\n"
    "      moe_token_dispatcher_type: alltoall\n"
    "      overlap_grad_reduce: true\n"
    "  device_mapping: list(range(0,32))\n"
    "actor_infer:\n"
    "  strategy_args: {strategy_name: sglang, strategy_config: {mem_fraction_static: 0.7}}\n"
    "  num_gpus_per_worker: 4\n"
    "  device_mapping: list(range(0,32))\n";

/// Dense model trained by FSDP, with a critic.
inline constexpr const char* fsdp_rlvr =
    "rollout_batch_size: 32\n"
    "prompt_length: 1024\n"
    "sequence_length: 3072\n"
    "num_return_sequences_in_group: 4\n"
    "pretrain: Qwen/Qwen3-8B\n"
    "reward_pretrain: Qwen/Qwen3-4B\n"
    "actor_train:\n"
    "  model_args: {attn_implementation: fa2}\n"
    "  training_args: {per_device_train_batch_size: 2, gradient_accumulation_steps: 2}\n"
    "  strategy_args: {strategy_name: fsdp2_train, strategy_config: {fsdp_size: 8}}\n"
    "  device_mapping: list(range(0,8))\n"
    "critic:\n"
    "  training_args: {per_device_train_batch_size: 2, gradient_accumulation_steps: 2}\n"
    "  strategy_args: {strategy_name: fsdp2_train, strategy_config: {fsdp_size: 8}}\n"
    "  device_mapping: list(range(0,8))\n"
    "actor_infer:\n"
    "  strategy_args: {strategy_name: vllm, strategy_config: {gpu_memory_utilization: 0.6}}\n"
    "  device_mapping: list(range(0,8))\n"
    "reference:\n"
    "  strategy_args: {strategy_name: hf_infer, strategy_config: ~}\n"
    "  device_mapping: list(range(0,8))\n";

inline const std::string roll_dynamic =
    "++actor_train.use_dynamic_batching_in_train=true ++actor_train.max_tokens_per_microbatch_in_train=12288 "
    "++actor_train.use_dynamic_batching_in_infer=true ++actor_train.max_tokens_per_microbatch_in_infer=24576";
inline const std::string roll_balanced =
    "++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=load_balance "
    "++actor_train.sequence_packing_args.max_packed_sequence_length_train=8192 "
    "++actor_train.sequence_packing_args.max_packed_sequence_length_forward=16384";
/// Overrides that train adapters. The reference is then the actor without its adapters.
inline const std::string roll_adapters =
    "++actor_train.model_args.lora_target=all-linear ++actor_train.model_args.lora_rank=32";

/// Returns options with these overrides, which are separated by spaces.
inline ImportOptions with_words(const std::string& overrides) {
  ImportOptions options;
  std::size_t begin = 0;
  while (begin < overrides.size()) {
    const std::size_t end = std::min(overrides.find(' ', begin), overrides.size());
    if (end > begin) options.arguments.push_back(overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

inline base::Result<Import> roll(const char* file, const std::string& overrides = {}) {
  return import_run("run.yaml", file, with_words(overrides));
}

inline ImportedText roll_text(const char* file, const std::string& overrides = {}) {
  return imported_text_of("run.yaml", file, with_words(overrides));
}

}  // namespace dovetail::trainers
