// Launch scripts of OpenRLHF that the tests modify.
#pragma once

#include <string>

#include "trainers/verl/imported.h"

namespace dovetail::trainers {

/// PPO with all roles and engines on one node.
inline const std::string openrlhf_ppo =
    "#!/bin/bash\nray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-8B "
    "--reward.model_name_or_path Qwen/Qwen3-4B --vllm.num_engines 4 --vllm.tensor_parallel_size 2 "
    "--train.colocate_all --vllm.enable_sleep --ds.enable_sleep --ds.zero_stage 3 --ds.packing_samples "
    "--rollout.batch_size 256 --rollout.n_samples_per_prompt 2 --rollout.max_new_tokens 1024 ";

/// PPO with separate GPUs for each role and the engines.
inline const std::string openrlhf_apart =
    "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-8B "
    "--reward.model_name_or_path Qwen/Qwen3-4B --vllm.num_engines 4 --vllm.tensor_parallel_size 2 "
    "--rollout.batch_size 256 ";

/// GRPO with a reward rule, all on one node.
inline std::string openrlhf_ruled_script(const std::string& model) {
  return "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path " + model +
         " --reward.remote_url rule.py --algo.advantage.estimator group_norm --vllm.num_engines 4 "
         "--vllm.tensor_parallel_size 2 --train.colocate_all --vllm.enable_sleep --rollout.batch_size 256 "
         "--rollout.n_samples_per_prompt 2 ";
}
inline const std::string openrlhf_ruled = openrlhf_ruled_script("Qwen/Qwen3-8B");
inline const std::string openrlhf_experts = openrlhf_ruled_script("Qwen/Qwen3-30B-A3B");

}  // namespace dovetail::trainers
