// Generated verl logs that begin with the configuration.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

namespace dovetail::trainers {

/// The settings of grpo_fsdp as pprint wraps them.
inline const std::vector<std::string> printed{
    "{'actor_rollout_ref': {'actor': {'checkpoint': {'save_contents': ['model',",
    "                                                                  'optimizer']},",
    "                                 'grad_clip': 1.0,",
    "                                 'optim': {'lr': 1e-06},",
    "                                 'ppo_max_token_len_per_gpu': 12288,",
    "                                 'ppo_micro_batch_size': None,",
    "                                 'ppo_mini_batch_size': 64,",
    "                                 'strategy': 'fsdp',",
    "                                 'use_dynamic_bsz': True,",
    "                                 'use_kl_loss': True},",
    "                       'model': {'custom_chat_template': '{% for message in '",
    "                                                         \"messages %}it's\",",
    "                                 'path': 'Qwen/Qwen3-8B'},",
    "                       'rollout': {'n': 8, 'name': 'vllm'}},",
    " 'algorithm': {'adv_estimator': 'grpo'},",
    " 'data': {'max_prompt_length': 1024,",
    "          'max_response_length': 2048,",
    "          'train_batch_size': 256},",
    " 'trainer': {'logger': ('console', 'wandb'), 'n_gpus_per_node': 8, 'nnodes': 2}}",
};

/// Returns a step of verl's console output with this many seconds of generation.
inline std::string verl_step(int step, double generation, double mean_response = 400) {
  return fmt::format(
      "step:{} - timing_s/gen:{:.3f} - timing_s/old_log_prob:3.000 - timing_s/ref:3.000 - timing_s/update_actor:20.000 "
      "- "
      "timing_s/step:{:.3f} - response_length/mean:{:.3f} - response_length/max:1900.000 - "
      "response_length/clip_ratio:0.000 - prompt_length/mean:120.000 - prompt_length/max:480.000\n",
      step, generation, generation + 30, mean_response);
}

/// Returns a log of other output, then these lines, each after `prefix`, then steps.
inline std::string log_with(const std::vector<std::string>& lines, const std::string& prefix,
                            const std::string& between = "") {
  std::string log = "2026-01-05 10:00:00,000 INFO worker.py: Started a local Ray instance.\n" + prefix + "\n";
  for (const std::string& line : lines) log += prefix + line + "\n" + between;
  return log + prefix + verl_step(1, 40) + prefix + verl_step(2, 30) + prefix + verl_step(3, 25) + prefix +
         verl_step(4, 25);
}

inline const std::string ray = "\x1B[36m(TaskRunner pid=4711, ip=10.0.0.7)\x1B[0m ";
inline const std::string other = "\x1B[36m(WorkerDict pid=99)\x1B[0m {'a': [1,\n";

}  // namespace dovetail::trainers
