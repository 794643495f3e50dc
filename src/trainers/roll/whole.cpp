#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "trainers/export/change.h"
#include "trainers/roll/writing.h"

namespace dovetail::trainers {
namespace {

base::Status check_roll_facts(const JobFacts& facts) {
  if (facts.training != "roll-megatron" && facts.training != "fsdp2" && facts.training != "deepspeed-zero")
    return base::bad_input(fmt::format(
        "ROLL does not train by `training: {}`; accepted: roll-megatron, fsdp2, deepspeed-zero", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model)
    return base::bad_input(
        "files of ROLL without --base are of ppo, grpo and reinforce++ with `reward: rule`; accepted: such a job, or "
        "--base");
  return check_said_software(
      facts, "ROLL",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}, .half_types = facts.training == "fsdp2"});
}

/// The strategy of a role; the plan says what is in its configuration.
std::string strategy_text(const JobFacts& facts, bool trains) {
  const std::string backend = facts.training == "roll-megatron" ? "megatron"
                              : facts.training == "fsdp2"       ? "fsdp2"
                                                                : "deepspeed";
  const std::string more = backend == "megatron" ? "      tensor_model_parallel_size: 1\n"
                           : backend == "fsdp2"
                               ? fmt::format("      fsdp_size: {}\n{}", facts.nodes * facts.gpus_per_node,
                                             facts.half_types ? "      param_dtype: bf16\n" : "")
                               : "      zero_optimization:\n        stage: 3\n";
  return fmt::format("  strategy_args:\n    strategy_name: {}_{}\n    strategy_config:\n{}", backend,
                     trains ? "train" : "infer", more);
}

std::string roll_trained_text(const JobFacts& facts, std::string_view role, std::string_view path) {
  std::string text = fmt::format("{}:\n  model_args:\n    model_name_or_path: {}\n    dtype: bf16\n", role, path);
  text += fmt::format(
      "  training_args:\n    learning_rate: 1.0e-6\n    per_device_train_batch_size: 1\n"
      "    gradient_accumulation_steps: {}\n",
      std::max<std::int64_t>(facts.mini_batch / (facts.nodes * facts.gpus_per_node), 1));
  if (role == "actor_train")
    text +=
        "  data_args:\n    template: ${oc.env:CHAT_TEMPLATE}\n    file_name:\n      - ${oc.env:TRAIN_FILE}\n"
        "    domain_interleave_probs:\n      math_rule: 1\n    messages: messages\n    interleave_probs: \"1.0\"\n"
        "    preprocessing_num_workers: 16\n";
  if (facts.training == "roll-megatron") text += fmt::format("  use_sequence_packing: {}\n", yaml_flag(facts.packing));
  text += strategy_text(facts, true);
  return text + fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n",
                            facts.nodes * facts.gpus_per_node);
}

std::string roll_head_text(const JobFacts& facts) {
  return fmt::format(
      "hydra:\n  run:\n    dir: .\n  output_subdir: null\nexp_name: dovetail\nseed: 42\nlogging_dir: ./output/logs\n"
      "output_dir: ./output\ncheckpoint_config:\n  type: file_system\n  output_dir: ${{oc.env:SAVE_PATH}}\n"
      "num_gpus_per_node: {}\nmax_steps: 500\nsave_steps: 100\nlogging_steps: 1\neval_steps: 10\n"
      "rollout_batch_size: {}\nnum_return_sequences_in_group: {}\nprompt_length: {}\nresponse_length: {}\n"
      "ppo_epochs: {}\nadv_estimator: {}\ninit_kl_coef: 0.0\nuse_kl_loss: {}\nenable_reference: {}\n"
      "async_generation_ratio: {}\npretrain: ${{oc.env:ACTOR_PATH}}\n",
      facts.gpus_per_node, facts.prompts, facts.samples_per_prompt, facts.prompt_cap, facts.response_cap, facts.epochs,
      facts.critic                ? "gae"
      : facts.algorithm == "grpo" ? "grpo"
                                  : "reinforce",
      yaml_flag(facts.reference), yaml_flag(facts.reference), facts.steps_off_policy);
}

}  // namespace

base::Result<WholeFile> roll_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_roll_facts(facts));
  WholeFile file{.demanded = demanded_models(facts)};
  file.demanded.push_back({"TRAIN_FILE", "prompts, a JSONL file with the tags of the rule that judges", "train.jsonl"});
  file.demanded.push_back({"CHAT_TEMPLATE", "the model's chat template by ROLL's name, as qwen2_5", "qwen2_5"});
  file.demanded.push_back({"SAVE_PATH", "where the trained weights are written", "trained"});
  std::string& text = file.yaml;
  text = "# For ROLL's examples/start_rlvr_pipeline.py, by --config_path and --config_name.\n" + roll_head_text(facts);
  if (facts.critic) text += "reward_pretrain: ${oc.env:CRITIC_PATH}\n";
  // The log-probabilities of a step that has its own forward need no pass, unless a job says that it has one.
  text += fmt::format("{}: true\n", facts.trainer_log_probabilities ? "enable_old_logprobs_recompute"
                                                                    : "force_disable_old_logprobs_recompute");
  text += roll_trained_text(facts, "actor_train", "${pretrain}");
  if (facts.critic) text += roll_trained_text(facts, "critic", "${reward_pretrain}");
  text +=
      "actor_infer:\n  model_args:\n    model_name_or_path: ${pretrain}\n    dtype: bf16\n  generating_args:\n"
      "    max_new_tokens: ${response_length}\n    temperature: 1.0\n"
      "    num_return_sequences: ${num_return_sequences_in_group}\n  data_args:\n"
      "    template: ${oc.env:CHAT_TEMPLATE}\n";
  text += facts.engine == plan::EngineKind::sglang
              ? "  strategy_args:\n    strategy_name: sglang\n    strategy_config:\n      mem_fraction_static: 0.8\n"
              : "  strategy_args:\n    strategy_name: vllm\n    strategy_config:\n      gpu_memory_utilization: 0.8\n"
                "      block_size: 16\n";
  if (facts.ends_together())
    text += fmt::format("      {}: {}\n", facts.engine == plan::EngineKind::sglang ? "context_length" : "max_model_len",
                        facts.sequence_cap);
  text +=
      fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n", facts.nodes * facts.gpus_per_node);
  if (facts.reference)
    text +=
        "reference:\n  model_args:\n    model_name_or_path: ${pretrain}\n    dtype: bf16\n  data_args:\n"
        "    template: ${oc.env:CHAT_TEMPLATE}\n" +
        strategy_text(facts, false) +
        fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n", facts.nodes * facts.gpus_per_node);
  text +=
      "rewards:\n  math_rule:\n    worker_cls: "
      "roll.pipeline.rlvr.rewards.math_rule_reward_worker.MathRuleRewardWorker\n    model_args:\n"
      "      model_name_or_path: ${pretrain}\n    data_args:\n      template: ${oc.env:CHAT_TEMPLATE}\n"
      "    tag_included: [math_rule]\n    world_size: 8\n    infer_batch_size: 1\n";
  return file;
}

}  // namespace dovetail::trainers
