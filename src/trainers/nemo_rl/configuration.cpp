#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"
#include "trainers/nemo_rl/layouts.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

const std::string reward_environment = "env.reward_model";

/// A run while its configuration is being read.
struct NemoRlDraft {
  const ComposedSettings& settings;
  const RunRequest& request;
  std::string loop;  ///< key of the loop's settings: "grpo" or "ppo"
  ImportedRun run = {};
  bool colocated = true;
  cluster::Mesh trainer = {};
  cluster::Mesh engines = {};
  cluster::Mesh judges = {};
  llm::Transformer actor_model = {};
  llm::Transformer critic_model = {};
  llm::Transformer reward_model = {};

  const syntax::SettingTree& tree() const { return settings.tree; }
  std::string key(std::string_view name) const { return fmt::format("{}.{}", loop, name); }
};

/// Returns whether an `env_name` anywhere below `data` is `name`, so that this environment scores the task.
bool names_environment(const syntax::Setting& data, std::string_view name) {
  if (const syntax::Setting* const env = find_member(data, "env_name"); env != nullptr && env->text == name)
    return true;
  const auto below = [name](const auto& each) { return names_environment(each, name); };
  return std::any_of(data.items.begin(), data.items.end(), below) ||
         std::any_of(data.members.begin(), data.members.end(), [&](const auto& each) { return below(each.second); });
}

base::Status read_algorithm(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  const std::string teachers_key = "on_policy_distillation";
  const syntax::Setting* const teachers = find_setting(tree.root, teachers_key);
  if (teachers != nullptr && teachers->kind == syntax::Setting::Kind::map && !teachers->members.empty())
    return setting_error(tree, teachers_key, "has teachers, but jobs cannot have teachers; accepted: null");
  const std::string estimator_key = draft.key("adv_estimator.name");
  DOVETAIL_TRY(const auto estimator, optional_text(tree, estimator_key));
  const std::string named = estimator.value_or(draft.loop == "ppo" ? "gae" : "grpo");
  run.algorithm = draft.loop == "ppo" ? "ppo" : named == "reinforce_plus_plus" ? "reinforce++" : "grpo";
  if (draft.loop == "grpo" && named != "grpo" && run.algorithm == "grpo")
    run.assumed.push_back(
        {estimator_key, fmt::format("{}: modeled with the tasks of grpo", named), place_of(tree, estimator_key)});
  DOVETAIL_TRY(const auto penalty, optional_number(tree, "loss_fn.reference_policy_kl_penalty"));
  run.reference = penalty.value_or(0) > 0;
  DOVETAIL_TRY(const bool on_policy, is_on(tree, "loss_fn.force_on_policy_ratio"));
  DOVETAIL_TRY(const auto threshold, optional_number(tree, draft.key("seq_logprob_error_threshold")));
  run.trainer_log_probabilities = draft.loop == "ppo" || !on_policy || threshold.has_value();
  const syntax::Setting* const data = find_setting(tree.root, "data");
  DOVETAIL_TRY(const bool enabled, is_on(tree, reward_environment + ".enabled"));
  run.reward_model = enabled || (data != nullptr && names_environment(*data, "reward_model"));
  if (!run.reward_model) run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  return {};
}

/// Reads the length caps. NeMo-RL caps prompt and response together. Prompts get an eighth of the cap unless their
/// share is known.
base::Status read_lengths(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  const ImportOptions& options = draft.request.options;
  const std::string key = "policy.max_total_sequence_length";
  const std::string new_key = "policy.generation.max_new_tokens";
  DOVETAIL_TRY(const std::int64_t total, count_at(tree, key));
  if (total < 2) return setting_error(tree, key, "is 1; accepted: at least 2, for a prompt and a response");
  DOVETAIL_TRY(const auto generated, optional_integer(tree, new_key));
  DOVETAIL_TRY(const auto prompts, optional_integer(tree, "data.max_input_seq_length"));
  const std::int64_t new_tokens = generated && *generated >= 1 && *generated < total ? *generated : total;
  std::int64_t prompt = prompts && *prompts >= 1 && *prompts < total ? *prompts : std::max<std::int64_t>(total / 8, 1);
  if (new_tokens < total) prompt = std::min(prompt, total - new_tokens);
  if (const auto given = plain_length(options.prompt_length); given && *given < total) prompt = *given;
  run.prompt_cap = prompt;
  run.response_cap = std::min(new_tokens, total - prompt);
  run.sequence_cap = total;
  run.max_prompt = prompts && *prompts >= 1 && *prompts < total ? *prompts : total - 1;
  run.max_response = std::min(new_tokens, total - 1);
  if (!options.prompt_length)
    run.assumed.push_back(
        {key,
         fmt::format("{}: cap of prompt and response together; modeled with prompts of {} tokens; set --prompt-length",
                     total, run.prompt_cap),
         place_of(tree, key)});
  if (!options.response_length)
    run.assumed.push_back({generated ? new_key : key,
                           fmt::format("modeled with responses of the maximum length, {} tokens; set --response-length",
                                       run.response_cap),
                           place_of(tree, generated ? new_key : key)});
  return {};
}

base::Status read_workload(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  const std::string batch_key = "policy.train_global_batch_size";
  DOVETAIL_TRY(run.prompts, count_at(tree, draft.key("num_prompts_per_step")));
  DOVETAIL_TRY(run.samples_per_prompt, count_at(tree, draft.key("num_generations_per_prompt")));
  DOVETAIL_TRY(run.mini_batch, count_at(tree, batch_key));
  if (draft.loop == "ppo") {
    DOVETAIL_TRY(run.epochs, count_at(tree, "ppo.ppo_epochs"));
  }
  DOVETAIL_TRY(run.packing, is_on(tree, "policy.sequence_packing.enabled"));
  const std::string async_keys = fmt::format("{0}.async_{0}", draft.loop);
  DOVETAIL_TRY(const bool is_async, is_on(tree, async_keys + ".enabled"));
  DOVETAIL_TRY(const auto age, optional_integer(tree, async_keys + ".max_trajectory_age_steps"));
  DOVETAIL_TRY(const auto staleness, optional_integer(tree, "async_rl.sampler.max_staleness_versions"));
  if (is_async) run.steps_off_policy = std::max<std::int64_t>(age.value_or(1), 0);
  const syntax::Setting* const controller = find_setting(tree.root, "async_rl");
  if (!is_async && controller != nullptr && controller->kind == syntax::Setting::Kind::map)
    run.steps_off_policy = std::max<std::int64_t>(staleness.value_or(1), 0);
  return read_lengths(draft);
}

/// Number of nodes, and GPUs per node, that a section of the configuration requests.
struct Share {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
};

base::Result<Share> share_at(const syntax::SettingTree& tree, const std::string& keys) {
  DOVETAIL_TRY(const auto nodes, optional_integer(tree, keys + ".num_nodes"));
  DOVETAIL_TRY(const auto gpus, optional_integer(tree, keys + ".gpus_per_node"));
  return Share{.nodes = nodes.value_or(0), .gpus = gpus.value_or(0)};
}

cluster::Mesh mesh_of(std::int64_t first, std::int64_t count) {
  return {.first = static_cast<int>(first), .count = static_cast<int>(count)};
}

/// Assigns the devices of `all` in order: training, engines, reward model. Fails if NeMo-RL would stop.
base::Status deal_devices(NemoRlDraft& draft, const Share& all) {
  const syntax::SettingTree& tree = draft.tree();
  const std::string resources = "policy.generation.colocated.resources";
  Share judges;
  if (draft.run.reward_model) {
    DOVETAIL_TRY(judges, share_at(tree, reward_environment + ".resources"));
    if (judges.nodes < 1 || judges.gpus < 1 || judges.gpus > all.gpus)
      return setting_error(tree, reward_environment + ".resources",
                           "gives no GPUs, or more per node than a node has; accepted: num_nodes of at least 1, and "
                           "gpus_per_node from 1 to cluster.gpus_per_node");
    if (all.nodes > 1 && judges.nodes > 1 && judges.gpus != all.gpus)
      return setting_error(
          tree, reward_environment + ".resources.gpus_per_node",
          fmt::format("is {} on several nodes; accepted: cluster.gpus_per_node ({})", judges.gpus, all.gpus));
  }
  const bool one_node = all.nodes == 1;
  std::int64_t rest = one_node ? all.gpus - judges.gpus : (all.nodes - judges.nodes) * all.gpus;
  if (rest <= 0)
    return setting_error(
        tree, "cluster.num_nodes",
        "leaves no GPUs for training, because the reward model takes all of them; accepted: more nodes, or "
        "fewer GPUs for the reward model");
  draft.judges = mesh_of(rest, one_node ? judges.gpus : judges.nodes * judges.gpus);
  draft.trainer = draft.engines = mesh_of(0, rest);
  if (draft.colocated) return {};
  DOVETAIL_TRY(const Share engines, share_at(tree, resources));
  const std::int64_t nodes = one_node ? 1 : all.nodes - judges.nodes;
  if (nodes == 1 && (engines.gpus < 1 || engines.gpus >= rest || engines.nodes > 1))
    return setting_error(
        tree, resources + ".gpus_per_node",
        fmt::format("is {} with num_nodes {} on one node, so NeMo-RL rejects the configuration; accepted: colocated "
                    "generation, or {}",
                    engines.gpus, std::max<std::int64_t>(engines.nodes, 1),
                    rest > 1 ? fmt::format("num_nodes 1 with at least 1 and fewer than {} GPUs", rest) : "more GPUs"));
  if (nodes > 1 && (engines.nodes < 1 || engines.nodes >= nodes || engines.gpus != all.gpus))
    return setting_error(tree, resources + ".num_nodes",
                         fmt::format("is {} with {} GPUs each, so NeMo-RL rejects the configuration; accepted: at "
                                     "least 1 and fewer than {} nodes with all {} GPUs each",
                                     engines.nodes, engines.gpus, nodes, all.gpus));
  const std::int64_t count = nodes == 1 ? engines.gpus : engines.nodes * engines.gpus;
  draft.trainer = mesh_of(0, rest - count);
  draft.engines = mesh_of(rest - count, count);
  return {};
}

base::Status read_pools(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  const ImportOptions& options = draft.request.options;
  DOVETAIL_TRY(const auto colocated, optional_flag(tree, "policy.generation.colocated.enabled"));
  draft.colocated = colocated.value_or(true);
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  if (chosen && (!draft.colocated || draft.run.reward_model))
    return base::bad_input(
        "--cluster cannot be used if the configuration has several pools of GPUs; accepted: --gpu, which "
        "keeps these pools");
  Share all;
  if (chosen) {
    all = {.nodes = chosen->nodes, .gpus = chosen->gpus_per_node};
  } else {
    DOVETAIL_TRY(all.nodes, count_at(tree, "cluster.num_nodes"));
    DOVETAIL_TRY(all.gpus, count_at(tree, "cluster.gpus_per_node"));
  }
  if (all.nodes > max_devices || all.gpus > max_devices || all.nodes * all.gpus > max_devices)
    return setting_error(
        tree, "cluster.num_nodes",
        fmt::format("times `cluster.gpus_per_node` is too large; accepted: at most {} GPUs in total", max_devices));
  DOVETAIL_CHECK(deal_devices(draft, all));
  if (!chosen) return choose_gpu(options, all.nodes, all.gpus, draft.run);
  draft.run.cluster = *std::move(chosen);
  return {};
}

base::Result<int> nemo_rl_rank(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  const std::string keys = role + (megatron ? ".megatron_cfg.peft" : ".dtensor_cfg.lora_cfg");
  DOVETAIL_TRY(const bool enabled, is_on(tree, keys + ".enabled"));
  if (!enabled) return 0;
  return adapter_rank_at(tree, keys + ".dim");
}

base::Status read_models(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  DOVETAIL_TRY(draft.actor_model, role_model(tree, draft.request, "actor", "policy.model_name", run));
  DOVETAIL_TRY(run.models.back().lora, nemo_rl_rank(tree, "policy"));
  if (draft.loop == "ppo") {
    DOVETAIL_TRY(draft.critic_model, role_model(tree, draft.request, "critic", "value.model_name", run));
    DOVETAIL_TRY(run.models.back().lora, nemo_rl_rank(tree, "value"));
  }
  if (run.reward_model) {
    DOVETAIL_TRY(draft.reward_model,
                 role_model(tree, draft.request, "reward", reward_environment + ".model_name", run));
  }
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, "policy"));
  run.framework = "nemo-rl";
  run.training = megatron ? "nemo-rl-megatron" : "fsdp2";
  return {};
}

/// Adds the tasks of a trained role: its inference, including the reference's, and its training. All have the layout of
/// training.
base::Status add_trained(NemoRlDraft& draft, const std::string& role, const std::string& keys,
                         const llm::Transformer& model) {
  const syntax::SettingTree& tree = draft.tree();
  plan::TaskPlan trained{.mesh = draft.trainer, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(trained.layout, nemo_rl_layout(tree, keys, draft.trainer.count, model));
  const std::string batch_key = keys + ".train_global_batch_size";
  DOVETAIL_TRY(const std::int64_t mini_batch, count_or(tree, batch_key, draft.run.mini_batch));
  if (mini_batch % trained.layout.data != 0)
    return setting_error(
        tree, batch_key,
        fmt::format("is {}, which NeMo-RL rejects; accepted: a multiple of {}, the number of data-parallel ranks",
                    mini_batch, trained.layout.data));
  DOVETAIL_TRY(trained.micro_batching, nemo_rl_micro_batching(tree, keys, true));
  DOVETAIL_TRY(trained.offload.optimizer_on_host, nemo_rl_optimizer_on_host(tree, keys));
  // All states leave the devices before the engine wakes. Policy and value model are never on the devices together.
  const bool leaves = draft.colocated || draft.loop == "ppo";
  trained.offload.weights = trained.offload.gradients = leaves;
  DOVETAIL_TRY(const bool optimizer_leaves, is_on(tree, "policy.offload_optimizer_for_logprob"));
  DOVETAIL_TRY(const HostShare share, nemo_rl_host_share(tree, keys));
  trained.offload.optimizer = (leaves || optimizer_leaves) && !share.has_all();
  plan::TaskPlan passed = trained;
  passed.layout.recomputation = llm::Recomputation::none;
  passed.offload = {};
  DOVETAIL_TRY(passed.micro_batching, nemo_rl_micro_batching(tree, keys, false));
  if (role == "actor" && draft.run.reference) {
    plan::TaskPlan reference = passed;
    reference.offload.weights = true;
    draft.run.tasks.push_back({"reference_infer", reference});
  }
  passed.offload.weights = leaves;
  if (role == "critic" || draft.run.trainer_log_probabilities) draft.run.tasks.push_back({role + "_infer", passed});
  draft.run.tasks.push_back({role + "_train", trained});
  return {};
}

base::Status add_generation(NemoRlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_TRY(const llm::Layout trained, nemo_rl_layout(tree, "policy", draft.trainer.count, draft.actor_model));
  DOVETAIL_TRY(NemoRlEngine engine, nemo_rl_engine(tree, draft.engines.count, draft.actor_model, trained));
  plan::TaskPlan generated{.mesh = draft.engines,
                           .layout = std::move(engine.layout),
                           .micro_batching = {},
                           .engine = engine.engine,
                           .offload = {}};
  // An engine that shares devices sleeps at level 1: its weights move to the host.
  generated.offload.weights = draft.colocated;
  draft.run.tasks.push_back({"actor_generate", std::move(generated)});
  return {};
}

base::Status add_reward(NemoRlDraft& draft) {
  if (!draft.run.reward_model) return {};
  const syntax::SettingTree& tree = draft.tree();
  plan::TaskPlan judged{.mesh = draft.judges, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(judged.layout, nemo_rl_layout(tree, reward_environment, draft.judges.count, draft.reward_model));
  judged.layout.recomputation = llm::Recomputation::none;
  DOVETAIL_TRY(const std::int64_t batch, count_at(tree, reward_environment + ".batch_size"));
  judged.micro_batching = sequences_at_most(static_cast<double>(batch));
  draft.run.tasks.push_back({"reward_infer", judged});
  return {};
}

base::Result<ReadRun> nemo_rl_run(const ComposedSettings& settings, const RunRequest& request) {
  const syntax::SettingTree& tree = settings.tree;
  const bool has_value = find_setting(tree.root, "ppo") != nullptr;
  if (find_setting(tree.root, "policy") == nullptr || (!has_value && find_setting(tree.root, "grpo") == nullptr)) {
    base::Error error = setting_error(
        tree, "policy", "is missing, or has no `grpo` or `ppo` next to it; accepted: `policy` with `grpo` or `ppo`");
    if (error.path.empty() && !tree.sources.empty()) error.path = tree.sources.front();
    return error;
  }
  NemoRlDraft draft{.settings = settings, .request = request, .loop = has_value ? "ppo" : "grpo"};
  draft.run.name = request.name;
  draft.run.assumed = settings.assumed;
  DOVETAIL_CHECK(check_nemo_rl_start(settings, draft.loop));
  DOVETAIL_CHECK(read_algorithm(draft));
  DOVETAIL_CHECK(read_workload(draft));
  DOVETAIL_CHECK(read_pools(draft));
  DOVETAIL_CHECK(read_models(draft));
  DOVETAIL_CHECK(add_generation(draft));
  DOVETAIL_CHECK(add_reward(draft));
  DOVETAIL_CHECK(add_trained(draft, "actor", "policy", draft.actor_model));
  if (has_value) DOVETAIL_CHECK(add_trained(draft, "critic", "value", draft.critic_model));
  DOVETAIL_CHECK(add_nemo_rl_unmodeled(tree, draft.loop, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = tree.sources, .settings = tree};
}

base::Result<ReadRun> nemo_rl_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                        const RunRequest& request) {
  DOVETAIL_TRY(const ComposedSettings settings, nemo_rl_settings_of_launch(launch, sources, request));
  return nemo_rl_run(settings, request);
}

base::Result<ReadRun> nemo_rl_of_configuration(const ConfigurationFile& file, const RunRequest& request) {
  DOVETAIL_TRY(const ComposedSettings settings, nemo_rl_settings_of_file(file, request));
  return nemo_rl_run(settings, request);
}

/// Returns whether a file names a parent, `defaults: ../base.yaml`. Some files have no other sign of NeMo-RL.
bool has_parent(std::string_view content) {
  const std::size_t at = content.starts_with("defaults: ") ? 0 : content.find("\ndefaults: ");
  if (at == std::string_view::npos) return false;
  const std::string_view line = content.substr(at + 1, content.substr(at + 1).find('\n'));
  return line.find(".yaml") != std::string_view::npos;
}

bool is_of_nemo_rl(std::string_view content) {
  return has_top_key(content, "policy") || has_top_key(content, "grpo") || has_top_key(content, "ppo") ||
         has_parent(content);
}

}  // namespace

const TrainerReader nemo_rl_reader{.name = "nemo-rl",
                                   .is_entry = is_nemo_rl_entry,
                                   .of_launch = nemo_rl_of_launch,
                                   .is_configuration = is_of_nemo_rl,
                                   .recognized_by = "policy, grpo, ppo or a parent file (`defaults`)",
                                   .of_configuration = nemo_rl_of_configuration,
                                   .printed_by = "policy"};

}  // namespace dovetail::trainers
