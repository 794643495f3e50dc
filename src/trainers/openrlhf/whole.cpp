#include <fmt/format.h>

#include <string>

#include "trainers/openrlhf/writing.h"

namespace dovetail::trainers {
namespace {

/// The GPUs of a role: all of them, which roles share.
void add_role(const JobFacts& facts, std::string_view role, std::vector<std::string>& words) {
  words.push_back(fmt::format("--{}.num_nodes {}", role, facts.nodes));
  words.push_back(fmt::format("--{}.num_gpus_per_node {}", role, facts.gpus_per_node));
}

}  // namespace

base::Result<WholeFile> openrlhf_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_said_software(facts, "OpenRLHF", {.engines = {plan::EngineKind::vllm}, .loss_entropy = true}));
  if (facts.training != "deepspeed-zero")
    return base::bad_input(
        fmt::format("OpenRLHF does not train by `training: {}`; accepted: deepspeed-zero", facts.training));
  if (facts.algorithm == "remax" || facts.steps_off_policy > 0 || !facts.trainer_log_probabilities)
    return base::bad_input(
        "OpenRLHF has neither remax nor log-probabilities of the engine, and what is off policy is no part of files "
        "without --base; accepted: ppo, grpo, reinforce++ with `policy_log_probabilities: trainer`, on policy");
  WholeFile file{.demanded = demanded_models(facts), .words = {}, .command = "python3 -m openrlhf.cli.train_ppo_ray"};
  file.demanded.push_back({"PROMPT_DATA", "prompts: a data set's folder, file or name on Hugging Face", "prompts"});
  file.demanded.push_back({"SAVE_PATH", "where the trained weights are written", "trained"});
  if (!facts.reward_model)
    file.demanded.push_back({"REWARD_RULE", "what judges: a Python file or a server's address", "rule.py"});
  std::vector<std::string>& words = file.words;
  words = {"--actor.model_name_or_path \"$ACTOR_PATH\"", "--data.prompt_dataset \"$PROMPT_DATA\"",
           "--ckpt.output_dir \"$SAVE_PATH\""};
  words.emplace_back(facts.reward_model ? "--reward.model_name_or_path \"$REWARD_PATH\""
                                        : "--reward.remote_url \"$REWARD_RULE\"");
  if (facts.critic) words.emplace_back("--critic.model_name_or_path \"$CRITIC_PATH\"");
  words.push_back(fmt::format("--algo.advantage.estimator {}", facts.critic                ? "gae"
                                                               : facts.algorithm == "grpo" ? "group_norm"
                                                                                           : "reinforce"));
  words.push_back(fmt::format("--algo.kl.init_coef {}", facts.reference ? "0.01" : "0"));
  // Entropy is computed where it has a weight, be it 0.
  if (facts.loss_entropy != plan::LossEntropy::none) words.emplace_back("--actor.entropy_coef 0");
  words.push_back(fmt::format("--rollout.batch_size {}", facts.prompts));
  words.push_back(fmt::format("--rollout.n_samples_per_prompt {}", facts.samples_per_prompt));
  words.push_back(fmt::format("--train.batch_size {}", facts.mini_batch));
  words.push_back(fmt::format("--train.max_epochs {}", facts.epochs));
  words.push_back(fmt::format("--data.max_len {}", facts.sequence_cap));
  words.push_back(fmt::format("--rollout.max_new_tokens {}", facts.response_cap));
  if (facts.packing) words.emplace_back("--ds.packing_samples");
  words.emplace_back("--train.colocate_all");
  add_role(facts, "actor", words);
  if (facts.reference) add_role(facts, "ref", words);
  if (facts.critic) add_role(facts, "critic", words);
  if (facts.reward_model) add_role(facts, "reward", words);
  return file;
}

}  // namespace dovetail::trainers
