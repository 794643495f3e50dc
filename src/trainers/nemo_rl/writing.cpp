#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "syntax/tree.h"
#include "trainers/export/change.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Collects the settings of `policy` or `value`.
class NemoRlChanges {
 public:
  NemoRlChanges(std::string role, bool megatron, std::vector<Change>& all)
      : role_(std::move(role)), megatron_(megatron), all_(all) {}

  void set(std::string_view name, std::string value, std::vector<Setter> with = {}) {
    const std::string_view force = name.starts_with("++") ? "++" : "";
    all_.push_back(
        {{fmt::format("{}{}.{}", force, role_, name.substr(force.size())), std::move(value)}, std::move(with)});
  }
  void set(std::string_view name, bool value) { set(name, std::string(value ? "true" : "false")); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void set(std::string_view name, Number value) {
    set(name, fmt::format("{}", value));
  }

  void add_layout(const llm::Layout& layout) { megatron_ ? add_megatron(layout) : add_dtensor(layout); }

  void add_micro_batches(const plan::TaskPlan& planned, bool trains) {
    const plan::MicroBatching& cut = planned.micro_batching;
    if (cut.tokens > 0)
      set(trains ? "sequence_packing.train_mb_tokens" : "sequence_packing.logprob_mb_tokens",
          fmt::format("{:.0f}", cut.tokens));
    else
      set(trains ? "train_micro_batch_size" : "++logprob_batch_size", fmt::format("{:.0f}", cut.sequences));
  }

  void add_offload(const plan::Offload& offload, double host_share) {
    if (!megatron_) {
      set("++dtensor_cfg.cpu_offload", offload.optimizer_on_host);
      return;
    }
    std::vector<Setter> with;
    if (offload.optimizer_on_host)
      with = {{fmt::format("++{}.megatron_cfg.optimizer.optimizer_offload_fraction", role_), number_text(host_share)}};
    set("++megatron_cfg.optimizer.optimizer_cpu_offload", yaml_flag(offload.optimizer_on_host), std::move(with));
  }

  /// Sets the number of shard groups that keeps their size in the job.
  void add_groups(const llm::Layout& layout, int shard_group) {
    if (!megatron_ && shard_group > 0)
      set("++dtensor_cfg.dp_replicate_size", std::max(1, layout.data * layout.context / shard_group));
  }

 private:
  void add_dtensor(const llm::Layout& layout) {
    set("++dtensor_cfg.tensor_parallel_size", layout.tensor);
    set("++dtensor_cfg.context_parallel_size", layout.context);
    set("++dtensor_cfg.expert_parallel_size", layout.expert);
    set("++dtensor_cfg.sequence_parallel", layout.sequence_parallel);
    set("++dtensor_cfg.activation_checkpointing", layout.recomputation == Recomputation::full);
  }

  void add_megatron(const llm::Layout& layout) {
    set("++megatron_cfg.tensor_model_parallel_size", layout.tensor);
    set("++megatron_cfg.pipeline_model_parallel_size", layout.pipeline);
    set("++megatron_cfg.context_parallel_size", layout.context);
    set("++megatron_cfg.expert_model_parallel_size", layout.expert);
    set("++megatron_cfg.expert_tensor_parallel_size", layout.expert_tensor);
    set("++megatron_cfg.sequence_parallel", layout.sequence_parallel);
    set("++megatron_cfg.optimizer.use_distributed_optimizer", layout.zero > 0);
    const bool uneven = layout.stage_layers.size() > 1;
    set("++megatron_cfg.num_layers_in_first_pipeline_stage",
        uneven ? fmt::format("{}", layout.stage_layers.front()) : "null");
    set("++megatron_cfg.num_layers_in_last_pipeline_stage",
        uneven ? fmt::format("{}", layout.stage_layers.back()) : "null");
    set("++megatron_cfg.activation_checkpointing", layout.recomputation != Recomputation::none);
    if (layout.recomputation != Recomputation::none)
      set("++megatron_cfg.recompute_granularity", megatron_granularity(layout.recomputation));
    if (const auto modules = megatron_modules(layout.recomputation)) set("++megatron_cfg.recompute_modules", *modules);
  }

  std::string role_;
  bool megatron_;
  std::vector<Change>& all_;
};

/// Adds the settings of every engine backend. Those of the unused backends have no effect.
void add_engine(const plan::TaskPlan& planned, std::vector<Change>& all) {
  const llm::Layout& layout = planned.layout;
  const plan::Engine& engine = planned.engine;
  const auto set = [&all](std::string_view key, const auto& value) {
    std::string text;
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, bool>)
      text = value ? "true" : "false";
    else
      text = fmt::format("{}", value);
    all.push_back({{fmt::format("++policy.generation.{}", key), std::move(text)}, {}});
  };
  set("vllm_cfg.tensor_parallel_size", layout.tensor);
  set("vllm_cfg.pipeline_parallel_size", layout.pipeline);
  set("vllm_cfg.expert_parallel_size", layout.expert);
  set("vllm_cfg.gpu_memory_utilization", engine.memory_utilization);
  set("vllm_cfg.enforce_eager", !engine.cuda_graphs);
  set("vllm_kwargs.max_num_seqs", engine.max_num_seqs);
  set("vllm_kwargs.max_num_batched_tokens", engine.max_num_batched_tokens);
  set("vllm_kwargs.enable_chunked_prefill", engine.chunked_prefill);
  set("sglang_cfg.tp_size", layout.tensor);
  set("sglang_cfg.pp_size", layout.pipeline);
  set("sglang_cfg.ep_size", layout.expert);
  set("sglang_cfg.mem_fraction_static", engine.memory_utilization);
  set("sglang_cfg.max_running_requests", engine.max_num_seqs);
  set("sglang_cfg.disable_cuda_graph", !engine.cuda_graphs);
  set("trtllm_cfg.tensor_parallel_size", layout.tensor);
  set("trtllm_cfg.moe_expert_parallel_size", layout.expert);
  set("trtllm_cfg.gpu_memory_utilization", engine.memory_utilization);
  set("trtllm_cfg.max_batch_size", engine.max_num_seqs);
  set("trtllm_cfg.max_num_tokens", engine.max_num_batched_tokens);
}

std::vector<Change> nemo_rl_changes(const plan::Job& job, const plan::Plan& plan,
                                    const syntax::SettingTree& /*settings*/) {
  const bool megatron = job.software.training != "fsdp2";
  std::vector<Change> all;
  if (const auto* const generated = find_planned(job, plan, "actor_generate")) add_engine(*generated, all);
  for (const auto& [settings, role] : {std::pair("policy", "actor"), std::pair("value", "critic")}) {
    NemoRlChanges changes(settings, megatron, all);
    const plan::TaskPlan* const trained = find_planned(job, plan, fmt::format("{}_train", role));
    const plan::TaskPlan* passed = find_planned(job, plan, fmt::format("{}_infer", role));
    // The reference infers with the policy's micro-batches.
    if (passed == nullptr && role == std::string_view("actor")) passed = find_planned(job, plan, "reference_infer");
    if (trained == nullptr) continue;
    changes.add_layout(trained->layout);
    changes.add_groups(trained->layout, job.software.shard_group);
    changes.add_offload(trained->offload, job.software.optimizer_host_share);
    // The job sets the policy's packing. With DTensor, the value model never packs.
    if (role == std::string_view("critic") && megatron)
      changes.set("++sequence_packing.enabled", trained->micro_batching.tokens > 0);
    changes.add_micro_batches(*trained, true);
    if (passed != nullptr) changes.add_micro_batches(*passed, false);
  }
  if (const auto* const judged = find_planned(job, plan, "reward_infer")) {
    for (const bool backend : {false, true}) NemoRlChanges("env.reward_model", backend, all).add_layout(judged->layout);
    NemoRlChanges("env.reward_model", megatron, all)
        .set("batch_size", fmt::format("{:.0f}", judged->micro_batching.sequences));
  }
  return all;
}

bool is_map(const syntax::SettingTree& settings, const std::string& key) {
  const syntax::Setting* const found = find_setting(settings.root, key);
  return found != nullptr && found->kind == syntax::Setting::Kind::map;
}

/// Returns whether the file has all settings that a role needs for a backend. NeMo-RL's examples omit the settings of
/// the other backend.
bool has_backend(const syntax::SettingTree& settings, const std::string& role, bool megatron) {
  return megatron ? is_map(settings, role + ".megatron_cfg.optimizer")
                  : is_map(settings, role + ".dtensor_cfg") && is_map(settings, role + ".optimizer");
}

std::vector<Alternative> backends_of(const AlternativesRequest& request) {
  const bool megatron = request.job.software.training == "fsdp2";
  Alternative switched{.name = megatron ? "megatron" : "dtensor", .changes = {}};
  for (const std::string role : {"policy", "value"}) {
    if (!is_map(request.settings, role)) continue;
    if (!has_backend(request.settings, role, megatron)) return {};
    const std::string degree =
        role + (megatron ? ".megatron_cfg.tensor_model_parallel_size" : ".dtensor_cfg.tensor_parallel_size");
    switched.changes.push_back(
        {.set = {fmt::format("++{}.megatron_cfg.enabled", role), yaml_flag(megatron)},
         .with = {{fmt::format("++{}.dtensor_cfg.enabled", role), yaml_flag(!megatron)},
                  // Row lengths must be divisible by the tensor parallel degree.
                  {fmt::format("++{}.make_sequence_length_divisible_by", role), fmt::format("${{{}}}", degree)}}});
  }
  if (switched.changes.empty()) return {};
  return {std::move(switched)};
}

Change change_of(const cluster::Cluster& cluster, const Pools& pools) {
  const std::string keys = "++policy.generation.colocated.";
  if (pools.shared) return {.set = {keys + "enabled", "true"}};
  const int node = cluster.groups.front().devices_per_node;
  const bool one_node = cluster::node_count(cluster) == 1;
  return {.set = {keys + "enabled", "false"},
          .with = {{keys + "resources.gpus_per_node", std::to_string(one_node ? pools.engines : node)},
                   {keys + "resources.num_nodes", one_node ? "null" : std::to_string(pools.engines / node)}}};
}

std::vector<Alternative> nemo_rl_alternatives(const AlternativesRequest& request) {
  return combined(
      request.allowed.backend ? backends_of(request) : std::vector<Alternative>(),
      mode_alternatives(request, [&](const Pools& pools) { return change_of(request.job.cluster, pools); }));
}

/// Returns the backend and packing of `policy` or `value`.
std::string backend_text(const JobFacts& facts) {
  return fmt::format(
      "  dtensor_cfg:\n    enabled: {}\n  megatron_cfg:\n    enabled: {}\n  sequence_packing:\n    enabled: {}\n"
      "  dynamic_batching:\n    enabled: false\n",
      yaml_flag(!facts.megatron()), yaml_flag(facts.megatron()), yaml_flag(facts.packing));
}

base::Result<CompleteFile> nemo_rl_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_software(facts, "NeMo-RL", {.engines = {plan::EngineKind::vllm}}));
  if (facts.training != "fsdp2" && facts.training != "nemo-rl-megatron")
    return base::bad_input(
        fmt::format("NeMo-RL does not support `training: {}`; accepted: fsdp2, nemo-rl-megatron", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model || facts.steps_off_policy > 0)
    return base::bad_input(
        "NeMo-RL files without --base can express only on-policy jobs without remax and reward models; accepted: ppo, "
        "grpo or reinforce++ with `reward: rule` and `steps_off_policy: 0`");
  const std::string loop = facts.critic ? "ppo" : "grpo";
  CompleteFile file{.required = required_models(facts)};
  std::string& text = file.yaml;
  text = fmt::format(
      "# Belongs next to NeMo-RL's examples/configs/{}_math_1B.yaml, from which it inherits data and reward.\n"
      "defaults: {}_math_1B.yaml\n",
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
  // If only the total length is capped, responses get the tokens that prompts leave.
  if (!facts.ends_together()) text += fmt::format("  generation:\n    max_new_tokens: {}\n", facts.response_cap);
  if (facts.critic) text += "value:\n  model_name: ${oc.env:CRITIC_PATH}\n" + backend_text(facts);
  text += fmt::format("data:\n  max_input_seq_length: {}\n", facts.prompt_cap);
  text += fmt::format("cluster:\n  num_nodes: {}\n  gpus_per_node: {}\n", facts.nodes, facts.gpus_per_node);
  return file;
}

}  // namespace

const TrainerWriter nemo_rl_writer{.name = "nemo-rl",
                                   .changes_of = nemo_rl_changes,
                                   .alternatives_of = nemo_rl_alternatives,
                                   .complete_file = nemo_rl_complete_file};

}  // namespace dovetail::trainers
