// Launch scripts of the tests, and their import.
#pragma once

#include <string>
#include <vector>

#include "trainers/imported.h"

namespace dovetail::trainers {

/// Returns a launch script with these overrides.
inline std::string script_of(const std::vector<std::string>& overrides, const std::string& more = {}) {
  std::string script = "#!/bin/bash\nset -x\npython3 -m verl.trainer.main_ppo";
  for (const std::string& override : overrides) script += " \\\n    " + override;
  return script + more + " \"$@\"\n";
}

inline const std::vector<std::string> grpo_fsdp{
    "algorithm.adv_estimator=grpo",
    "data.train_batch_size=256",
    "data.max_prompt_length=1024",
    "data.max_response_length=2048",
    "actor_rollout_ref.model.path=Qwen/Qwen3-8B",
    "actor_rollout_ref.actor.ppo_mini_batch_size=64",
    "actor_rollout_ref.actor.use_dynamic_bsz=True",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=12288",
    "actor_rollout_ref.actor.use_kl_loss=True",
    "actor_rollout_ref.rollout.name=vllm",
    "actor_rollout_ref.rollout.n=8",
    "trainer.nnodes=2",
    "trainer.n_gpus_per_node=8",
};

inline const std::vector<std::string> ppo_megatron{
    "model_engine=megatron",
    "algorithm.adv_estimator=gae",
    "data.train_batch_size=512",
    "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2",
    "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2",
    "actor_rollout_ref.actor.use_kl_loss=True",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4",
    "actor_rollout_ref.rollout.name=sglang",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4",
    "critic.model.path=Qwen/Qwen3-8B",
    "critic.ppo_micro_batch_size_per_gpu=4",
    "critic.megatron.tensor_model_parallel_size=2",
    "critic.megatron.pipeline_model_parallel_size=2",
    "trainer.n_gpus_per_node=8",
    "trainer.nnodes=2",
};

inline base::Result<Import> imported(const std::string& script, const ImportOptions& options = {}) {
  return import_run("run.sh", script, options);
}

inline ImportedText imported_text(const std::string& script, const ImportOptions& options = {}) {
  return imported_text_of("run.sh", script, options);
}

}  // namespace dovetail::trainers
