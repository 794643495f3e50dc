#include <fmt/format.h>

#include <string>

#include "trainers/export/change.h"
#include "trainers/nemo_rl/writing.h"

namespace dovetail::trainers {
namespace {

/// The backend of `policy` or `value`, and how it packs.
std::string backend_text(const JobFacts& facts) {
  return fmt::format(
      "  dtensor_cfg:\n    enabled: {}\n  megatron_cfg:\n    enabled: {}\n  sequence_packing:\n    enabled: {}\n"
      "  dynamic_batching:\n    enabled: false\n",
      yaml_flag(!facts.megatron()), yaml_flag(facts.megatron()), yaml_flag(facts.packing));
}

}  // namespace

base::Result<WholeFile> nemo_rl_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_said_software(facts, "NeMo-RL", {.engines = {plan::EngineKind::vllm}}));
  if (facts.training != "fsdp2" && facts.training != "nemo-rl-megatron")
    return base::bad_input(
        fmt::format("NeMo-RL does not train by `training: {}`; accepted: fsdp2, nemo-rl-megatron", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model || facts.steps_off_policy > 0)
    return base::bad_input(
        "remax, reward models and what is off policy are no part of NeMo-RL's files without --base; accepted: ppo, "
        "grpo, reinforce++ with `reward: rule`, on policy");
  const std::string loop = facts.critic ? "ppo" : "grpo";
  WholeFile file{.demanded = demanded_models(facts)};
  std::string& text = file.yaml;
  text = fmt::format(
      "# Stands beside NeMo-RL's examples/configs/{}_math_1B.yaml, which it begins from: data and reward "
      "are those of that file.\ndefaults: {}_math_1B.yaml\n",
      loop, loop);
  text += fmt::format("{}:\n  num_prompts_per_step: {}\n  num_generations_per_prompt: {}\n", loop, facts.prompts,
                      facts.samples_per_prompt);
  if (facts.critic) text += fmt::format("  ppo_epochs: {}\n", facts.epochs);
  if (facts.algorithm == "reinforce++") text += "  adv_estimator:\n    name: reinforce_plus_plus\n";
  text += fmt::format("loss_fn:\n  reference_policy_kl_penalty: {}\n", facts.reference ? "0.01" : "0");
  if (!facts.trainer_log_probabilities) text += "  force_on_policy_ratio: true\n";
  text += fmt::format(
      "policy:\n  model_name: ${{oc.env:ACTOR_PATH}}\n  train_global_batch_size: {}\n  max_total_sequence_length: {}\n",
      facts.mini_batch, facts.sequence_cap);
  text += backend_text(facts);
  // Responses that end together with prompts have all that these leave.
  if (!facts.ends_together()) text += fmt::format("  generation:\n    max_new_tokens: {}\n", facts.response_cap);
  if (facts.critic) text += "value:\n  model_name: ${oc.env:CRITIC_PATH}\n" + backend_text(facts);
  text += fmt::format("data:\n  max_input_seq_length: {}\n", facts.prompt_cap);
  text += fmt::format("cluster:\n  num_nodes: {}\n  gpus_per_node: {}\n", facts.nodes, facts.gpus_per_node);
  return file;
}

}  // namespace dovetail::trainers
