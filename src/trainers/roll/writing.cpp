#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "trainers/export/change.h"
#include "trainers/import/settings.h"
#include "trainers/roll/devices.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Returns the gradient accumulation steps with which an optimizer step of a role has the job's number of samples in
/// the layout of `trained`. Returns nullopt if a token budget determines the samples.
std::optional<Setter> roll_steps(const syntax::SettingTree& settings, const std::string& role, const plan::Job& job,
                                 const plan::TaskPlan& trained) {
  const base::Result<RollCut> cut = roll_cut(settings, role, RollUse::trains, true);
  if (!cut.ok() || (*cut == RollCut::dynamic && trained.micro_batching.tokens > 0)) return std::nullopt;
  auto each = static_cast<std::int64_t>(trained.micro_batching.sequences);
  if (*cut == RollCut::balanced) {
    const auto configured = roll_count(settings, role + ".training_args.per_device_train_batch_size", 8);
    each = configured.ok() ? *configured : 8;
  }
  const std::int64_t samples = job.workload.samples() / job.workload.mini_batches;
  const std::int64_t round = std::max<std::int64_t>(each * trained.layout.data, 1);
  return Setter{role + ".training_args.gradient_accumulation_steps",
                std::to_string(std::max<std::int64_t>(samples / round, 1))};
}

/// Collects the settings of a role.
class RollChanges {
 public:
  RollChanges(std::string role, const syntax::SettingTree& settings, ChangeList& changes)
      : role_(std::move(role)), strategy_(roll_strategy_key(role_)), settings_(settings), changes_(changes) {}

  void add_devices(const cluster::Mesh& mesh) {
    changes_.set(role_ + ".device_mapping", fmt::format("list(range({}, {}))", mesh.first, mesh.first + mesh.count));
  }

  void add_layout(const llm::Layout& layout, RollUse use) {
    const base::Result<RollBackend> backend = roll_backend(settings_, role_, use);
    if (!backend.ok()) return;
    const bool trains = use == RollUse::trains;
    if (*backend == RollBackend::megatron)
      add_megatron(layout, trains);
    else if (*backend == RollBackend::hugging_face)
      changes_.set(role_ + ".num_gpus_per_worker", layout.pipeline);
    else
      changes_.set(role_ + ".model_args.ulysses_size", layout.context);
    if (*backend == RollBackend::fsdp2) {
      set("reshard_after_forward", yaml_flag(layout.zero == 3));
      const bool sets_experts = find_setting(settings_.root, strategy_ + ".ep_size") != nullptr;
      if (layout.expert > 1 || sets_experts) set("ep_size", std::to_string(layout.expert));
    }
    if (*backend == RollBackend::deepspeed) set("zero_optimization.stage", std::to_string(layout.zero));
    if (trains && *backend != RollBackend::megatron)
      changes_.set(role_ + ".model_args.disable_gradient_checkpointing",
                   yaml_flag(layout.recomputation != Recomputation::full));
  }

  void add_micro_batches(const plan::TaskPlan& planned, RollUse use, bool in_training) {
    const base::Result<RollCut> cut = roll_cut(settings_, role_, use, in_training);
    if (!cut.ok()) return;
    const plan::MicroBatching& batches = planned.micro_batching;
    if (batches.tokens > 0 && (*cut == RollCut::dynamic || *cut == RollCut::balanced)) {
      changes_.set(roll_budget_key(role_, *cut, in_training), number_text(batches.tokens));
      return;
    }
    // A plan with a number of sequences has no token budget, so dynamic batching must be off.
    const Setter size{role_ + (in_training ? ".training_args.per_device_train_batch_size" : ".infer_batch_size"),
                      number_text(batches.sequences)};
    if (*cut == RollCut::dynamic)
      changes_.set(role_ + (in_training ? ".use_dynamic_batching_in_train" : ".use_dynamic_batching_in_infer"), "false",
                   {size});
    else
      changes_.all.push_back({.set = size});
  }

  /// Sets the gradient accumulation steps, so that an optimizer step has the job's number of samples in this layout.
  void add_steps(const plan::Job& job, const plan::TaskPlan& planned) {
    const std::optional<Setter> steps = roll_steps(settings_, role_, job, planned);
    if (steps) changes_.all.push_back({.set = *steps});
  }

  void add_offload(const plan::TaskPlan& planned) {
    const base::Result<RollBackend> backend = roll_backend(settings_, role_, RollUse::trains);
    if (!backend.ok()) return;
    if (*backend == RollBackend::fsdp2) set("offload_policy", yaml_flag(planned.offload.optimizer_on_host));
    if (*backend == RollBackend::deepspeed)
      set("zero_optimization.offload_optimizer.device", planned.offload.optimizer_on_host ? "cpu" : "none");
  }

  void add_engine(const plan::TaskPlan& planned, RollUse use) {
    const base::Result<RollBackend> backend = roll_backend(settings_, role_, use);
    if (!backend.ok()) return;
    const llm::Layout& layout = planned.layout;
    const bool sglang = *backend == RollBackend::sglang;
    std::vector<Setter> with;
    if (sglang)
      with = {{role_ + ".num_gpus_per_worker", std::to_string(layout.tensor * layout.pipeline)},
              {strategy_ + ".pipeline_parallel_size", std::to_string(layout.pipeline)}};
    set("tensor_parallel_size", std::to_string(layout.tensor), std::move(with));
    if (sglang) {
      set("ep_size", std::to_string(layout.expert));
      return;
    }
    set("pipeline_parallel_size", std::to_string(layout.pipeline));
    const int attention = std::max(layout.expert / layout.tensor, 1);
    set("data_parallel_size", std::to_string(attention));
    set("enable_expert_parallel", yaml_flag(layout.expert > 1));
  }

  void add_engine_limits(const plan::Engine& engine) {
    const base::Result<RollBackend> backend = roll_backend(settings_, role_, RollUse::generates);
    if (!backend.ok()) return;
    const bool sglang = *backend == RollBackend::sglang;
    set(sglang ? "mem_fraction_static" : "gpu_memory_utilization", number_text(engine.memory_utilization));
    set(sglang ? "disable_cuda_graph" : "enforce_eager", yaml_flag(!engine.cuda_graphs));
    set(sglang ? "max_running_requests" : "max_num_seqs", std::to_string(engine.max_num_seqs));
    if (!sglang) {
      set("max_num_batched_tokens", std::to_string(engine.max_num_batched_tokens));
      set("enable_chunked_prefill", yaml_flag(engine.chunked_prefill));
    }
    // The scheduler has its own limit per instance, which must not be lower than the engine's.
    const syntax::Setting* const router = find_setting(settings_.root, "router_args");
    const bool routed = router != nullptr && router->kind == syntax::Setting::Kind::map;
    changes_.set(routed ? "router_args.max_running_requests" : "max_running_requests", engine.max_num_seqs);
  }

 private:
  void set(std::string_view name, std::string value, std::vector<Setter> with = {}) {
    changes_.set(key_below(strategy_, name), std::move(value), std::move(with));
  }

  void add_megatron(const llm::Layout& layout, bool trains) {
    set("tensor_model_parallel_size", std::to_string(layout.tensor));
    set("pipeline_model_parallel_size", std::to_string(layout.pipeline));
    set("virtual_pipeline_model_parallel_size",
        layout.virtual_stages > 1 ? std::to_string(layout.virtual_stages) : "null");
    set("context_parallel_size", std::to_string(layout.context));
    set("expert_model_parallel_size", std::to_string(layout.expert));
    set("expert_tensor_parallel_size", std::to_string(layout.expert_tensor));
    set("sequence_parallel", yaml_flag(layout.sequence_parallel));
    const bool uneven = layout.stage_layers.size() > 1;
    set("account_for_embedding_in_pipeline_split", "false");
    set("account_for_loss_in_pipeline_split", "false");
    set("additional_configs.num_layers_in_first_pipeline_stage",
        uneven ? std::to_string(layout.stage_layers.front()) : "null");
    set("additional_configs.num_layers_in_last_pipeline_stage",
        uneven ? std::to_string(layout.stage_layers.back()) : "null");
    if (!trains) return;
    set("use_distributed_optimizer", yaml_flag(layout.zero > 0));
    set("recompute_granularity", megatron_granularity(layout.recomputation));
    if (const auto modules = megatron_modules(layout.recomputation)) set("recompute_modules", *modules);
    if (layout.recomputation != Recomputation::experts) set("moe_layer_recompute", "false");
  }

  std::string role_;
  std::string strategy_;
  const syntax::SettingTree& settings_;
  ChangeList& changes_;
};

/// Adds the settings of a trained role and its inference.
void add_trained(const plan::Job& job, const plan::Plan& plan, std::string_view role, const std::string& key,
                 const syntax::SettingTree& settings, ChangeList& changes) {
  const plan::TaskPlan* const trained = find_planned(job, plan, fmt::format("{}_train", role));
  const plan::TaskPlan* const passed = find_planned(job, plan, fmt::format("{}_infer", role));
  if (trained == nullptr) return;
  RollChanges of_role(key, settings, changes);
  of_role.add_devices(trained->mesh);
  of_role.add_layout(trained->layout, RollUse::trains);
  of_role.add_micro_batches(*trained, RollUse::trains, true);
  of_role.add_steps(job, *trained);
  of_role.add_offload(*trained);
  if (passed != nullptr) of_role.add_micro_batches(*passed, RollUse::trains, false);
}

std::vector<Change> roll_changes(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings) {
  ChangeList changes;
  if (const auto* const generated = find_planned(job, plan, "actor_generate")) {
    RollChanges of_role("actor_infer", settings, changes);
    of_role.add_devices(generated->mesh);
    of_role.add_engine(*generated, RollUse::generates);
    of_role.add_engine_limits(generated->engine);
  }
  add_trained(job, plan, "actor", "actor_train", settings, changes);
  add_trained(job, plan, "critic", "critic", settings, changes);
  const auto* const passed = find_planned(job, plan, "reference_infer");
  // With adapters, the reference is the actor without them.
  const syntax::Setting* const adapters = find_setting(settings.root, "actor_train.model_args.lora_target");
  if (passed != nullptr && (adapters == nullptr || adapters->kind == syntax::Setting::Kind::null)) {
    RollChanges of_role("reference", settings, changes);
    of_role.add_devices(passed->mesh);
    of_role.add_layout(passed->layout, RollUse::passes);
    of_role.add_micro_batches(*passed, RollUse::passes, false);
  } else if (passed != nullptr && find_planned(job, plan, "actor_infer") == nullptr) {
    RollChanges("actor_train", settings, changes).add_micro_batches(*passed, RollUse::trains, false);
  }
  const base::Result<std::string> judge = roll_judge(settings);
  if (const auto* const judged = find_planned(job, plan, "reward_infer"); judged != nullptr && judge.ok()) {
    RollChanges of_role(*judge, settings, changes);
    of_role.add_devices(judged->mesh);
    const base::Result<RollBackend> backend = roll_backend(settings, *judge, RollUse::judges);
    if (backend.ok() && *backend == RollBackend::hugging_face)
      of_role.add_layout(judged->layout, RollUse::judges);
    else
      of_role.add_engine(*judged, RollUse::judges);
    changes.set(*judge + ".infer_batch_size", number_text(judged->micro_batching.sequences));
  }
  return std::move(changes.all);
}

Setter devices_of(const std::string& role, int first, int count) {
  return {role + ".device_mapping", fmt::format("list(range({}, {}))", first, first + count)};
}

/// Places engines on the last `engines` GPUs, and all other roles on the first `trainer` GPUs.
Change change_of(const AlternativesRequest& request, int trainer, int engines) {
  const int all = cluster::device_count(request.job.cluster);
  Change change{.set = devices_of("actor_infer", all - engines, engines),
                .with = {devices_of("actor_train", 0, trainer)}};
  for (const std::string role : {"reference", "critic"}) {
    const syntax::Setting* const mapping = find_setting(request.settings.root, role + ".device_mapping");
    if (mapping != nullptr && mapping->kind != syntax::Setting::Kind::null)
      change.with.push_back(devices_of(role, 0, trainer));
  }
  for (const auto& [role, task] : {std::pair("actor_train", "actor_train"), std::pair("critic", "critic_train")}) {
    const plan::TaskPlan* const trained = find_planned(request.job, request.plan, task);
    if (trained == nullptr) continue;
    plan::TaskPlan dealt = *trained;
    dealt.layout.data = trainer / std::max(dealt.layout.devices() / dealt.layout.data, 1);
    if (const auto steps = roll_steps(request.settings, role, request.job, dealt)) change.with.push_back(*steps);
  }
  if (const base::Result<std::string> judge = roll_judge(request.settings); judge.ok() && !judge->empty())
    change.with.push_back(devices_of(*judge, 0, trainer));
  return change;
}

std::vector<Alternative> roll_alternatives(const AlternativesRequest& request) {
  return mode_alternatives(request,
                           [&](const Pools& pools) { return change_of(request, pools.trainer, pools.engines); });
}

base::Status check_roll_facts(const JobFacts& facts) {
  if (facts.training != "roll-megatron" && facts.training != "fsdp2" && facts.training != "deepspeed-zero")
    return base::bad_input(fmt::format(
        "ROLL does not support `training: {}`; accepted: roll-megatron, fsdp2, deepspeed-zero", facts.training));
  if (facts.algorithm == "remax" || facts.reward_model)
    return base::bad_input(
        "ROLL files without --base can express only ppo, grpo and reinforce++ with `reward: rule`; accepted: such a "
        "job, or --base FILE");
  return check_software(
      facts, "ROLL",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}, .half_types = facts.training == "fsdp2"});
}

/// Returns the strategy of a role. The plan sets its configuration.
std::string strategy_text(const JobFacts& facts, bool trains) {
  const std::string backend = facts.training == "roll-megatron" ? "megatron"
                              : facts.training == "fsdp2"       ? "fsdp2"
                                                                : "deepspeed";
  const std::string more = backend == "megatron" ? "      tensor_model_parallel_size: 1\n"
                           : backend == "fsdp2"
                               ? fmt::format("      fsdp_size: {}\n{}", facts.nodes * facts.gpus_per_node,
                                             facts.half_types ? "      param_dtype: bf16\n" : "")
                               : "      zero_optimization:\n        stage: 3\n";
  return fmt::format("  strategy_args:\n    strategy_name: {}_{}\n    strategy_config:\n{}", backend,
                     trains ? "train" : "infer", more);
}

std::string roll_trained_text(const JobFacts& facts, std::string_view role, std::string_view path) {
  std::string text = fmt::format("{}:\n  model_args:\n    model_name_or_path: {}\n    dtype: bf16\n", role, path);
  text += fmt::format(
      "  training_args:\n    learning_rate: 1.0e-6\n    per_device_train_batch_size: 1\n"
      "    gradient_accumulation_steps: {}\n",
      std::max<std::int64_t>(facts.mini_batch / (facts.nodes * facts.gpus_per_node), 1));
  if (role == "actor_train")
    text +=
        "  data_args:\n    template: ${oc.env:CHAT_TEMPLATE}\n    file_name:\n      - ${oc.env:TRAIN_FILE}\n"
        "    domain_interleave_probs:\n      math_rule: 1\n    messages: messages\n    interleave_probs: \"1.0\"\n"
        "    preprocessing_num_workers: 16\n";
  if (facts.training == "roll-megatron") text += fmt::format("  use_sequence_packing: {}\n", yaml_flag(facts.packing));
  text += strategy_text(facts, true);
  return text + fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n",
                            facts.nodes * facts.gpus_per_node);
}

std::string roll_head_text(const JobFacts& facts) {
  return fmt::format(
      "hydra:\n  run:\n    dir: .\n  output_subdir: null\nexp_name: dovetail\nseed: 42\nlogging_dir: ./output/logs\n"
      "output_dir: ./output\ncheckpoint_config:\n  type: file_system\n  output_dir: ${{oc.env:SAVE_PATH}}\n"
      "num_gpus_per_node: {}\nmax_steps: 500\nsave_steps: 100\nlogging_steps: 1\neval_steps: 10\n"
      "rollout_batch_size: {}\nnum_return_sequences_in_group: {}\nprompt_length: {}\nresponse_length: {}\n"
      "ppo_epochs: {}\nadv_estimator: {}\ninit_kl_coef: 0.0\nuse_kl_loss: {}\nenable_reference: {}\n"
      "async_generation_ratio: {}\npretrain: ${{oc.env:ACTOR_PATH}}\n",
      facts.gpus_per_node, facts.prompts, facts.samples_per_prompt, facts.prompt_cap, facts.response_cap, facts.epochs,
      facts.critic                ? "gae"
      : facts.algorithm == "grpo" ? "grpo"
                                  : "reinforce",
      yaml_flag(facts.reference), yaml_flag(facts.reference), facts.steps_off_policy);
}

base::Result<CompleteFile> roll_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_roll_facts(facts));
  CompleteFile file{.required = required_models(facts)};
  file.required.push_back(
      {"TRAIN_FILE", "training prompts: a JSONL file with the tags of the reward rule", "train.jsonl"});
  file.required.push_back({"CHAT_TEMPLATE", "ROLL's name of the model's chat template, such as qwen2_5", "qwen2_5"});
  file.required.push_back({"SAVE_PATH", "output folder for the trained weights", "trained"});
  std::string& text = file.yaml;
  text = "# For ROLL's examples/start_rlvr_pipeline.py. Pass this file with --config_path and --config_name.\n" +
         roll_head_text(facts);
  if (facts.critic) text += "reward_pretrain: ${oc.env:CRITIC_PATH}\n";
  // ROLL skips the log-probability inference if it can, so the job's choice must be explicit.
  text += fmt::format("{}: true\n", facts.trainer_log_probabilities ? "enable_old_logprobs_recompute"
                                                                    : "force_disable_old_logprobs_recompute");
  text += roll_trained_text(facts, "actor_train", "${pretrain}");
  if (facts.critic) text += roll_trained_text(facts, "critic", "${reward_pretrain}");
  text +=
      "actor_infer:\n  model_args:\n    model_name_or_path: ${pretrain}\n    dtype: bf16\n  generating_args:\n"
      "    max_new_tokens: ${response_length}\n    temperature: 1.0\n"
      "    num_return_sequences: ${num_return_sequences_in_group}\n  data_args:\n"
      "    template: ${oc.env:CHAT_TEMPLATE}\n";
  text += facts.engine == plan::EngineKind::sglang
              ? "  strategy_args:\n    strategy_name: sglang\n    strategy_config:\n      mem_fraction_static: 0.8\n"
              : "  strategy_args:\n    strategy_name: vllm\n    strategy_config:\n      gpu_memory_utilization: 0.8\n"
                "      block_size: 16\n";
  if (facts.ends_together())
    text += fmt::format("      {}: {}\n", facts.engine == plan::EngineKind::sglang ? "context_length" : "max_model_len",
                        facts.sequence_cap);
  text +=
      fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n", facts.nodes * facts.gpus_per_node);
  if (facts.reference)
    text +=
        "reference:\n  model_args:\n    model_name_or_path: ${pretrain}\n    dtype: bf16\n  data_args:\n"
        "    template: ${oc.env:CHAT_TEMPLATE}\n" +
        strategy_text(facts, false) +
        fmt::format("  device_mapping: list(range(0, {}))\n  infer_batch_size: 1\n", facts.nodes * facts.gpus_per_node);
  text +=
      "rewards:\n  math_rule:\n    worker_cls: "
      "roll.pipeline.rlvr.rewards.math_rule_reward_worker.MathRuleRewardWorker\n    model_args:\n"
      "      model_name_or_path: ${pretrain}\n    data_args:\n      template: ${oc.env:CHAT_TEMPLATE}\n"
      "    tag_included: [math_rule]\n    world_size: 8\n    infer_batch_size: 1\n";
  return file;
}

}  // namespace

const TrainerWriter roll_writer{.name = "roll",
                                .changes_of = roll_changes,
                                .alternatives_of = roll_alternatives,
                                .patches = true,
                                .takes_arguments = false,
                                .complete_file = roll_complete_file};

}  // namespace dovetail::trainers
