#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/document.h"
#include "syntax/arguments.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"
#include "trainers/openrlhf/openrlhf.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view estimator_key = "--algo.advantage.estimator";
constexpr std::string_view engines_key = "--vllm.num_engines";

/// A run while its configuration is being read.
struct OpenrlhfDraft {
  const syntax::SettingTree& tree;
  const RunRequest& request;
  ImportedRun run = {};
  bool critic = false;
  bool dynamic = false;
  std::string critic_key = {};  ///< flag that names the critic's model
  cluster::Mesh actor_mesh = {};
  cluster::Mesh reference_mesh = {};
  cluster::Mesh critic_mesh = {};
  cluster::Mesh reward_mesh = {};
  cluster::Mesh engine_mesh = {};
};

/// Returns whether the flag has a nonempty value.
base::Result<bool> is_given_by_flag(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  return value && !value->empty();
}

base::Status read_openrlhf_algorithm(OpenrlhfDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const std::string estimator, text_at(tree, estimator_key));
  DOVETAIL_TRY(const double penalty, decimal_at(tree, "--algo.kl.init_coef"));
  DOVETAIL_TRY(const bool agent, is_given_by_flag(tree, "--train.agent_func_path"));
  DOVETAIL_TRY(const bool remote, is_given_by_flag(tree, "--reward.remote_url"));
  DOVETAIL_TRY(const bool reward, is_given_by_flag(tree, "--reward.model_name_or_path"));
  DOVETAIL_TRY(const bool own_critic, is_given_by_flag(tree, "--critic.model_name_or_path"));
  draft.critic = estimator == "gae";
  run.framework = "openrlhf";
  run.training = "deepspeed-zero";
  run.reference = penalty > 0;
  run.reward_model = !remote && !agent;
  if (run.reward_model && !reward)
    return setting_error(tree, "--reward.model_name_or_path",
                         "is missing, which OpenRLHF rejects; accepted: a model, --reward.remote_url or "
                         "--train.agent_func_path");
  draft.critic_key = own_critic         ? "--critic.model_name_or_path"
                     : run.reward_model ? "--reward.model_name_or_path"
                                        : "--actor.model_name_or_path";
  run.algorithm = draft.critic ? "ppo" : estimator.starts_with("reinforce") ? "reinforce++" : "grpo";
  if (run.algorithm != "ppo" && estimator != "group_norm" && estimator != "reinforce")
    run.assumed.push_back({std::string(estimator_key),
                           fmt::format("{}: modeled with the tasks of {}", estimator, run.algorithm),
                           place_of(tree, estimator_key)});
  if (!run.reward_model) run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  return {};
}

/// Reads the length caps. OpenRLHF caps prompt and response together, and responses alone.
base::Status read_caps(OpenrlhfDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  constexpr std::string_view both_key = "--data.max_len";
  constexpr std::string_view response_key = "--rollout.max_new_tokens";
  constexpr std::string_view old_prompt_key = "--prompt_max_len";
  DOVETAIL_TRY(const std::int64_t both, count_at(tree, both_key));
  DOVETAIL_TRY(const auto response, optional_integer(tree, response_key));
  DOVETAIL_TRY(const auto old_prompt, optional_integer(tree, old_prompt_key));
  if (old_prompt && *old_prompt >= 1) {
    run.prompt_cap = *old_prompt;
    run.response_cap = std::max<std::int64_t>(response.value_or(1024), 1);
    assume_lengths(tree, draft.request.options, old_prompt_key, response_key, run);
    return {};
  }
  if (both < 2) return setting_error(tree, both_key, fmt::format("is {}; accepted: at least 2", both));
  if (response && (*response < 1 || *response >= both))
    return setting_error(tree, response_key,
                         fmt::format("is {}; accepted: 1 to {}, less than the cap of prompt and response in {}",
                                     *response, both - 1, both_key));
  run.response_cap = response.value_or(both - both / 2);
  run.prompt_cap = both - run.response_cap;
  run.sequence_cap = both;
  if (!response) {
    run.max_prompt = run.max_response = both - 1;
    run.assumed.push_back(
        {std::string(both_key),
         fmt::format("{}: cap of prompt and response together; modeled with prompts of {} and responses of {} tokens",
                     both, run.prompt_cap, run.response_cap),
         place_of(tree, both_key)});
  }
  assume_lengths(tree, draft.request.options, both_key, response ? response_key : both_key, run);
  return {};
}

base::Status read_openrlhf_workload(OpenrlhfDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  constexpr std::string_view batch_key = "--train.batch_size";
  DOVETAIL_TRY(run.prompts, count_at(tree, "--rollout.batch_size"));
  DOVETAIL_TRY(run.samples_per_prompt, count_at(tree, "--rollout.n_samples_per_prompt"));
  DOVETAIL_TRY(run.mini_batch, count_at(tree, batch_key));
  DOVETAIL_TRY(run.epochs, count_at(tree, "--train.max_epochs"));
  if (run.prompts > plan::max_count / run.samples_per_prompt)
    return setting_error(
        tree, "--rollout.batch_size",
        fmt::format("makes too many samples per iteration; accepted: at most {} samples", plan::max_count));
  const std::int64_t samples = run.prompts * run.samples_per_prompt;
  if (run.mini_batch > samples || samples % run.mini_batch != 0)
    return setting_error(
        tree, batch_key,
        fmt::format("is {}; accepted: a divisor of the {} samples of an iteration", run.mini_batch, samples));
  DOVETAIL_TRY(draft.dynamic, flag_at(tree, "--train.dynamic_batch_enable"));
  DOVETAIL_TRY(const bool packs, flag_at(tree, "--ds.packing_samples"));
  DOVETAIL_TRY(const int ring, degree_at(tree, "--ds.ring_attn_size"));
  // Dynamic batches and ring attention always pack.
  run.packing = packs || draft.dynamic || ring > 1;
  return read_caps(draft);
}

/// Returns the number of GPUs of a role.
base::Result<std::int64_t> role_gpus(const syntax::SettingTree& tree, std::string_view role) {
  const std::string nodes_key = fmt::format("--{}.num_nodes", role);
  DOVETAIL_TRY(const std::int64_t nodes, count_at(tree, nodes_key));
  DOVETAIL_TRY(const std::int64_t gpus, count_at(tree, fmt::format("--{}.num_gpus_per_node", role)));
  if (nodes <= max_devices && gpus <= max_devices && nodes * gpus <= max_devices) return nodes * gpus;
  return setting_error(tree, nodes_key,
                       fmt::format("times `--{}.num_gpus_per_node` is too large; accepted: at most {} GPUs in total",
                                   role, max_devices));
}

/// Fails unless a role that shares the GPUs of another has the same number of GPUs.
base::Status check_shared(const syntax::SettingTree& tree, std::string_view role, std::string_view other,
                          std::string_view flag) {
  for (const std::string_view size : {"num_nodes", "num_gpus_per_node"}) {
    const std::string key = fmt::format("--{}.{}", role, size);
    DOVETAIL_TRY(const std::int64_t own, count_at(tree, key));
    DOVETAIL_TRY(const std::int64_t others, count_at(tree, fmt::format("--{}.{}", other, size)));
    if (own != others)
      return setting_error(tree, key,
                           fmt::format("is {} with {}, so OpenRLHF rejects the configuration; accepted: --{}.{} ({})",
                                       own, flag, other, size, others));
  }
  return {};
}

/// Fails unless colocated engines use exactly as many GPUs as the actor.
base::Status check_colocated_engines(const syntax::SettingTree& tree, std::int64_t engine_gpus,
                                     std::int64_t actor_gpus) {
  if (engine_gpus == actor_gpus) return {};
  return setting_error(
      tree, engines_key,
      fmt::format(
          "x --vllm.tensor_parallel_size is {} with --train.colocate_all, so OpenRLHF rejects the configuration; "
          "accepted: the number of GPUs of the actor ({})",
          engine_gpus, actor_gpus));
}

base::Status read_openrlhf_pools(OpenrlhfDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const bool all, flag_at(tree, "--train.colocate_all"));
  DOVETAIL_TRY(const bool with_reference, flag_at(tree, "--train.colocate_actor_ref"));
  DOVETAIL_TRY(const bool with_reward, flag_at(tree, "--train.colocate_critic_reward"));
  DOVETAIL_TRY(const bool async, flag_at(tree, "--train.async_enable"));
  DOVETAIL_TRY(const std::int64_t actor, role_gpus(tree, "actor"));
  DOVETAIL_TRY(const std::int64_t per_node, count_at(tree, "--actor.num_gpus_per_node"));
  DOVETAIL_TRY(const std::int64_t instances, count_at(tree, engines_key));
  DOVETAIL_TRY(const std::int64_t tensor, count_at(tree, "--vllm.tensor_parallel_size"));
  if (instances > max_devices || tensor > max_devices)
    return setting_error(
        tree, engines_key,
        fmt::format("x --vllm.tensor_parallel_size is too large; accepted: at most {} GPUs in total", max_devices));
  if (async) run.steps_off_policy = 1;
  if (run.reference && (all || with_reference))
    DOVETAIL_CHECK(check_shared(tree, "ref", "actor", all ? "--train.colocate_all" : "--train.colocate_actor_ref"));
  if (draft.critic && run.reward_model && with_reward)
    DOVETAIL_CHECK(check_shared(tree, "critic", "reward", "--train.colocate_critic_reward"));
  if (all && !async) DOVETAIL_CHECK(check_colocated_engines(tree, instances * tensor, actor));
  std::vector<std::int64_t> counts{actor};
  const auto pool = [&counts](std::int64_t count) {
    counts.push_back(count);
    return counts.size() - 1;
  };
  std::size_t reference_pool = 0;
  std::size_t critic_pool = 0;
  std::size_t reward_pool = 0;
  if (!all) {
    if (run.reference && !with_reference) {
      DOVETAIL_TRY(const std::int64_t reference, role_gpus(tree, "ref"));
      reference_pool = pool(reference);
    }
    if (draft.critic) {
      DOVETAIL_TRY(const std::int64_t critic, role_gpus(tree, "critic"));
      critic_pool = pool(critic);
    }
    if (run.reward_model) {
      DOVETAIL_TRY(const std::int64_t reward, role_gpus(tree, "reward"));
      reward_pool = draft.critic && with_reward ? critic_pool : pool(reward);
    }
  } else {
    for (const char* const role : {"critic", "reward"}) {
      if (role == std::string_view("critic") ? !draft.critic : !run.reward_model) continue;
      DOVETAIL_CHECK(check_shared(tree, role, "actor", "--train.colocate_all"));
    }
  }
  const std::size_t engine_pool = all && !async ? 0 : pool(instances * tensor);
  DOVETAIL_TRY(const std::vector<cluster::Mesh> meshes, choose_pools(draft.request.options, counts, per_node, run));
  draft.actor_mesh = meshes.front();
  draft.reference_mesh = meshes[reference_pool];
  draft.critic_mesh = meshes[critic_pool];
  draft.reward_mesh = meshes[reward_pool];
  draft.engine_mesh = meshes[engine_pool];
  return {};
}

base::Status read_openrlhf_models(OpenrlhfDraft& draft) {
  ImportedRun& run = draft.run;
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  DOVETAIL_TRY(const int rank, adapter_rank_at(draft.tree, "--ds.lora.rank"));
  const auto add = [&](const std::string& role, const std::string& key) -> base::Status {
    DOVETAIL_TRY(const llm::Transformer shape, role_model(draft.tree, draft.request, role, key, run));
    if (role != "reward") run.models.back().lora = rank;
    return {};
  };
  DOVETAIL_CHECK(add("actor", "--actor.model_name_or_path"));
  if (draft.critic) DOVETAIL_CHECK(add("critic", draft.critic_key));
  if (run.reward_model) DOVETAIL_CHECK(add("reward", "--reward.model_name_or_path"));
  return {};
}

/// Returns the layout on a role's GPUs. All roles have the same degrees. Roles that only infer are sharded only with
/// ZeRO 3.
base::Result<llm::Layout> openrlhf_layout(const syntax::SettingTree& tree, const cluster::Mesh& mesh, bool trains) {
  llm::Layout layout{.stage_layers = {}};
  constexpr std::string_view stage_key = "--ds.zero_stage";
  DOVETAIL_TRY(layout.tensor, degree_at(tree, "--ds.tensor_parallel_size"));
  DOVETAIL_TRY(layout.context, degree_at(tree, "--ds.ring_attn_size"));
  DOVETAIL_TRY(const std::int64_t stage, integer_at(tree, stage_key));
  if (stage < 0 || stage > 3) return setting_error(tree, stage_key, fmt::format("is {}; accepted: 0 to 3", stage));
  layout.zero = trains || stage == 3 ? static_cast<int>(stage) : 0;
  const std::int64_t copy = std::int64_t{layout.tensor} * layout.context;
  if (copy > mesh.count || mesh.count % copy != 0)
    return setting_error(
        tree, layout.tensor > 1 ? "--ds.tensor_parallel_size" : "--ds.ring_attn_size",
        fmt::format("gives tensor {} x ring {}; accepted: degrees whose product divides the {} GPUs of a role",
                    layout.tensor, layout.context, mesh.count));
  layout.data = static_cast<int>(mesh.count / copy);
  return layout;
}

/// Returns the micro-batches of training or inference. A token budget applies to each of the GPUs that share a
/// sequence.
base::Result<plan::MicroBatching> openrlhf_batching(const OpenrlhfDraft& draft, const llm::Layout& layout,
                                                    bool trains) {
  const syntax::SettingTree& tree = draft.tree;
  if (!draft.dynamic) {
    DOVETAIL_TRY(const std::int64_t sequences,
                 count_at(tree, trains ? "--train.micro_batch_size" : "--rollout.micro_batch_size"));
    return sequences_at_most(static_cast<double>(sequences));
  }
  DOVETAIL_TRY(std::int64_t tokens, count_at(tree, "--train.max_tokens_per_gpu"));
  DOVETAIL_TRY(const auto own, optional_integer(tree, "--rollout.max_tokens_per_gpu"));
  if (!trains && own && *own >= 1) tokens = *own;
  return tokens_at_most(static_cast<double>(tokens) * layout.context * layout.tensor);
}

/// Adds the inference task of a role, which is trained or only infers.
base::Status add_pass(OpenrlhfDraft& draft, const std::string& task, const cluster::Mesh& mesh, bool trained,
                      bool on_host) {
  plan::TaskPlan passed{.mesh = mesh, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(passed.layout, openrlhf_layout(draft.tree, mesh, trained));
  DOVETAIL_TRY(passed.micro_batching, openrlhf_batching(draft, passed.layout, false));
  passed.offload.weights = on_host;
  draft.run.tasks.push_back({task, passed});
  return {};
}

base::Status add_training(OpenrlhfDraft& draft, const std::string& task, const cluster::Mesh& mesh) {
  plan::TaskPlan trained{.mesh = mesh, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(trained.layout, openrlhf_layout(draft.tree, mesh, true));
  DOVETAIL_TRY(const bool recomputes, flag_at(draft.tree, "--actor.gradient_checkpointing_enable"));
  if (recomputes) trained.layout.recomputation = llm::Recomputation::full;
  DOVETAIL_TRY(trained.micro_batching, openrlhf_batching(draft, trained.layout, true));
  DOVETAIL_TRY(trained.offload.optimizer_on_host, flag_at(draft.tree, "--ds.adam_offload"));
  DOVETAIL_TRY(const bool sleeps, flag_at(draft.tree, "--ds.enable_sleep"));
  trained.offload.gradients = sleeps;
  trained.offload.optimizer = sleeps && !trained.offload.optimizer_on_host;
  draft.run.tasks.push_back({task, trained});
  return {};
}

base::Status add_openrlhf_generation(OpenrlhfDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  plan::TaskPlan generated{.mesh = draft.engine_mesh, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(const std::int64_t tensor, count_at(tree, "--vllm.tensor_parallel_size"));
  DOVETAIL_TRY(const std::int64_t instances, count_at(tree, engines_key));
  generated.layout.tensor = static_cast<int>(tensor);
  generated.layout.data = static_cast<int>(instances);
  DOVETAIL_TRY(generated.engine.memory_utilization, decimal_at(tree, "--vllm.gpu_memory_utilization"));
  DOVETAIL_TRY(const bool eager, flag_at(tree, "--vllm.enforce_eager"));
  generated.engine.cuda_graphs = !eager;
  // Sleeping engines free the memory of their weights for the trainer.
  DOVETAIL_TRY(const bool all, flag_at(tree, "--train.colocate_all"));
  DOVETAIL_TRY(const bool sleeps, flag_at(tree, "--vllm.enable_sleep"));
  generated.offload.weights = all && sleeps;
  draft.run.assumed.push_back(
      {"", fmt::format("engines decode at most {} sequences at a time and process at most {} tokens per forward pass, "
                       "because OpenRLHF uses vLLM's defaults",
                       generated.engine.max_num_seqs, generated.engine.max_num_batched_tokens)});
  draft.run.tasks.push_back({"actor_generate", generated});
  return {};
}

base::Status add_openrlhf_tasks(OpenrlhfDraft& draft) {
  DOVETAIL_CHECK(add_openrlhf_generation(draft));
  DOVETAIL_CHECK(add_pass(draft, "actor_infer", draft.actor_mesh, true, false));
  DOVETAIL_CHECK(add_training(draft, "actor_train", draft.actor_mesh));
  DOVETAIL_TRY(const auto old_offload, optional_flag(draft.tree, "--ref_reward_offload"));
  if (draft.run.reference) {
    DOVETAIL_TRY(const bool on_host, flag_at(draft.tree, "--ref.offload"));
    DOVETAIL_CHECK(
        add_pass(draft, "reference_infer", draft.reference_mesh, false, on_host || old_offload.value_or(false)));
  }
  if (draft.run.reward_model) {
    DOVETAIL_TRY(const bool on_host, flag_at(draft.tree, "--reward.offload"));
    DOVETAIL_CHECK(add_pass(draft, "reward_infer", draft.reward_mesh, false, on_host || old_offload.value_or(false)));
  }
  if (draft.critic) {
    DOVETAIL_CHECK(add_pass(draft, "critic_infer", draft.critic_mesh, true, false));
    DOVETAIL_CHECK(add_training(draft, "critic_train", draft.critic_mesh));
  }
  return {};
}

/// Repeats OpenRLHF's checks of its arguments in their order, except for those of pools and batch sizes.
base::Status check_openrlhf_start(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const std::string estimator, text_at(tree, estimator_key));
  DOVETAIL_TRY(const std::int64_t samples, count_at(tree, "--rollout.n_samples_per_prompt"));
  DOVETAIL_TRY(const auto instances, optional_integer(tree, engines_key));
  DOVETAIL_TRY(const std::int64_t images, integer_at(tree, "--data.max_images_per_prompt"));
  DOVETAIL_TRY(const bool packs, flag_at(tree, "--ds.packing_samples"));
  DOVETAIL_TRY(const bool async, flag_at(tree, "--train.async_enable"));
  DOVETAIL_TRY(const bool all, flag_at(tree, "--train.colocate_all"));
  DOVETAIL_TRY(const bool sleeps, flag_at(tree, "--vllm.enable_sleep"));
  DOVETAIL_TRY(const bool partial, flag_at(tree, "--train.partial_rollout_enable"));
  DOVETAIL_TRY(const bool filters, flag_at(tree, "--algo.dynamic_filtering_enable"));
  DOVETAIL_TRY(const bool remote, is_given_by_flag(tree, "--reward.remote_url"));
  DOVETAIL_TRY(const bool agent, is_given_by_flag(tree, "--train.agent_func_path"));
  DOVETAIL_TRY(const bool evaluates, is_given_by_flag(tree, "--eval.dataset"));
  DOVETAIL_TRY(const std::int64_t prompts, count_at(tree, "--rollout.batch_size"));
  DOVETAIL_TRY(const auto generated, optional_integer(tree, "--rollout.vllm_generate_batch_size"));
  if (samples == 1 && estimator != "gae" && estimator != "reinforce")
    return setting_error(
        tree, "--rollout.n_samples_per_prompt",
        fmt::format("is 1 with {}, so OpenRLHF rejects the configuration; accepted: at least 2", estimator));
  if (images > 0 && estimator == "gae")
    return setting_error(
        tree, "--data.max_images_per_prompt",
        "is more than 0 with gae, so OpenRLHF rejects the configuration; accepted: 0, or another estimator");
  if (images > 0 && packs)
    return setting_error(
        tree, "--ds.packing_samples",
        "is on with --data.max_images_per_prompt, so OpenRLHF rejects the configuration; accepted: off");
  if (!instances || *instances < 1)
    return setting_error(tree, engines_key, "leaves no engine for generation; accepted: at least 1");
  if (async && sleeps && all)
    return setting_error(
        tree, "--vllm.enable_sleep",
        "is on with --train.async_enable and --train.colocate_all, so OpenRLHF rejects the configuration; accepted: at "
        "most two of them");
  if (partial && !async)
    return setting_error(
        tree, "--train.partial_rollout_enable",
        "is on without --train.async_enable, so OpenRLHF rejects the configuration; accepted: off, or both on");
  if (evaluates && !remote && !agent)
    return setting_error(tree, "--eval.dataset",
                         "is set without --reward.remote_url or --train.agent_func_path, so OpenRLHF rejects the "
                         "configuration; accepted: one of these flags, or no --eval.dataset");
  if (generated.value_or(0) > prompts && !async)
    return setting_error(
        tree, "--rollout.vllm_generate_batch_size",
        fmt::format("exceeds --rollout.batch_size without --train.async_enable, so OpenRLHF rejects the configuration; "
                    "accepted: at most {}",
                    prompts));
  if (filters && !remote && !agent)
    return setting_error(tree, "--algo.dynamic_filtering_enable",
                         "is on without --reward.remote_url or --train.agent_func_path, so OpenRLHF rejects the "
                         "configuration; accepted: one of these flags, or off");
  if (filters && samples == 1)
    return setting_error(
        tree, "--rollout.n_samples_per_prompt",
        "is 1 with --algo.dynamic_filtering_enable, so OpenRLHF rejects the configuration; accepted: at least 2");
  return {};
}

/// Fails unless each data-parallel replica of the actor gets a micro-batch.
base::Status check_copies(const OpenrlhfDraft& draft) {
  constexpr std::string_view key = "--rollout.micro_batch_size";
  DOVETAIL_TRY(const llm::Layout layout, openrlhf_layout(draft.tree, draft.actor_mesh, true));
  DOVETAIL_TRY(const std::int64_t sequences, count_at(draft.tree, key));
  const std::int64_t batches = draft.run.prompts * draft.run.samples_per_prompt / sequences;
  if (batches >= layout.data) return {};
  return setting_error(
      draft.tree, key,
      fmt::format(
          "is {}, which makes {} micro-batches from {} samples, for {} replicas of the actor, so OpenRLHF rejects "
          "the configuration; accepted: at least one micro-batch per replica",
          sequences, batches, draft.run.prompts * draft.run.samples_per_prompt, layout.data));
}

bool is_openrlhf_entry(const syntax::EntryPoint& entry) {
  if (entry.is_module) return entry.name.starts_with("openrlhf.cli.train_");
  return entry.name.find("openrlhf/cli/train_") != std::string::npos ||
         syntax::name_of(entry.name, "") == "train_ppo_ray.py";
}

base::Result<ReadRun> openrlhf_run(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                   const RunRequest& request) {
  const std::string& program = launch.entry.name;
  if (program.find("train_ppo_ray") == std::string::npos)
    return place_error(sources, launch.place,
                       fmt::format("{} {}, which is not supported; accepted: openrlhf.cli.train_ppo_ray", program,
                                   program.find("train_ppo") == std::string::npos ? "trains without generation"
                                                                                  : "trains without Ray"));
  DOVETAIL_TRY(const syntax::Arguments arguments, syntax::parse_arguments(openrlhf_flags(), launch.arguments, sources));
  OpenrlhfDraft draft{.tree = arguments.tree, .request = request};
  draft.run.name = request.name;
  for (const syntax::StrayArgument& word : arguments.uncertain)
    draft.run.assumed.push_back({"", fmt::format("{} is unknown; assumed not to be a flag", word.text), word.place});
  for (const syntax::StrayArgument& word : arguments.unknown)
    draft.run.ignored.push_back(
        {word.text, fmt::format("OpenRLHF {} has no such flag and rejects it", openrlhf_version), word.place});
  DOVETAIL_CHECK(check_openrlhf_start(draft.tree));
  DOVETAIL_CHECK(read_openrlhf_algorithm(draft));
  DOVETAIL_CHECK(read_openrlhf_workload(draft));
  DOVETAIL_CHECK(read_openrlhf_pools(draft));
  DOVETAIL_CHECK(check_copies(draft));
  DOVETAIL_CHECK(read_openrlhf_models(draft));
  DOVETAIL_CHECK(add_openrlhf_tasks(draft));
  DOVETAIL_CHECK(add_openrlhf_unmodeled(draft.tree, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = arguments.tree.sources};
}

}  // namespace

const TrainerReader openrlhf_reader{.name = "openrlhf", .is_entry = is_openrlhf_entry, .of_launch = openrlhf_run};

}  // namespace dovetail::trainers
