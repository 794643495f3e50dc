// Configurations of AReaL that the tests modify.
#pragma once

#include <algorithm>
#include <string>

#include "trainers/imported.h"

namespace dovetail::trainers {

/// GRPO on one node with FSDP and SGLang.
inline constexpr const char* fsdp_grpo =
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

/// PPO of a model with experts on several nodes, with Megatron and vLLM.
inline constexpr const char* megatron_ppo =
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

/// Archon with a pipeline.
inline constexpr const char* archon_grpo =
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

/// A file in the format from before March 2026.
inline constexpr const char* old_grpo =
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

/// Overrides that put the rollout on the actor's GPUs.
inline constexpr const char* areal_sharing =
    "enable_offload=true +actor.weight_update_mode=disk +rollout.scheduling_strategy.type=colocation "
    "+rollout.scheduling_strategy.target=actor";

/// Returns options with these overrides, which are separated by spaces.
inline ImportOptions areal_overrides(const std::string& overrides) {
  ImportOptions options;
  std::size_t begin = 0;
  while (begin < overrides.size()) {
    const std::size_t end = std::min(overrides.find(' ', begin), overrides.size());
    if (end > begin) options.arguments.push_back(overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

inline base::Result<Import> areal(const char* file, const std::string& overrides = {}) {
  return import_run("run.yaml", file, areal_overrides(overrides));
}

inline ImportedText areal_text(const char* file, const std::string& overrides = {}) {
  return imported_text_of("run.yaml", file, areal_overrides(overrides));
}

}  // namespace dovetail::trainers
