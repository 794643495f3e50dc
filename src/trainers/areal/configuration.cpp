#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "trainers/areal/areal.h"
#include "trainers/areal/engines.h"
#include "trainers/areal/layouts.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// A run while its configuration is being read.
struct ArealDraft {
  const ComposedSettings& settings;
  const RunRequest& request;
  ImportedRun run = {};
  std::vector<ArealEngine> engines = {};
  std::vector<cluster::Mesh> meshes = {};  ///< [engine]
  llm::Transformer actor_model = {};
  llm::Transformer critic_model = {};

  const syntax::SettingTree& tree() const { return settings.tree; }
  const ArealEngine& engine(std::string_view role) const { return areal_engine_of(engines, role); }
  const cluster::Mesh& mesh(std::string_view role) const {
    return meshes[static_cast<std::size_t>(&engine(role) - engines.data())];
  }
};

/// Returns an Error if the run does not both generate and train, or if it has a teacher.
base::Status check_is_rl(const syntax::SettingTree& tree) {
  base::Error error = setting_error(tree, "gconfig", "");
  if (error.path.empty() && !tree.sources.empty()) error.path = tree.sources.front();
  const syntax::Setting* const gconfig = find_setting(tree.root, "gconfig");
  const bool generates = gconfig != nullptr && (gconfig->place.line > 0 || place_of(tree, "rollout").line > 0 ||
                                                place_of(tree, "allocation_mode").line > 0);
  if (!generates || place_of(tree, "actor").line == 0) {
    error.message =
        fmt::format("the run does not {}; accepted: configurations of PPO and its variants, with `rollout` and `actor`",
                    generates ? "train" : "generate");
    return error;
  }
  if (areal_has_role(tree, "teacher"))
    return setting_error(tree, "teacher", "is set, but jobs cannot have teachers; accepted: null");
  return {};
}

base::Status read_algorithm(ArealDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  run.algorithm = areal_has_role(tree, "critic") ? "ppo" : "grpo";
  DOVETAIL_TRY(const double penalty, decimal_at(tree, "actor.kl_ctl"));
  run.reference = penalty > 0 && areal_has_role(tree, "ref");
  DOVETAIL_TRY(const bool decoupled, flag_at(tree, "actor.use_decoupled_loss"));
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, "actor.recompute_logprob"));
  const std::string method_key = "actor.prox_logp_method";
  DOVETAIL_TRY(const std::string method, text_at(tree, method_key));
  if (method != "recompute" && method != "loglinear" && method != "metrics")
    return setting_error(tree, method_key,
                         fmt::format("is {}; accepted: recompute, loglinear, metrics", base::quote(method)));
  run.trainer_log_probabilities = decoupled ? method != "loglinear" : recomputes;
  run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  return {};
}

/// Returns the engine's cap on prompt plus response. Sets `key` to the setting that it is read from.
base::Result<std::optional<std::int64_t>> context_cap(const ArealDraft& draft, std::string& key) {
  key = draft.engine("rollout").allocation.backend == "sglang" ? "sglang.context_length" : "vllm.max_model_len";
  return optional_integer(draft.tree(), key);
}

base::Status read_lengths(ArealDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  const std::string prompt_key = "train_dataset.max_length";
  const std::string response_key = "gconfig.max_new_tokens";
  const std::string both_key = "gconfig.max_tokens";
  DOVETAIL_TRY(const auto prompt, optional_integer(tree, prompt_key));
  DOVETAIL_TRY(run.response_cap, count_at(tree, response_key));
  DOVETAIL_TRY(const std::int64_t both, count_at(tree, both_key));
  std::string context_key;
  DOVETAIL_TRY(const auto context, context_cap(draft, context_key));
  if (prompt) {
    DOVETAIL_TRY(run.prompt_cap, count_at(tree, prompt_key));
    assume_lengths(tree, draft.request.options, prompt_key, response_key, run);
  } else {
    const std::int64_t max_length = context && *context >= 2 ? std::min(*context, both) : both;
    run.prompt_cap = std::max<std::int64_t>(max_length / 8, 1);
    if (!draft.request.options.prompt_length)
      run.assumed.push_back(
          {prompt_key,
           fmt::format("prompts have no cap; modeled with {} tokens, an eighth of the cap of prompt and response; "
                       "set --prompt-length",
                       run.prompt_cap)});
    if (!draft.request.options.response_length)
      run.assumed.push_back({response_key, "modeled with all responses at their cap; set --response-length",
                             place_of(tree, response_key)});
  }
  if (both <= run.prompt_cap)
    return setting_error(tree, both_key,
                         fmt::format("is {} for prompt and response together; accepted: more than the prompt cap ({})",
                                     both, run.prompt_cap));
  if (!prompt) run.max_prompt = both - 1;
  run.max_response = std::min(run.response_cap, both - 1);
  run.sequence_cap = both;
  run.response_cap = std::min(run.response_cap, both - run.prompt_cap);
  if (context) take_sequence_cap(tree, context_key, *context, run);
  return {};
}

base::Status read_workload(ArealDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  const std::string batch_key = "train_dataset.batch_size";
  const std::string parts_key = "actor.ppo_n_minibatches";
  DOVETAIL_TRY(run.prompts, count_at(tree, batch_key));
  DOVETAIL_TRY(run.samples_per_prompt, count_at(tree, "gconfig.n_samples"));
  if (run.samples_per_prompt > plan::max_count || run.prompts > plan::max_count / run.samples_per_prompt)
    return setting_error(
        tree, batch_key,
        fmt::format("makes too many samples per iteration; accepted: at most {} samples", plan::max_count));
  const std::int64_t samples = run.prompts * run.samples_per_prompt;
  DOVETAIL_TRY(const std::int64_t parts, count_at(tree, parts_key));
  if (parts > samples)
    return setting_error(tree, parts_key,
                         fmt::format("is {}; accepted: at most the {} samples of an iteration", parts, samples));
  // Mini-batches have about the same number of tokens. If the samples do not divide evenly, the last one has fewer.
  run.mini_batch = (samples + parts - 1) / parts;
  DOVETAIL_TRY(const auto staleness, optional_integer(tree, "rollout.max_head_offpolicyness"));
  run.steps_off_policy = std::max<std::int64_t>(staleness.value_or(0), 0);
  return read_lengths(draft);
}

/// Returns the nodes that the file configures, and assigns the pools of `counts` GPUs to them.
base::Result<ClusterChoice> cluster_of_file(ArealDraft& draft, const std::vector<std::int64_t>& counts,
                                            AssignedPools& dealt) {
  const syntax::SettingTree& tree = draft.tree();
  const std::string nodes_key = "cluster.n_nodes";
  const std::string gpus_key = "cluster.n_gpus_per_node";
  DOVETAIL_TRY(std::int64_t nodes, count_at(tree, nodes_key));
  DOVETAIL_TRY(std::int64_t gpus, count_at(tree, gpus_key));
  if (nodes > max_devices || gpus > max_devices || nodes * gpus > max_devices)
    return setting_error(
        tree, nodes_key,
        fmt::format("times `cluster.n_gpus_per_node` is too large; accepted: at most {} GPUs in total", max_devices));
  std::int64_t needed = 0;
  for (const std::int64_t count : counts) needed += count;
  if (nodes == 1 && needed > gpus) {
    // On one node, AReaL uses the GPUs that exist.
    draft.run.assumed.push_back(
        {gpus_key, fmt::format("{0}: the engines need {1} GPUs; modeled as a node with {1} GPUs", gpus, needed),
         place_of(tree, gpus_key)});
    gpus = needed;
  }
  dealt = assign_pools(counts, gpus);
  if (dealt.nodes > nodes)
    return setting_error(tree, nodes_key,
                         fmt::format("is {} nodes of {} GPUs, but the engines need {} GPUs on {} nodes (a pool stays "
                                     "within one node if it fits); accepted: at least {} nodes",
                                     nodes, gpus, needed, dealt.nodes, dealt.nodes));
  if (place_of(tree, nodes_key).line == 0) {
    nodes = dealt.nodes;
    draft.run.assumed.push_back(
        {nodes_key, fmt::format("not given; assumed to be {}, the number of nodes that the engines need", nodes)});
  }
  return ClusterChoice{.text = {}, .nodes = nodes, .gpus_per_node = gpus};
}

/// Assigns a mesh to each engine: a separate pool, or the pool of the engine whose GPUs it shares.
base::Status read_pools(ArealDraft& draft) {
  const ImportOptions& options = draft.request.options;
  DOVETAIL_TRY(draft.engines, areal_engines(draft.tree(), draft.run));
  std::vector<std::int64_t> counts;
  std::vector<std::size_t> pool_of(draft.engines.size());
  std::int64_t needed = 0;
  for (std::size_t i = 0; i < draft.engines.size(); ++i) {
    const ArealEngine& engine = draft.engines[i];
    if (!engine.target.empty()) {
      pool_of[i] = pool_of[static_cast<std::size_t>(&draft.engine(engine.target) - draft.engines.data())];
      continue;
    }
    pool_of[i] = counts.size();
    counts.push_back(engine.allocation.devices());
    needed += counts.back();
    if (needed > max_devices)
      return setting_error(
          draft.tree(), engine.key,
          fmt::format("makes the engines need too many GPUs; accepted: at most {} in total", max_devices));
  }
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  AssignedPools dealt;
  if (chosen) {
    dealt = assign_pools(counts, chosen->gpus_per_node);
    if (dealt.nodes > chosen->nodes)
      return base::bad_input(
          fmt::format("--cluster has {0} nodes of {1} GPUs, but the engines need {2} GPUs on {3} nodes (a pool stays "
                      "within one node if it fits); accepted: at least {3} nodes",
                      chosen->nodes, chosen->gpus_per_node, needed, dealt.nodes));
    draft.run.cluster = *std::move(chosen);
  } else {
    DOVETAIL_TRY(const ClusterChoice file, cluster_of_file(draft, counts, dealt));
    DOVETAIL_CHECK(choose_gpu(options, file.nodes, file.gpus_per_node, draft.run));
  }
  for (const std::size_t pool : pool_of) draft.meshes.push_back(dealt.meshes[pool]);
  return {};
}

base::Result<int> areal_rank(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(const bool enabled, flag_at(tree, role + ".use_lora"));
  if (!enabled) return 0;
  return adapter_rank_at(tree, role + ".lora_rank");
}

base::Status read_models(ArealDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  DOVETAIL_TRY(draft.actor_model, role_model(tree, draft.request, "actor", "actor.path", run));
  DOVETAIL_TRY(run.models.back().lora, areal_rank(tree, "actor"));
  if (run.algorithm == "ppo") {
    DOVETAIL_TRY(draft.critic_model, role_model(tree, draft.request, "critic", "critic.path", run));
    DOVETAIL_TRY(run.models.back().lora, areal_rank(tree, "critic"));
  }
  run.training = draft.engine("actor").allocation.backend == "megatron" ? "megatron-policy" : "fsdp2";
  return {};
}

/// Returns whether a role moves to the host while others run, because the rollout shares its GPUs or `offload` is set.
base::Result<bool> leaves(const ArealDraft& draft, const std::string& role) {
  if (role == "actor" && areal_is_colocated(draft.engines)) return true;
  return flag_at(draft.tree(), role + ".offload");
}

base::Result<plan::TaskPlan> planned_task(const ArealDraft& draft, const std::string& role,
                                          const llm::Transformer& model) {
  plan::TaskPlan task{.mesh = draft.mesh(role), .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(task.layout, areal_layout(draft.tree(), draft.engine(role), model));
  DOVETAIL_TRY(task.micro_batching, areal_micro_batching(draft.tree(), draft.engine(role)));
  return task;
}

/// Returns whether only one of the role and the actor uses Megatron.
bool has_other_backend(const ArealDraft& draft, const std::string& role) {
  const auto is_megatron = [&](const std::string& of) { return draft.engine(of).allocation.backend == "megatron"; };
  return is_megatron(role) != is_megatron("actor");
}

/// Adds the tasks of a trained role: its inference, if any, and its training, both in the same layout.
base::Status add_trained(ArealDraft& draft, const std::string& role, const llm::Transformer& model) {
  DOVETAIL_TRY(plan::TaskPlan trained, planned_task(draft, role, model));
  DOVETAIL_TRY(const bool away, leaves(draft, role));
  DOVETAIL_TRY(trained.offload.optimizer_on_host, areal_optimizer_on_host(draft.tree(), draft.engine(role)));
  trained.offload.weights = trained.offload.gradients = away;
  trained.offload.optimizer = away && !trained.offload.optimizer_on_host;
  plan::TaskPlan passed = trained;
  passed.layout.recomputation = llm::Recomputation::none;
  passed.offload = {};
  passed.offload.weights = away;
  const bool other_backend = has_other_backend(draft, role);
  if (role == "critic" || draft.run.trainer_log_probabilities)
    draft.run.tasks.push_back({role + "_infer", passed, other_backend});
  draft.run.tasks.push_back({role + "_train", trained, other_backend});
  return {};
}

base::Status add_reference(ArealDraft& draft) {
  if (!draft.run.reference) return {};
  DOVETAIL_TRY(plan::TaskPlan passed, planned_task(draft, "ref", draft.actor_model));
  passed.layout.recomputation = llm::Recomputation::none;
  DOVETAIL_TRY(passed.offload.weights, leaves(draft, "ref"));
  draft.run.tasks.push_back({"reference_infer", passed, has_other_backend(draft, "ref")});
  return {};
}

base::Status add_generation(ArealDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  const std::string limit_key = "rollout.max_concurrent_rollouts";
  DOVETAIL_TRY(const auto limit, optional_integer(tree, limit_key));
  DOVETAIL_TRY(const std::int64_t consumed, count_at(tree, "rollout.consumer_batch_size"));
  const std::int64_t groups = std::min(limit && *limit > 0 ? *limit : consumed, plan::max_count);
  DOVETAIL_TRY(ArealRollout rollout,
               areal_rollout(tree, draft.engine("rollout"), draft.actor_model, groups * draft.run.samples_per_prompt));
  plan::TaskPlan generated{.mesh = draft.mesh("rollout"),
                           .layout = std::move(rollout.layout),
                           .micro_batching = {},
                           .engine = rollout.engine,
                           .offload = {}};
  generated.offload.weights = areal_is_colocated(draft.engines);
  draft.run.tasks.push_back({"actor_generate", std::move(generated)});
  return {};
}

base::Result<ReadRun> areal_run(const ComposedSettings& settings, const RunRequest& request) {
  ArealDraft draft{.settings = settings, .request = request};
  draft.run.name = request.name;
  draft.run.framework = "areal";
  draft.run.assumed = settings.assumed;
  DOVETAIL_CHECK(check_is_rl(settings.tree));
  DOVETAIL_CHECK(read_algorithm(draft));
  DOVETAIL_CHECK(read_pools(draft));
  DOVETAIL_CHECK(read_workload(draft));
  DOVETAIL_CHECK(check_areal_start(settings.tree, draft.engines, draft.run));
  DOVETAIL_CHECK(read_models(draft));
  DOVETAIL_CHECK(add_generation(draft));
  DOVETAIL_CHECK(add_reference(draft));
  DOVETAIL_CHECK(add_trained(draft, "actor", draft.actor_model));
  if (draft.run.algorithm == "ppo") DOVETAIL_CHECK(add_trained(draft, "critic", draft.critic_model));
  DOVETAIL_CHECK(add_areal_unmodeled(settings.tree, draft.engines, draft.actor_model, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = settings.tree.sources, .settings = settings.tree};
}

base::Result<ReadRun> areal_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                      const RunRequest& request) {
  DOVETAIL_TRY(const ComposedSettings settings, areal_settings_of_launch(launch, sources, request));
  return areal_run(settings, request);
}

base::Result<ReadRun> areal_of_configuration(const ConfigurationFile& file, const RunRequest& request) {
  DOVETAIL_TRY(const ComposedSettings settings, areal_settings_of_file(file, request));
  return areal_run(settings, request);
}

bool is_of_areal(std::string_view content) {
  return has_top_key(content, "gconfig") || has_top_key(content, "allocation_mode") ||
         (has_top_key(content, "actor") && has_top_key(content, "train_dataset"));
}

}  // namespace

const TrainerReader areal_reader{.name = "areal",
                                 .is_entry = is_areal_entry,
                                 .of_launch = areal_of_launch,
                                 .is_configuration = is_of_areal,
                                 .recognized_by = "gconfig, allocation_mode, or actor with train_dataset",
                                 .of_configuration = areal_of_configuration,
                                 .may_be_entry = may_be_areal_entry};

}  // namespace dovetail::trainers
