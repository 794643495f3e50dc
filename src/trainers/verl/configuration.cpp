#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"
#include "trainers/verl/layouts.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

/// A run while its configuration is being read.
struct VerlDraft {
  const VerlSettings& settings;
  const RunRequest& request;
  ImportedRun run = {};
  int pool = 0;                ///< number of the trainer's devices, which begin at 0
  cluster::Mesh engines = {};  ///< devices of generation
  cluster::Mesh judges = {};   ///< devices of the reward model
  bool critic = false;
  llm::Transformer actor_model = {};
  llm::Transformer critic_model = {};

  const syntax::SettingTree& tree() const { return settings.tree; }
  bool megatron() const { return settings.engine == VerlEngine::megatron; }
  cluster::Mesh trainer() const { return {.first = 0, .count = pool}; }
};

base::Status check_backends(VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  constexpr std::string_view strategy_key = "actor_rollout_ref.actor.strategy";
  DOVETAIL_TRY(const std::string strategy, text_at(tree, strategy_key));
  const bool known = draft.megatron() ? strategy == "megatron" : strategy == "fsdp" || strategy == "fsdp2";
  if (!known)
    return setting_error(tree, strategy_key,
                         fmt::format("is {}; accepted: fsdp, fsdp2, megatron", base::quote(strategy)));
  constexpr std::string_view engine_key = "actor_rollout_ref.rollout.name";
  DOVETAIL_TRY(const std::string engine, text_at(tree, engine_key));
  if (engine != "vllm" && engine != "sglang" && engine != "trtllm")
    return setting_error(tree, engine_key, fmt::format("is {}; accepted: vllm, sglang, trtllm", base::quote(engine)));
  constexpr std::string_view distillation_key = "distillation.enabled";
  DOVETAIL_TRY(const bool distills, flag_at(tree, distillation_key));
  if (distills) return setting_error(tree, distillation_key, "is true, but jobs cannot have teachers; accepted: false");
  draft.run.framework = "verl";
  draft.run.training = draft.megatron() ? "megatron-policy" : "verl-fsdp";
  return {};
}

base::Status read_verl_algorithm(VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const std::string estimator, text_at(tree, "algorithm.adv_estimator"));
  DOVETAIL_TRY(const auto critic, optional_flag(tree, "critic.enable"));
  DOVETAIL_TRY(const bool in_reward, flag_at(tree, "algorithm.use_kl_in_reward"));
  DOVETAIL_TRY(const bool in_loss, flag_at(tree, "actor_rollout_ref.actor.use_kl_loss"));
  DOVETAIL_TRY(const bool bypass, flag_at(tree, "algorithm.rollout_correction.bypass_mode"));
  DOVETAIL_TRY(run.reward_model, flag_at(tree, "reward.reward_model.enable"));
  draft.critic = critic.value_or(estimator == "gae");
  run.reference = in_reward || in_loss;
  run.trainer_log_probabilities = !bypass;
  run.algorithm = draft.critic                                   ? "ppo"
                  : estimator == "remax"                         ? "remax"
                  : estimator.starts_with("reinforce_plus_plus") ? "reinforce++"
                                                                 : "grpo";
  if (run.algorithm == "grpo" && estimator != "grpo")
    run.assumed.push_back({"algorithm.adv_estimator", fmt::format("{}: modeled with the tasks of grpo", estimator),
                           place_of(tree, "algorithm.adv_estimator")});
  if (!run.reward_model) run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  return {};
}

base::Status read_verl_workload(VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  constexpr std::string_view mini_key = "actor_rollout_ref.actor.ppo_mini_batch_size";
  DOVETAIL_TRY(run.prompts, count_at(tree, "data.train_batch_size"));
  DOVETAIL_TRY(run.samples_per_prompt, count_at(tree, "actor_rollout_ref.rollout.n"));
  DOVETAIL_TRY(const std::int64_t mini_batch, count_at(tree, mini_key));
  DOVETAIL_TRY(run.epochs, count_at(tree, "actor_rollout_ref.actor.ppo_epochs"));
  DOVETAIL_TRY(run.prompt_cap, count_at(tree, "data.max_prompt_length"));
  DOVETAIL_TRY(run.response_cap, count_at(tree, "data.max_response_length"));
  DOVETAIL_TRY(run.packing, flag_at(tree, draft.megatron() ? "actor_rollout_ref.actor.megatron.use_remove_padding"
                                                           : verl_actor_keys.unpadded));
  if (mini_batch > run.prompts || run.prompts % mini_batch != 0)
    return setting_error(
        tree, mini_key,
        fmt::format("is {} prompts; accepted: a divisor of data.train_batch_size ({})", mini_batch, run.prompts));
  if (mini_batch > plan::max_count / run.samples_per_prompt)
    return setting_error(
        tree, mini_key,
        fmt::format("makes too many samples per optimizer step; accepted: at most {} samples", plan::max_count));
  run.mini_batch = mini_batch * run.samples_per_prompt;
  assume_lengths(tree, draft.request.options, "data.max_prompt_length", "data.max_response_length", run);
  constexpr std::string_view both_key = "actor_rollout_ref.rollout.max_model_len";
  DOVETAIL_TRY(const auto both, optional_integer(tree, both_key));
  if (both) take_sequence_cap(tree, both_key, *both, run);
  return {};
}

/// Adds a separate pool after the existing nodes and returns its devices. It has whole nodes of the trainer's size.
base::Result<cluster::Mesh> own_pool(VerlDraft& draft, std::string_view keys, std::int64_t& nodes,
                                     std::int64_t gpus_per_node) {
  const std::string nodes_key = fmt::format("{}.nnodes", keys);
  const std::string gpus_key = fmt::format("{}.n_gpus_per_node", keys);
  DOVETAIL_TRY(const std::int64_t own_nodes, count_at(draft.tree(), nodes_key));
  DOVETAIL_TRY(const std::int64_t own_gpus, count_at(draft.tree(), gpus_key));
  if (own_gpus != gpus_per_node)
    return setting_error(draft.tree(), gpus_key,
                         fmt::format("is {}; accepted: trainer.n_gpus_per_node ({})", own_gpus, gpus_per_node));
  const cluster::Mesh mesh{.first = static_cast<int>(nodes * gpus_per_node),
                           .count = static_cast<int>(std::min<std::int64_t>(own_nodes, max_devices) * gpus_per_node)};
  nodes += own_nodes;
  return mesh;
}

base::Status read_verl_pools(VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  const ImportOptions& options = draft.request.options;
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  if (chosen) {
    nodes = chosen->nodes;
    gpus = chosen->gpus_per_node;
  } else {
    DOVETAIL_TRY(nodes, count_at(tree, "trainer.nnodes"));
    DOVETAIL_TRY(gpus, count_at(tree, "trainer.n_gpus_per_node"));
  }
  if (nodes > max_devices || gpus > max_devices || nodes * gpus > max_devices)
    return setting_error(
        tree, "trainer.nnodes",
        fmt::format("times `trainer.n_gpus_per_node` is too large; accepted: at most {} GPUs in total", max_devices));
  draft.pool = static_cast<int>(nodes * gpus);
  draft.engines = draft.judges = draft.trainer();
  DOVETAIL_TRY(const std::string mode, text_at(tree, "trainer.v1.trainer_mode"));
  DOVETAIL_TRY(const bool v1, flag_at(tree, "trainer.use_v1"));
  DOVETAIL_TRY(const bool reward_pool, flag_at(tree, "reward.reward_model.enable_resource_pool"));
  const bool engine_pool = v1 && mode == "separate_async";
  if (chosen && (engine_pool || (draft.run.reward_model && reward_pool)))
    return base::bad_input(
        "--cluster cannot be used if the configuration has several pools of GPUs; accepted: --gpu, which "
        "keeps these pools");
  if (engine_pool) {
    DOVETAIL_TRY(draft.engines, own_pool(draft, "actor_rollout_ref.rollout", nodes, gpus));
    draft.run.steps_off_policy = 1;
  }
  if (draft.run.reward_model && reward_pool) {
    DOVETAIL_TRY(draft.judges, own_pool(draft, reward_keys, nodes, gpus));
  }
  if (chosen) {
    draft.run.cluster = *std::move(chosen);
    return {};
  }
  return choose_gpu(options, nodes, gpus, draft.run);
}

base::Status read_verl_models(VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  // Megatron has separate settings for adapters.
  const std::string rank = draft.megatron() ? "lora.rank" : "lora_rank";
  DOVETAIL_TRY(draft.actor_model, role_model(tree, draft.request, "actor", "actor_rollout_ref.model.path", draft.run));
  DOVETAIL_TRY(draft.run.models.back().lora, adapter_rank_at(tree, "actor_rollout_ref.model." + rank));
  if (draft.critic) {
    DOVETAIL_TRY(draft.critic_model, role_model(tree, draft.request, "critic", "critic.model.path", draft.run));
    DOVETAIL_TRY(draft.run.models.back().lora, adapter_rank_at(tree, "critic.model." + rank));
  }
  if (draft.run.reward_model) {
    DOVETAIL_TRY(const llm::Transformer reward,
                 role_model(tree, draft.request, "reward", "reward.reward_model.model_path", draft.run));
  }
  return {};
}

/// Returns the layout of the role with these keys. With Megatron, all roles use the parallel degrees of the engine that
/// is built first: the critic if there is one, otherwise the reference, otherwise the actor.
base::Result<llm::Layout> layout_of(const VerlDraft& draft, const VerlEngineKeys& keys, const llm::Transformer& model) {
  if (!draft.megatron()) return fsdp_layout(draft.tree(), keys, draft.pool);
  const VerlEngineKeys& first = draft.critic          ? verl_critic_keys
                                : draft.run.reference ? verl_reference_keys
                                                      : verl_actor_keys;
  return megatron_layout(draft.tree(), keys.megatron, first.megatron, draft.pool, model);
}

/// Returns the states that leave the devices while a trained role is idle.
base::Result<plan::Offload> offload_of(const VerlDraft& draft, const VerlEngineKeys& keys, std::string_view optimizer) {
  const std::string_view engine = draft.megatron() ? keys.megatron : keys.fsdp;
  plan::Offload offload;
  DOVETAIL_TRY(offload.weights, flag_at(draft.tree(), fmt::format("{}.param_offload", engine)));
  offload.gradients = offload.weights;
  DOVETAIL_TRY(offload.optimizer, flag_at(draft.tree(), fmt::format("{}.optimizer_offload", engine)));
  if (draft.megatron()) {
    DOVETAIL_TRY(const HostShare share, verl_host_share(draft.tree(), optimizer));
    offload.optimizer_on_host = share.has_part();
    if (share.has_all()) offload.optimizer = false;
  }
  return offload;
}

/// Adds the tasks of a trained role: its inference, if any, and its training.
base::Status add_trained(VerlDraft& draft, const std::string& role, const VerlEngineKeys& keys,
                         std::string_view optimizer, const VerlBatchKeys& train, const VerlBatchKeys& infer,
                         const llm::Transformer& model) {
  DOVETAIL_TRY(llm::Layout layout, layout_of(draft, keys, model));
  DOVETAIL_TRY(const plan::Offload offload, offload_of(draft, keys, optimizer));
  plan::TaskPlan trained{
      .mesh = draft.trainer(), .layout = layout, .micro_batching = {}, .engine = {}, .offload = offload};
  DOVETAIL_TRY(trained.micro_batching, verl_micro_batching(draft.tree(), train, layout));
  plan::TaskPlan passed{.mesh = draft.trainer(), .layout = layout, .micro_batching = {}, .engine = {}, .offload = {}};
  passed.layout.recomputation = llm::Recomputation::none;
  passed.offload.weights = offload.weights;
  if (role == "critic" || draft.run.trainer_log_probabilities) {
    DOVETAIL_TRY(passed.micro_batching, verl_micro_batching(draft.tree(), infer, layout));
    draft.run.tasks.push_back({role + "_infer", passed});
  }
  draft.run.tasks.push_back({role + "_train", trained});
  return {};
}

base::Status add_reference(VerlDraft& draft) {
  DOVETAIL_TRY(llm::Layout layout, layout_of(draft, verl_reference_keys, draft.actor_model));
  layout.recomputation = llm::Recomputation::none;
  plan::TaskPlan passed{.mesh = draft.trainer(), .layout = layout, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(passed.micro_batching, verl_micro_batching(draft.tree(), verl_reference_infer_keys, layout));
  passed.offload.weights = true;
  if (draft.megatron()) {
    DOVETAIL_TRY(passed.offload.weights, flag_at(draft.tree(), "actor_rollout_ref.ref.megatron.param_offload"));
  }
  draft.run.tasks.push_back({"reference_infer", passed});
  return {};
}

/// Returns the layout of the engines on `mesh`, from their tensor, data and pipeline parallel sizes.
base::Result<llm::Layout> engine_layout(const VerlDraft& draft, std::string_view keys, const cluster::Mesh& mesh) {
  return engine_degrees(draft.tree(),
                        {.tensor = fmt::format("{}.tensor_model_parallel_size", keys),
                         .pipeline = fmt::format("{}.pipeline_model_parallel_size", keys),
                         .data = fmt::format("{}.data_parallel_size", keys)},
                        mesh.count);
}

base::Status add_generation(VerlDraft& draft) {
  constexpr std::string_view keys = verl_rollout_keys;
  const syntax::SettingTree& tree = draft.tree();
  const auto key = [keys](std::string_view name) { return fmt::format("{}.{}", keys, name); };
  plan::TaskPlan generated{.mesh = draft.engines, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(generated.layout, engine_layout(draft, keys, draft.engines));
  plan::Engine& engine = generated.engine;
  DOVETAIL_TRY(engine.memory_utilization, decimal_at(tree, key("gpu_memory_utilization")));
  DOVETAIL_TRY(engine.max_num_seqs, count_at(tree, key("max_num_seqs")));
  DOVETAIL_TRY(engine.max_num_batched_tokens, count_at(tree, key("max_num_batched_tokens")));
  DOVETAIL_TRY(engine.chunked_prefill, flag_at(tree, key("enable_chunked_prefill")));
  DOVETAIL_TRY(const bool eager, flag_at(tree, key("enforce_eager")));
  engine.cuda_graphs = !eager;
  // An engine on the trainer's devices frees its weights when it sleeps between generations.
  DOVETAIL_TRY(const bool sleeps, flag_at(tree, key("free_cache_engine")));
  generated.offload.weights = sleeps && draft.engines == draft.trainer();
  if (draft.actor_model.experts) {
    // vLLM distributes experts over the ranks of an instance.
    DOVETAIL_TRY(const std::int64_t expert, count_at(tree, key("expert_parallel_size")));
    generated.layout.expert = static_cast<int>(std::min<std::int64_t>(expert, max_devices));
  }
  draft.run.tasks.push_back({"actor_generate", generated});
  if (draft.run.algorithm == "remax") draft.run.tasks.push_back({"actor_generate_greedy", generated});
  return {};
}

base::Status add_reward(VerlDraft& draft) {
  if (!draft.run.reward_model) return {};
  const std::string keys = fmt::format("{}.rollout", reward_keys);
  plan::TaskPlan judged{.mesh = draft.judges, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(judged.layout, engine_layout(draft, keys, draft.judges));
  DOVETAIL_TRY(const std::int64_t tokens, count_at(draft.tree(), keys + ".max_num_batched_tokens"));
  judged.micro_batching.tokens = static_cast<double>(std::min(tokens, plan::max_count));
  judged.offload.weights = draft.judges == draft.trainer();
  draft.run.tasks.push_back({"reward_infer", judged});
  if (draft.run.algorithm == "remax") draft.run.tasks.push_back({"reward_infer_greedy", judged});
  return {};
}

base::Status check_start(const VerlDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_TRY(const bool train, flag_at(tree, verl_actor_train_keys.dynamic));
  DOVETAIL_TRY(const bool pass, flag_at(tree, verl_actor_infer_keys.dynamic));
  if (train != pass)
    return setting_error(tree, verl_actor_infer_keys.dynamic,
                         fmt::format("differs from {}, so verl rejects the configuration; accepted: equal values",
                                     verl_actor_train_keys.dynamic));
  return {};
}

base::Result<ReadRun> verl_run(const VerlSettings& settings, const RunRequest& request) {
  VerlDraft draft{.settings = settings, .request = request};
  draft.run.name = request.name;
  draft.run.assumed = settings.assumed;
  draft.run.ignored = settings.ignored;
  DOVETAIL_CHECK(check_backends(draft));
  DOVETAIL_CHECK(check_start(draft));
  DOVETAIL_CHECK(read_verl_algorithm(draft));
  DOVETAIL_CHECK(read_verl_workload(draft));
  DOVETAIL_CHECK(read_verl_pools(draft));
  DOVETAIL_CHECK(read_verl_models(draft));
  DOVETAIL_CHECK(add_generation(draft));
  DOVETAIL_CHECK(add_reward(draft));
  DOVETAIL_CHECK(add_trained(draft, "actor", verl_actor_keys, "actor_rollout_ref.actor.optim", verl_actor_train_keys,
                             verl_actor_infer_keys, draft.actor_model));
  if (draft.run.reference) DOVETAIL_CHECK(add_reference(draft));
  if (draft.critic) {
    VerlBatchKeys infer = verl_critic_infer_keys;
    // Megatron has no separate batch size for inference.
    if (draft.megatron()) {
      infer.per_gpu = verl_critic_train_keys.per_gpu;
      infer.all = verl_critic_train_keys.all;
    }
    DOVETAIL_CHECK(add_trained(draft, "critic", verl_critic_keys, "critic.optim", verl_critic_train_keys, infer,
                               draft.critic_model));
  }
  DOVETAIL_CHECK(add_verl_unmodeled(settings, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = settings.tree.sources};
}

base::Result<ReadRun> verl_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     const RunRequest& request) {
  DOVETAIL_TRY(const VerlSettings settings, settings_of_launch(launch, sources, request.environment));
  return verl_run(settings, request);
}

bool has_verl_key(std::string_view content) {
  return has_top_key(content, "actor_rollout_ref") || content.find("\"actor_rollout_ref\"") != std::string_view::npos;
}

base::Result<syntax::Setting> root_setting(const ConfigurationFile& file) {
  if (file.printed) return *file.printed;
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(file.content, file.name));
  DOVETAIL_TRY(syntax::Setting root, syntax::setting_of(document, file.content, 0));
  if (!is_verl_configuration(root))
    return document.root().error("not a verl configuration; accepted: a map with `actor_rollout_ref`");
  return root;
}

base::Result<ReadRun> verl_of_configuration(const ConfigurationFile& file, const RunRequest& request) {
  if (!request.options.arguments.empty())
    return base::bad_input(
        "arguments after the file need a launch script; accepted: a configuration without arguments");
  DOVETAIL_TRY(syntax::Setting root, root_setting(file));
  DOVETAIL_TRY(const VerlSettings settings, settings_of_configuration(std::move(root), file.name, request.environment));
  return verl_run(settings, request);
}

}  // namespace

const TrainerReader verl_reader{.name = "verl",
                                .is_entry = is_verl_entry,
                                .of_launch = verl_of_launch,
                                .is_configuration = has_verl_key,
                                .recognized_by = "actor_rollout_ref",
                                .of_configuration = verl_of_configuration,
                                .printed_by = "actor_rollout_ref"};

}  // namespace dovetail::trainers
