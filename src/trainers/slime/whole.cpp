#include <fmt/format.h>

#include <string>

#include "trainers/slime/writing.h"

namespace dovetail::trainers {
namespace {

/// Words of a command.
struct FlagWords {
  std::vector<std::string> all = {};

  void set(std::string_view flag, std::int64_t value) { all.push_back(fmt::format("{} {}", flag, value)); }
  void say(std::string_view words) { all.emplace_back(words); }
  void turn(std::string_view flag, bool on) {
    if (on) say(flag);
  }
};

void add_attention(const llm::Transformer& model, FlagWords& words) {
  words.set("--num-attention-heads", model.heads);
  words.turn("--disable-bias-linear", !model.attention_output_bias);
  words.turn("--qk-layernorm", model.query_key_norm);
  if (model.latent) {
    words.say("--multi-latent-attention");
    if (model.latent->query_rank > 0) words.set("--q-lora-rank", model.latent->query_rank);
    words.set("--kv-lora-rank", model.latent->key_value_rank);
    words.set("--qk-head-dim", model.latent->plain_size);
    words.set("--qk-pos-emb-head-dim", model.latent->rotary_size);
    words.set("--v-head-dim", model.latent->value_size);
    return;
  }
  words.set("--kv-channels", model.head_size);
  words.turn("--add-qkv-bias", model.query_key_value_bias && !model.attention_output_bias);
  if (model.key_value_heads == model.heads) return;
  words.say("--group-query-attention");
  words.set("--num-query-groups", model.key_value_heads);
}

void add_experts(const llm::Transformer& model, FlagWords& words) {
  if (!model.experts) return;
  const llm::Experts& experts = *model.experts;
  words.set("--num-experts", experts.count);
  words.set("--moe-router-topk", experts.active);
  words.set("--moe-ffn-hidden-size", experts.width);
  words.say("--moe-grouped-gemm");
  if (experts.shared_width > 0) words.set("--moe-shared-expert-intermediate-size", experts.shared_width);
  words.turn("--moe-shared-expert-gate", experts.shared_gate);
  words.turn("--moe-router-enable-expert-bias", experts.router_bias);
  if (experts.dense_layers > 0)
    words.say(
        fmt::format("--moe-layer-freq '[0]*{}+[1]*{}'", experts.dense_layers, model.layers - experts.dense_layers));
}

/// The shape, which slime's own scripts for models say likewise.
void add_shape(const llm::Transformer& model, FlagWords& words) {
  words.set("--num-layers", model.layers);
  words.set("--hidden-size", model.hidden);
  words.set("--ffn-hidden-size", model.width);
  words.set("--vocab-size", model.vocabulary);
  words.turn("--swiglu", model.feed_forward == llm::FeedForward::gated);
  if (model.normalization == llm::Normalization::root_mean_square) words.say("--normalization RMSNorm");
  words.turn("--untie-embeddings-and-output-weights", !model.tied_embeddings);
  if (model.positions > 0) {
    words.set("--max-position-embeddings", model.positions);
  } else {
    words.say("--use-rotary-position-embeddings");
    words.say("--rotary-base \"$ROTARY_BASE\"");
  }
  words.say("--norm-epsilon \"$NORM_EPSILON\"");
  add_attention(model, words);
  add_experts(model, words);
}

void add_batches(const JobFacts& facts, FlagWords& words) {
  words.set("--rollout-batch-size", facts.prompts);
  words.set("--n-samples-per-prompt", facts.samples_per_prompt);
  words.set("--global-batch-size", facts.mini_batch);
  words.set("--rollout-max-prompt-len", facts.prompt_cap);
  words.set("--rollout-max-response-len", facts.response_cap);
  if (facts.ends_together()) words.set("--rollout-max-context-len", facts.sequence_cap);
}

base::Status check_slime_facts(const JobFacts& facts) {
  DOVETAIL_CHECK(check_said_software(facts, "slime", {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}}));
  if (facts.training != "megatron-policy")
    return base::bad_input(
        fmt::format("slime does not train by `training: {}`; accepted: megatron-policy", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model || facts.epochs != 1 || !facts.packing)
    return base::bad_input(
        "slime has neither remax, nor models that judge, nor several epochs, nor rows without packing; accepted: ppo, "
        "grpo, reinforce++ with `reward: rule` and `epochs: 1`");
  if (facts.steps_off_policy > 1 || (facts.steps_off_policy == 1 && facts.colocated))
    return base::bad_input(
        "slime is at most one step off policy, with engines on GPUs of their own; accepted: "
        "`steps_off_policy: 0`, or 1 and such a plan");
  return {};
}

}  // namespace

base::Result<WholeFile> slime_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_slime_facts(facts));
  WholeFile file{.demanded = demanded_models(facts)};
  file.command = facts.steps_off_policy > 0 ? "python3 train_async.py" : "python3 train.py";
  const auto demand = [&file](const char* name, const char* what, const char* example) {
    file.demanded.push_back({name, what, example});
  };
  std::erase_if(file.demanded, [](const DemandedName& each) { return each.name != "ACTOR_PATH"; });
  demand("MEGATRON_PATH", "the actor's weights as Megatron-LM has them, a torch_dist checkpoint", "/models/dist");
  demand("PROMPT_DATA", "prompts, a JSONL file with `input` and `label`", "prompts.jsonl");
  demand("REWARD_TYPE", "the rule that judges, a --rm-type of slime's", "math");
  demand("NUM_ROLLOUT", "how many iterations are run", "100");
  demand("NORM_EPSILON", "the model's rms_norm_eps, as its config.json says", "1e-6");
  if (facts.actor.positions == 0) demand("ROTARY_BASE", "the model's rope_theta, as its config.json says", "1000000");
  FlagWords words;
  words.say("--hf-checkpoint \"$ACTOR_PATH\"");
  words.say("--load \"$MEGATRON_PATH\"");
  words.say("--prompt-data \"$PROMPT_DATA\"");
  words.say("--label-key label");
  words.say("--rm-type \"$REWARD_TYPE\"");
  words.say("--num-rollout \"$NUM_ROLLOUT\"");
  add_shape(facts.actor, words);
  add_batches(facts, words);
  words.say(facts.critic                ? "--advantage-estimator ppo"
            : facts.algorithm == "grpo" ? "--advantage-estimator grpo"
                                        : "--advantage-estimator reinforce_plus_plus --normalize-advantages");
  if (facts.reference) words.say("--use-kl-loss --kl-loss-coef 0.001 --ref-load \"$MEGATRON_PATH\"");
  words.turn("--colocate", facts.colocated);
  // Where an iteration has one step its own forward gives them.
  words.turn("--use-rollout-logprobs",
             !facts.trainer_log_probabilities && facts.mini_batch < facts.prompts * facts.samples_per_prompt);
  // Megatron-LM's own dropout is 0.1, and it has no rate.
  words.say("--attention-dropout 0.0 --hidden-dropout 0.0");
  words.say("--optimizer adam --lr 1e-6 --lr-decay-style constant");
  file.words = std::move(words.all);
  return file;
}

}  // namespace dovetail::trainers
