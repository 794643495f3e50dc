#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "trainers/openrlhf/openrlhf.h"

namespace dovetail::trainers {
namespace {

/// Returns the token budget of each GPU that shares a sequence.
std::string tokens_per_gpu(const plan::TaskPlan& planned) {
  return fmt::format("{:.0f}", planned.micro_batching.tokens / (planned.layout.context * planned.layout.tensor));
}

void add_training(const plan::TaskPlan& planned, ChangeList& changes) {
  const llm::Layout& layout = planned.layout;
  changes.set("--ds.zero_stage", layout.zero);
  changes.set("--ds.tensor_parallel_size", layout.tensor);
  changes.set("--ds.ring_attn_size", layout.context);
  changes.set_flag("--actor.gradient_checkpointing_enable", layout.recomputation == llm::Recomputation::full);
  changes.set_flag("--ds.adam_offload", planned.offload.optimizer_on_host);
  changes.set_flag("--ds.enable_sleep", planned.offload.gradients);
  const bool dynamic = planned.micro_batching.tokens > 0;
  changes.set_flag("--train.dynamic_batch_enable", dynamic);
  if (dynamic)
    changes.set("--train.max_tokens_per_gpu", tokens_per_gpu(planned));
  else
    changes.set("--train.micro_batch_size", fmt::format("{:.0f}", planned.micro_batching.sequences));
}

std::vector<Change> openrlhf_changes(const plan::Job& job, const plan::Plan& plan,
                                     const syntax::SettingTree& /*settings*/) {
  ChangeList changes;
  const auto planned = [&](std::string_view task) { return find_planned(job, plan, task); };
  if (const auto* const generated = planned("actor_generate")) {
    changes.set("--vllm.num_engines", generated->layout.data);
    changes.set("--vllm.tensor_parallel_size", generated->layout.tensor);
    changes.set("--vllm.gpu_memory_utilization", fmt::format("{}", generated->engine.memory_utilization));
    changes.set_flag("--vllm.enforce_eager", !generated->engine.cuda_graphs);
    changes.set_flag("--vllm.enable_sleep", generated->offload.weights);
  }
  if (const auto* const trained = planned("actor_train")) add_training(*trained, changes);
  if (const auto* const passed = planned("actor_infer")) {
    if (passed->micro_batching.tokens > 0)
      changes.set("--rollout.max_tokens_per_gpu", tokens_per_gpu(*passed));
    else
      changes.set("--rollout.micro_batch_size", fmt::format("{:.0f}", passed->micro_batching.sequences));
  }
  if (const auto* const passed = planned("reference_infer")) changes.set_flag("--ref.offload", passed->offload.weights);
  if (const auto* const passed = planned("reward_infer")) changes.set_flag("--reward.offload", passed->offload.weights);
  return std::move(changes.all);
}

/// Roles other than the engines, with their numbers of GPUs.
using RoleSizes = std::vector<std::pair<std::string, int>>;

std::vector<Setter> role_sizes(const cluster::Cluster& cluster, const RoleSizes& sizes) {
  const int node = cluster.groups.front().devices_per_node;
  std::vector<Setter> all;
  for (const auto& [role, count] : sizes) {
    const int nodes = std::max(count / node, 1);
    all.push_back({fmt::format("--{}.num_nodes", role), std::to_string(nodes)});
    all.push_back({fmt::format("--{}.num_gpus_per_node", role), std::to_string(count / nodes)});
  }
  return all;
}

/// Splits the trainer's GPUs between roles. Critic and reward model, if there are any, share one half. Adds the flags
/// by which roles share GPUs to `with`.
RoleSizes apart_roles(const AlternativesRequest& request, int trainer, std::vector<Setter>& with) {
  const auto has = [&](const char* task) { return find_planned(request.job, request.plan, task) != nullptr; };
  const bool critic = has("critic_train");
  const int actor = critic || has("reward_infer") ? std::max(trainer / 2, 1) : trainer;
  RoleSizes sizes{{"actor", actor}};
  if (has("reference_infer")) {
    sizes.emplace_back("ref", actor);
    with.push_back({"--train.colocate_actor_ref", {}});
  }
  if (critic) sizes.emplace_back("critic", trainer - actor);
  if (has("reward_infer")) sizes.emplace_back("reward", trainer - actor);
  if (critic && has("reward_infer")) with.push_back({"--train.colocate_critic_reward", {}});
  return sizes;
}

Change shared_change(const AlternativesRequest& request) {
  const int all = cluster::device_count(request.job.cluster);
  const auto has = [&](const char* task) { return find_planned(request.job, request.plan, task) != nullptr; };
  RoleSizes sizes{{"actor", all}};
  if (has("reference_infer")) sizes.emplace_back("ref", all);
  if (has("critic_train")) sizes.emplace_back("critic", all);
  if (has("reward_infer")) sizes.emplace_back("reward", all);
  std::vector<Setter> with = role_sizes(request.job.cluster, sizes);
  with.push_back({"--vllm.num_engines", std::to_string(all)});
  with.push_back({"--vllm.tensor_parallel_size", "1"});
  return {.set = {"--train.colocate_all", {}}, .with = std::move(with)};
}

Change apart_change(const AlternativesRequest& request, int engines) {
  const int all = cluster::device_count(request.job.cluster);
  std::vector<Setter> joined;
  const RoleSizes roles = apart_roles(request, all - engines, joined);
  Change change{.set = {"--vllm.num_engines", std::to_string(engines)},
                .with = role_sizes(request.job.cluster, roles),
                .without = {"--train.colocate_all", "--vllm.enable_sleep", "--ds.enable_sleep"}};
  change.with.push_back({"--vllm.tensor_parallel_size", "1"});
  change.with.insert(change.with.end(), joined.begin(), joined.end());
  return change;
}

std::vector<Alternative> openrlhf_alternatives(const AlternativesRequest& request) {
  return mode_alternatives(request, [&](const Pools& pools) {
    return pools.shared ? shared_change(request) : apart_change(request, pools.engines);
  });
}

/// Gives a role all GPUs. The roles share them.
void add_role(const JobFacts& facts, std::string_view role, std::vector<std::string>& arguments) {
  arguments.push_back(fmt::format("--{}.num_nodes {}", role, facts.nodes));
  arguments.push_back(fmt::format("--{}.num_gpus_per_node {}", role, facts.gpus_per_node));
}

base::Result<CompleteFile> openrlhf_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_software(facts, "OpenRLHF", {.engines = {plan::EngineKind::vllm}, .loss_entropy = true}));
  if (facts.training != "deepspeed-zero")
    return base::bad_input(
        fmt::format("OpenRLHF does not support `training: {}`; accepted: deepspeed-zero", facts.training));
  if (facts.algorithm == "remax" || facts.steps_off_policy > 0 || !facts.trainer_log_probabilities)
    return base::bad_input(
        "OpenRLHF files without --base can express only on-policy jobs without remax, with the trainer's "
        "log-probabilities; accepted: ppo, grpo or reinforce++ with `steps_off_policy: 0` and "
        "`policy_log_probabilities: trainer`");
  CompleteFile file{
      .required = required_models(facts), .arguments = {}, .command = "python3 -m openrlhf.cli.train_ppo_ray"};
  file.required.push_back({"PROMPT_DATA", "prompts: a folder, a file, or a dataset on Hugging Face", "prompts"});
  file.required.push_back({"SAVE_PATH", "output folder for the trained weights", "trained"});
  if (!facts.reward_model)
    file.required.push_back({"REWARD_RULE", "reward: a Python file or the address of a server", "rule.py"});
  std::vector<std::string>& arguments = file.arguments;
  arguments = {"--actor.model_name_or_path \"$ACTOR_PATH\"", "--data.prompt_dataset \"$PROMPT_DATA\"",
               "--ckpt.output_dir \"$SAVE_PATH\""};
  arguments.emplace_back(facts.reward_model ? "--reward.model_name_or_path \"$REWARD_PATH\""
                                            : "--reward.remote_url \"$REWARD_RULE\"");
  if (facts.critic) arguments.emplace_back("--critic.model_name_or_path \"$CRITIC_PATH\"");
  arguments.push_back(fmt::format("--algo.advantage.estimator {}", facts.critic                ? "gae"
                                                                   : facts.algorithm == "grpo" ? "group_norm"
                                                                                               : "reinforce"));
  arguments.push_back(fmt::format("--algo.kl.init_coef {}", facts.reference ? "0.01" : "0"));
  // A weight of 0 still computes entropy.
  if (facts.loss_entropy != plan::LossEntropy::none) arguments.emplace_back("--actor.entropy_coef 0");
  arguments.push_back(fmt::format("--rollout.batch_size {}", facts.prompts));
  arguments.push_back(fmt::format("--rollout.n_samples_per_prompt {}", facts.samples_per_prompt));
  arguments.push_back(fmt::format("--train.batch_size {}", facts.mini_batch));
  arguments.push_back(fmt::format("--train.max_epochs {}", facts.epochs));
  arguments.push_back(fmt::format("--data.max_len {}", facts.sequence_cap));
  arguments.push_back(fmt::format("--rollout.max_new_tokens {}", facts.response_cap));
  if (facts.packing) arguments.emplace_back("--ds.packing_samples");
  arguments.emplace_back("--train.colocate_all");
  add_role(facts, "actor", arguments);
  if (facts.reference) add_role(facts, "ref", arguments);
  if (facts.critic) add_role(facts, "critic", arguments);
  if (facts.reward_model) add_role(facts, "reward", arguments);
  return file;
}

}  // namespace

const TrainerWriter openrlhf_writer{.name = "openrlhf",
                                    .changes_of = openrlhf_changes,
                                    .alternatives_of = openrlhf_alternatives,
                                    .flags = openrlhf_flags,
                                    .complete_file = openrlhf_complete_file};

}  // namespace dovetail::trainers
