#include <fmt/format.h>

#include <string>

#include "trainers/export/change.h"
#include "trainers/verl/writing.h"

namespace dovetail::trainers {
namespace {

/// Words of Hydra's.
struct VerlWords {
  std::vector<std::string> all = {};

  void set(std::string_view key, std::string_view value) { all.push_back(fmt::format("{}={}", key, value)); }
  void set(std::string_view key, std::int64_t value) { set(key, fmt::format("{}", value)); }
  void turn(std::string_view key, bool on) { set(key, flag_text(on)); }
};

std::string estimator_of(const JobFacts& facts) {
  if (facts.algorithm == "ppo") return "gae";
  return facts.algorithm == "reinforce++" ? "reinforce_plus_plus" : facts.algorithm;
}

void add_batches(const JobFacts& facts, VerlWords& words) {
  words.set("data.train_batch_size", facts.prompts);
  words.set("data.max_prompt_length", facts.prompt_cap);
  words.set("data.max_response_length", facts.response_cap);
  if (facts.ends_together()) words.set("actor_rollout_ref.rollout.max_model_len", facts.sequence_cap);
  words.set("actor_rollout_ref.rollout.n", facts.samples_per_prompt);
  words.set("actor_rollout_ref.actor.ppo_mini_batch_size", facts.mini_batch / facts.samples_per_prompt);
  words.set("actor_rollout_ref.actor.ppo_epochs", facts.epochs);
  words.turn(facts.megatron() ? "actor_rollout_ref.actor.megatron.use_remove_padding"
                              : "actor_rollout_ref.model.use_remove_padding",
             facts.packing);
}

}  // namespace

base::Result<WholeFile> verl_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_said_software(
      facts, "verl",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang, plan::EngineKind::trtllm}, .loss_entropy = true}));
  if (facts.training != "verl-fsdp" && facts.training != "megatron-policy")
    return base::bad_input(
        fmt::format("verl does not train by `training: {}`; accepted: verl-fsdp, megatron-policy", facts.training));
  if (facts.steps_off_policy > 0)
    return base::bad_input(
        "verl's modes off policy are no part of files without --base; accepted: `steps_off_policy: "
        "0`, or --base");
  if (facts.mini_batch % facts.samples_per_prompt != 0)
    return base::bad_input(
        fmt::format("verl's mini-batches are of whole groups; accepted: a multiple of the {} "
                    "samples of a prompt, not {}",
                    facts.samples_per_prompt, facts.mini_batch));
  WholeFile file{.demanded = demanded_models(facts), .words = {}, .command = "python3 -m verl.trainer.main_ppo"};
  file.demanded.push_back({"TRAIN_FILES", "prompts to train on, a Parquet file", "train.parquet"});
  file.demanded.push_back({"VAL_FILES", "prompts to evaluate on, a Parquet file", "val.parquet"});
  VerlWords words;
  if (facts.megatron()) words.set("model_engine", "megatron");
  words.set("algorithm.adv_estimator", estimator_of(facts));
  words.set("data.train_files", "\"$TRAIN_FILES\"");
  words.set("data.val_files", "\"$VAL_FILES\"");
  words.set("actor_rollout_ref.model.path", "\"$ACTOR_PATH\"");
  words.set("actor_rollout_ref.rollout.name", std::string(base::enum_name(facts.engine)));
  add_batches(facts, words);
  // Its loss has no entropy unless it is asked for.
  if (facts.loss_entropy != plan::LossEntropy::none) words.turn("actor_rollout_ref.actor.calculate_entropy", true);
  words.turn("actor_rollout_ref.actor.use_kl_loss", facts.reference && !facts.critic);
  words.turn("algorithm.use_kl_in_reward", facts.reference && facts.critic);
  if (!facts.trainer_log_probabilities) words.turn("algorithm.rollout_correction.bypass_mode", true);
  if (facts.critic) {
    words.set("critic.model.path", "\"$CRITIC_PATH\"");
    if (!facts.megatron()) words.turn("critic.model.use_remove_padding", facts.packing);
  }
  if (facts.reward_model) {
    words.turn("reward.reward_model.enable", true);
    words.set("reward.reward_model.model_path", "\"$REWARD_PATH\"");
  }
  words.set("trainer.nnodes", facts.nodes);
  words.set("trainer.n_gpus_per_node", facts.gpus_per_node);
  file.words = std::move(words.all);
  return file;
}

}  // namespace dovetail::trainers
