#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "trainers/slime/slime.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Sets `--x` or `--no-x`.
void choose(ChangeList& changes, std::string_view name, bool on) {
  changes.set_flag(fmt::format("--{}{}", on ? "" : "no-", name), true);
}

/// Sets the sizes of both pools. A pool larger than a node has whole nodes.
void add_pools(const plan::Job& job, const plan::TaskPlan& trained, const plan::TaskPlan& generated,
               ChangeList& changes) {
  const int count = trained.mesh.count;
  const int node = job.cluster.groups.front().devices_per_node;
  const int nodes = count > node && count % node == 0 ? count / node : 1;
  changes.set("--actor-num-gpus-per-node", count / nodes, {{"--actor-num-nodes", fmt::format("{}", nodes)}});
  changes.set("--rollout-num-gpus", generated.mesh.count);
}

void add_engines(const plan::TaskPlan& planned, bool has_experts, ChangeList& changes) {
  const llm::Layout& layout = planned.layout;
  const plan::Engine& engine = planned.engine;
  const int stage = has_experts ? std::max(layout.tensor, layout.expert * layout.expert_tensor) : layout.tensor;
  const int ranks = std::max(stage / std::max(layout.tensor, 1), 1);
  changes.set("--rollout-num-gpus-per-engine", stage * layout.pipeline);
  changes.set("--sglang-pp-size", layout.pipeline);
  if (has_experts) {
    std::vector<Setter> with;
    if (ranks > 1) with = {{"--sglang-enable-dp-attention", ""}};
    changes.set("--sglang-dp-size", ranks, std::move(with));
    changes.set("--sglang-ep-size", layout.expert);
  }
  changes.set("--sglang-mem-fraction-static", number_text(engine.memory_utilization));
  const std::int64_t sequences = engine.max_num_seqs * ranks;
  changes.set("--sglang-max-running-requests", sequences);
  // This flag also limits an engine, so it must not be less than the plan's limit.
  changes.set("--sglang-server-concurrency", sequences);
  changes.set("--sglang-chunked-prefill-size", engine.chunked_prefill ? engine.max_num_batched_tokens : -1);
  changes.set_flag("--sglang-disable-cuda-graph", !engine.cuda_graphs);
}

void add_layout(const llm::Layout& layout, bool has_experts, ChangeList& changes) {
  changes.set("--tensor-model-parallel-size", layout.tensor);
  changes.set_flag("--sequence-parallel", layout.sequence_parallel);
  changes.set("--pipeline-model-parallel-size", layout.pipeline);
  changes.set("--context-parallel-size", layout.context);
  if (has_experts) {
    changes.set("--expert-model-parallel-size", layout.expert);
    changes.set("--expert-tensor-parallel-size", layout.expert_tensor);
  }
  changes.remove("--num-layers-per-virtual-pipeline-stage");
  if (layout.virtual_stages > 1)
    changes.set("--num-virtual-stages-per-pipeline-rank", layout.virtual_stages);
  else
    changes.remove("--num-virtual-stages-per-pipeline-rank");
  if (layout.stage_layers.size() > 1) {
    changes.set("--decoder-first-pipeline-num-layers", layout.stage_layers.front());
    changes.set("--decoder-last-pipeline-num-layers", layout.stage_layers.back());
  } else {
    changes.remove("--decoder-first-pipeline-num-layers");
    changes.remove("--decoder-last-pipeline-num-layers");
  }
}

void add_recomputation(Recomputation recomputation, ChangeList& changes) {
  changes.remove("--recompute-activations");
  if (recomputation != Recomputation::experts) changes.remove("--moe-layer-recompute");
  if (recomputation == Recomputation::full) {
    changes.set("--recompute-granularity", "full",
                {{"--recompute-method", "uniform"}, {"--recompute-num-layers", "1"}});
    return;
  }
  if (recomputation == Recomputation::selective || recomputation == Recomputation::experts)
    changes.set("--recompute-granularity", "selective");
  else
    changes.remove("--recompute-granularity");
  if (recomputation == Recomputation::selective) changes.remove("--recompute-modules");
  if (recomputation == Recomputation::experts) changes.set("--recompute-modules", "moe");
  changes.remove("--recompute-method");
  changes.remove("--recompute-num-layers");
}

void add_micro_batches(const plan::TaskPlan& planned, ChangeList& changes) {
  const plan::MicroBatching& cut = planned.micro_batching;
  const bool dynamic = cut.tokens > 0;
  changes.set_flag("--use-dynamic-batch-size", dynamic);
  if (dynamic) {
    changes.set("--max-tokens-per-gpu", number_text(cut.tokens / planned.layout.context));
  } else {
    changes.set("--micro-batch-size", number_text(cut.sequences));
    changes.remove("--balance-by-flops");
  }
}

void add_offload(const plan::TaskPlan& trained, const plan::TaskPlan& generated, double host_share,
                 ChangeList& changes) {
  changes.remove("--offload");
  choose(changes, "offload-train", trained.offload.gradients);
  choose(changes, "offload-rollout", generated.offload.weights);
  std::vector<Setter> with;
  if (trained.offload.optimizer_on_host)
    with = {{"--use-precision-aware-optimizer", ""}, {"--optimizer-offload-fraction", number_text(host_share)}};
  changes.set_flag("--optimizer-cpu-offload", trained.offload.optimizer_on_host, std::move(with));
}

std::vector<Change> slime_changes(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings) {
  ChangeList changes;
  const auto* const trained = find_planned(job, plan, "actor_train");
  const auto* const generated = find_planned(job, plan, "actor_generate");
  if (trained == nullptr || generated == nullptr) return {};
  const bool has_experts = plan::model_of(job, *workflow::find_task(job.workflow, "actor_train")).experts.has_value();
  add_pools(job, *trained, *generated, changes);
  // The default depends on the layout, so the value must be set explicitly.
  if (const syntax::Setting* const steps = find_setting(settings.root, "--num-steps-per-rollout");
      steps == nullptr || steps->kind == syntax::Setting::Kind::null)
    changes.set("--global-batch-size", job.workload.samples() / job.workload.mini_batches);
  add_engines(*generated, has_experts, changes);
  add_layout(trained->layout, has_experts, changes);
  add_recomputation(trained->layout.recomputation, changes);
  add_micro_batches(*trained, changes);
  add_offload(*trained, *generated, job.software.optimizer_host_share, changes);
  return std::move(changes.all);
}

/// Gives the trainer `trainer` GPUs, in whole nodes if there are several.
std::vector<Setter> trainer_sizes(const cluster::Cluster& cluster, int trainer) {
  const int node = cluster.groups.front().devices_per_node;
  const int nodes = std::max(trainer / node, 1);
  return {{"--actor-num-nodes", std::to_string(nodes)}, {"--actor-num-gpus-per-node", std::to_string(trainer / nodes)}};
}

std::vector<Alternative> slime_alternatives(const AlternativesRequest& request) {
  const bool leaves = present_pools(request.job, request.plan).shared;
  return mode_alternatives(request, [&](const Pools& pools) {
    std::vector<Setter> with = trainer_sizes(request.job.cluster, pools.trainer);
    const Setter engines{"--rollout-num-gpus", std::to_string(pools.engines)};
    if (pools.shared) {
      with.push_back(engines);
      return Change{.set = {"--colocate", {}}, .with = std::move(with)};
    }
    Change apart{.set = engines, .with = std::move(with)};
    // On separate GPUs nothing needs to be offloaded, and slime does not accept these flags without --colocate.
    if (leaves) apart.without = {"--colocate", "--offload", "--offload-rollout"};
    return apart;
  });
}

/// Arguments of a command.
struct FlagArguments {
  std::vector<std::string> all = {};

  void set(std::string_view flag, std::int64_t value) { all.push_back(fmt::format("{} {}", flag, value)); }
  void add(std::string_view text) { all.emplace_back(text); }
  void turn(std::string_view flag, bool on) {
    if (on) add(flag);
  }
};

void add_attention(const llm::Transformer& model, FlagArguments& arguments) {
  arguments.set("--num-attention-heads", model.heads);
  arguments.turn("--disable-bias-linear", !model.attention_output_bias);
  arguments.turn("--qk-layernorm", model.query_key_norm);
  if (model.latent) {
    arguments.add("--multi-latent-attention");
    if (model.latent->query_rank > 0) arguments.set("--q-lora-rank", model.latent->query_rank);
    arguments.set("--kv-lora-rank", model.latent->key_value_rank);
    arguments.set("--qk-head-dim", model.latent->plain_size);
    arguments.set("--qk-pos-emb-head-dim", model.latent->rotary_size);
    arguments.set("--v-head-dim", model.latent->value_size);
    return;
  }
  arguments.set("--kv-channels", model.head_size);
  arguments.turn("--add-qkv-bias", model.query_key_value_bias && !model.attention_output_bias);
  if (model.key_value_heads == model.heads) return;
  arguments.add("--group-query-attention");
  arguments.set("--num-query-groups", model.key_value_heads);
}

void add_experts(const llm::Transformer& model, FlagArguments& arguments) {
  if (!model.experts) return;
  const llm::Experts& experts = *model.experts;
  arguments.set("--num-experts", experts.count);
  arguments.set("--moe-router-topk", experts.active);
  arguments.set("--moe-ffn-hidden-size", experts.width);
  arguments.add("--moe-grouped-gemm");
  if (experts.shared_width > 0) arguments.set("--moe-shared-expert-intermediate-size", experts.shared_width);
  arguments.turn("--moe-shared-expert-gate", experts.shared_gate);
  arguments.turn("--moe-router-enable-expert-bias", experts.router_bias);
  if (experts.dense_layers > 0)
    arguments.add(
        fmt::format("--moe-layer-freq '[0]*{}+[1]*{}'", experts.dense_layers, model.layers - experts.dense_layers));
}

/// Adds the model shape, as slime's model scripts do.
void add_shape(const llm::Transformer& model, FlagArguments& arguments) {
  arguments.set("--num-layers", model.layers);
  arguments.set("--hidden-size", model.hidden);
  arguments.set("--ffn-hidden-size", model.width);
  arguments.set("--vocab-size", model.vocabulary);
  arguments.turn("--swiglu", model.feed_forward == llm::FeedForward::gated);
  if (model.normalization == llm::Normalization::root_mean_square) arguments.add("--normalization RMSNorm");
  arguments.turn("--untie-embeddings-and-output-weights", !model.tied_embeddings);
  if (model.positions > 0) {
    arguments.set("--max-position-embeddings", model.positions);
  } else {
    arguments.add("--use-rotary-position-embeddings");
    arguments.add("--rotary-base \"$ROTARY_BASE\"");
  }
  arguments.add("--norm-epsilon \"$NORM_EPSILON\"");
  add_attention(model, arguments);
  add_experts(model, arguments);
}

void add_batches(const JobFacts& facts, FlagArguments& arguments) {
  arguments.set("--rollout-batch-size", facts.prompts);
  arguments.set("--n-samples-per-prompt", facts.samples_per_prompt);
  arguments.set("--global-batch-size", facts.mini_batch);
  arguments.set("--rollout-max-prompt-len", facts.prompt_cap);
  arguments.set("--rollout-max-response-len", facts.response_cap);
  if (facts.ends_together()) arguments.set("--rollout-max-context-len", facts.sequence_cap);
}

base::Status check_slime_facts(const JobFacts& facts) {
  DOVETAIL_CHECK(check_software(facts, "slime", {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}}));
  if (facts.training != "megatron-policy")
    return base::bad_input(
        fmt::format("slime does not support `training: {}`; accepted: megatron-policy", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model || facts.epochs != 1 || !facts.packing)
    return base::bad_input(
        "slime does not support remax, reward models, several epochs or unpacked sequences; accepted: ppo, grpo or "
        "reinforce++ with `reward: rule`, `epochs: 1` and `packing: true`");
  if (facts.steps_off_policy > 1 || (facts.steps_off_policy == 1 && facts.colocated))
    return base::bad_input(
        "slime runs at most one step off policy, and only with engines on separate GPUs; accepted: `steps_off_policy: "
        "0`, or 1 with separate GPUs");
  return {};
}

base::Result<CompleteFile> slime_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_slime_facts(facts));
  CompleteFile file{.required = required_models(facts)};
  file.command = facts.steps_off_policy > 0 ? "python3 train_async.py" : "python3 train.py";
  const auto demand = [&file](const char* name, const char* what, const char* example) {
    file.required.push_back({name, what, example});
  };
  std::erase_if(file.required, [](const RequiredName& each) { return each.name != "ACTOR_PATH"; });
  demand("MEGATRON_PATH", "the actor's weights: a torch_dist checkpoint of Megatron-LM", "/models/dist");
  demand("PROMPT_DATA", "training prompts: a JSONL file with `input` and `label`", "prompts.jsonl");
  demand("REWARD_TYPE", "reward rule: a --rm-type of slime", "math");
  demand("NUM_ROLLOUT", "number of iterations", "100");
  demand("NORM_EPSILON", "rms_norm_eps in the model's config.json", "1e-6");
  if (facts.actor.positions == 0) demand("ROTARY_BASE", "rope_theta in the model's config.json", "1000000");
  FlagArguments arguments;
  arguments.add("--hf-checkpoint \"$ACTOR_PATH\"");
  arguments.add("--load \"$MEGATRON_PATH\"");
  arguments.add("--prompt-data \"$PROMPT_DATA\"");
  arguments.add("--label-key label");
  arguments.add("--rm-type \"$REWARD_TYPE\"");
  arguments.add("--num-rollout \"$NUM_ROLLOUT\"");
  add_shape(facts.actor, arguments);
  add_batches(facts, arguments);
  arguments.add(facts.critic                ? "--advantage-estimator ppo"
                : facts.algorithm == "grpo" ? "--advantage-estimator grpo"
                                            : "--advantage-estimator reinforce_plus_plus --normalize-advantages");
  if (facts.reference) arguments.add("--use-kl-loss --kl-loss-coef 0.001 --ref-load \"$MEGATRON_PATH\"");
  arguments.turn("--colocate", facts.colocated);
  // If an iteration has one step, its forward pass provides the log-probabilities.
  arguments.turn("--use-rollout-logprobs",
                 !facts.trainer_log_probabilities && facts.mini_batch < facts.prompts * facts.samples_per_prompt);
  // Megatron-LM defaults to dropout 0.1 and has no default learning rate.
  arguments.add("--attention-dropout 0.0 --hidden-dropout 0.0");
  arguments.add("--optimizer adam --lr 1e-6 --lr-decay-style constant");
  file.arguments = std::move(arguments.all);
  return file;
}

}  // namespace

const TrainerWriter slime_writer{.name = "slime",
                                 .changes_of = slime_changes,
                                 .alternatives_of = slime_alternatives,
                                 .flags = slime_flags,
                                 .complete_file = slime_complete_file};

}  // namespace dovetail::trainers
