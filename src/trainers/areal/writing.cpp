#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "trainers/areal/areal.h"
#include "trainers/areal/engines.h"
#include "trainers/export/change.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

using llm::Layout;
using llm::Recomputation;

/// Returns the degrees of an engine, such as "d4t2". Degrees of 1 are omitted, except for data.
std::string degrees_of(const Layout& layout, bool with_experts) {
  std::string text = fmt::format("d{}", layout.data);
  const auto add = [&text](char letter, int degree) {
    if (degree > 1) text += fmt::format("{}{}", letter, degree);
  };
  add('p', layout.pipeline);
  add('t', layout.tensor);
  add('c', layout.context);
  if (with_experts) add('e', layout.expert);
  return text;
}

/// Returns the degrees of an engine. Experts with a separate tensor degree have a separate part.
std::string allocation_of(const Layout& layout) {
  if (layout.expert_tensor == 1) return degrees_of(layout, true);
  const int copy = layout.expert * layout.expert_tensor * layout.pipeline;
  const Layout experts{.data = layout.devices() / copy,
                       .tensor = layout.expert_tensor,
                       .pipeline = layout.pipeline,
                       .expert = layout.expert,
                       .stage_layers = {}};
  return fmt::format("(attn:{}|ffn:{})", degrees_of(layout, false), degrees_of(experts, true));
}

/// Returns the allocation string of one engine: "fsdp[actor]:d4".
std::string backend_text(const ArealAllocation& allocation, const Layout& layout) {
  return fmt::format("{}{}:{}", allocation.backend, allocation.name.empty() ? "" : "[" + allocation.name + "]",
                     allocation_of(layout));
}

/// Returns the allocation string for all engines in the style of the base: with dots or colons, and without a training
/// backend if the base omits it and AReaL would choose the same one.
std::string mode_text(const std::string& base_text, const ArealAllocation& rollout, const Layout& generated,
                      const ArealAllocation& actor, const Layout& trained) {
  const char* const sign = base_text.find(':') == std::string::npos ? "." : ":";
  const std::string chosen =
      trained.pipeline > 1 || trained.expert > 1 || trained.expert_tensor > 1 ? "megatron" : "fsdp";
  const bool names_it = base_text.find(actor.backend) != std::string::npos || chosen != actor.backend;
  return fmt::format("{}{}{}{}{}{}", rollout.backend, sign, degrees_of(generated, false),
                     base_text.find('|') != std::string::npos && base_text.find("ffn") == std::string::npos ? "|" : "+",
                     names_it ? actor.backend + sign : "", allocation_of(trained));
}

/// Collects the settings of a role that trains or infers.
class ArealChanges {
 public:
  ArealChanges(const ArealEngine& engine, ChangeList& changes) : engine_(engine), changes_(changes) {}

  void add_layout(const Layout& layout) {
    const std::string& backend = engine_.allocation.backend;
    const bool recomputes = layout.recomputation != Recomputation::none;
    set("gradient_checkpointing", yaml_flag(recomputes));
    if (backend == "archon") {
      if (recomputes) set("archon.ac_mode", std::string(base::enum_name(layout.recomputation)));
      if (layout.pipeline > 1) set("archon.pp_schedule", layout.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B");
    }
    if (backend != "megatron") return;
    set("megatron.ddp.use_distributed_optimizer", yaml_flag(layout.zero > 0));
    set("megatron.virtual_pipeline_parallel_size", std::to_string(layout.virtual_stages));
    // Megatron-LM rejects a method or a number of layers with selective recomputation, and requires both with full
    // recomputation.
    const bool full = layout.recomputation == Recomputation::full;
    if (recomputes)
      set("megatron.recompute_granularity", megatron_granularity(layout.recomputation),
          {{engine_.role + ".megatron.recompute_method", full ? "uniform" : "null"},
           {engine_.role + ".megatron.recompute_num_layers", full ? "1" : "null"}});
    if (const auto modules = megatron_modules(layout.recomputation)) set("megatron.recompute_modules", *modules);
  }

  void add_micro_batches(const plan::MicroBatching& cut) {
    set("mb_spec.max_tokens_per_mb", cut.tokens > 0 ? number_text(cut.tokens) : "null");
    if (cut.tokens <= 0) set("mb_spec.n_mbs", std::to_string(std::max(cut.count, 1)));
  }

  void add_offload(const plan::Offload& offload) {
    const std::string& backend = engine_.allocation.backend;
    if (backend == "megatron") return;
    set(backend + ".offload_params", yaml_flag(offload.optimizer_on_host));
    if (backend == "fsdp" && !offload.optimizer_on_host) set("fsdp.per_layer_optim_step", "false");
  }

  void add_leaving(bool leaves) {
    std::vector<Setter> with;
    if (leaves) with = {{"enable_offload", "true"}};
    set("offload", yaml_flag(leaves), std::move(with));
  }

 private:
  void set(std::string_view name, std::string value, std::vector<Setter> with = {}) {
    changes_.set(key_below(engine_.role, name), std::move(value), std::move(with));
  }

  const ArealEngine& engine_;
  ChangeList& changes_;
};

void add_engine(const plan::Job& job, const ArealEngine& rollout, const plan::TaskPlan& planned, ChangeList& changes) {
  const plan::Engine& engine = planned.engine;
  const bool sglang = rollout.allocation.backend == "sglang";
  const auto set = [&](std::string_view name, std::string value, std::vector<Setter> with = {}) {
    changes.set(key_below(sglang ? "sglang" : "vllm", name), std::move(value), std::move(with));
  };
  set(sglang ? "mem_fraction_static" : "gpu_memory_utilization", number_text(engine.memory_utilization));
  set(sglang ? "disable_cuda_graph" : "enforce_eager", yaml_flag(!engine.cuda_graphs));
  if (sglang) {
    const std::string tokens = std::to_string(engine.max_num_batched_tokens);
    std::vector<Setter> with;
    if (!engine.chunked_prefill) with = {{"sglang.max_prefill_tokens", tokens}};
    set("chunked_prefill_size", engine.chunked_prefill ? tokens : "-1", std::move(with));
    if (planned.layout.expert > 1) set("ep_size", std::to_string(planned.layout.expert));
  } else {
    set("no_enable_chunked_prefill", yaml_flag(!engine.chunked_prefill));
  }
  set(sglang ? "max_running_requests" : "max_num_seqs", std::to_string(engine.max_num_seqs));
  // This limit applies to all engines together, so it must not be lower than the sum of their limits.
  const std::int64_t samples = job.workload.samples_per_prompt;
  changes.set("rollout.max_concurrent_rollouts", (engine.max_num_seqs * planned.layout.data + samples - 1) / samples);
}

/// Adds the allocation strings of all engines. Together they determine the number of GPUs.
void add_allocations(const std::vector<ArealEngine>& engines, const std::vector<const plan::TaskPlan*>& planned,
                     const syntax::SettingTree& settings, ChangeList& changes) {
  const ArealEngine& rollout = areal_engine_of(engines, "rollout");
  const auto layout_of = [&](const ArealEngine& engine) -> const Layout& {
    return planned[static_cast<std::size_t>(&engine - engines.data())]->layout;
  };
  if (rollout.key == "allocation_mode") {
    const ArealEngine& actor = areal_engine_of(engines, "actor");
    const syntax::Setting* const base_text = find_setting(settings.root, rollout.key);
    changes.set(rollout.key, mode_text(base_text == nullptr ? "" : base_text->text, rollout.allocation,
                                       layout_of(rollout), actor.allocation, layout_of(actor)));
    return;
  }
  for (const ArealEngine& engine : engines) changes.set(engine.key, backend_text(engine.allocation, layout_of(engine)));
}

std::vector<Change> areal_changes(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings) {
  ImportedRun run;
  run.reference = find_planned(job, plan, "reference_infer") != nullptr;
  const auto engines = areal_engines(settings, run);
  if (!engines.ok()) return {};
  ChangeList changes;
  std::vector<const plan::TaskPlan*> planned;
  for (const ArealEngine& engine : *engines) {
    const std::string task = engine.role == "rollout" ? "actor_generate"
                             : engine.role == "ref"   ? "reference_infer"
                                                      : engine.role + "_train";
    planned.push_back(find_planned(job, plan, task));
    if (planned.back() == nullptr) return {};
  }
  add_allocations(*engines, planned, settings, changes);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const ArealEngine& engine = (*engines)[i];
    if (engine.role == "rollout") {
      add_engine(job, engine, *planned[i], changes);
      continue;
    }
    ArealChanges of_role(engine, changes);
    if (engine.role != "ref") {
      of_role.add_layout(planned[i]->layout);
      of_role.add_offload(planned[i]->offload);
    }
    of_role.add_micro_batches(planned[i]->micro_batching);
    if (engine.role != "actor" || !areal_is_colocated(*engines)) of_role.add_leaving(planned[i]->offload.weights);
  }
  return std::move(changes.all);
}

/// Returns whether all roles other than the rollout share the actor's GPUs, and each engine has its own string.
bool has_one_trainer(const std::vector<ArealEngine>& engines) {
  for (const ArealEngine& engine : engines)
    if (engine.role != "actor" && engine.role != "rollout" && engine.target != "actor") return false;
  return areal_engine_of(engines, "rollout").key != "allocation_mode";
}

std::string allocation_text(std::string_view backend, const ArealAllocation& allocation, int devices) {
  return fmt::format("{}{}:d{}", backend, allocation.name.empty() ? "" : "[" + allocation.name + "]", devices);
}

/// Sets all allocation strings to one data-parallel replica per GPU. A plan sets the other degrees later.
Change change_of(const std::vector<ArealEngine>& engines, const Pools& present, const Pools& pools,
                 const std::string& backend) {
  Change change;
  for (const ArealEngine& engine : engines) {
    const bool generates = engine.role == "rollout";
    const Setter set{engine.key, generates
                                     ? allocation_text(engine.allocation.backend, engine.allocation, pools.engines)
                                     : allocation_text(backend, engine.allocation, pools.trainer)};
    if (engine.role == "actor")
      change.set = set;
    else if (!generates || pools.engines != present.engines || pools.shared != present.shared)
      change.with.push_back(set);
  }
  if (pools.shared != present.shared) {
    change.with.push_back({"rollout.scheduling_strategy.type", pools.shared ? "colocation" : "separation"});
    change.with.push_back({"rollout.scheduling_strategy.target", pools.shared ? "actor" : "null"});
    // Engines that share GPUs are offloaded.
    change.with.push_back({"enable_offload", yaml_flag(pools.shared)});
    change.with.push_back({"actor.offload", yaml_flag(pools.shared)});
    if (pools.shared) change.with.push_back({"actor.weight_update_mode", "disk"});
  }
  return change;
}

std::vector<Alternative> areal_alternatives(const AlternativesRequest& request) {
  ImportedRun run;
  run.reference = find_planned(request.job, request.plan, "reference_infer") != nullptr;
  const auto engines = areal_engines(request.settings, run);
  if (!engines.ok()) return {};
  if (!has_one_trainer(*engines)) return {};
  const Pools present = present_pools(request.job, request.plan);
  const std::string& backend = areal_engine_of(*engines, "actor").allocation.backend;
  const std::string other = backend == "megatron" ? "fsdp" : "megatron";
  const auto modes_by = [&](const std::string& name) {
    return mode_alternatives(request, [&](const Pools& pools) { return change_of(*engines, present, pools, name); });
  };
  std::vector<Alternative> modes = modes_by(backend);
  if (!request.allowed.backend) return modes;
  modes.insert(modes.begin(), {other, {change_of(*engines, present, present, other)}});
  for (Alternative& mode : modes_by(other)) {
    mode.name = fmt::format("{}, {}", other, mode.name);
    modes.push_back(std::move(mode));
  }
  return modes;
}

base::Status check_areal_facts(const JobFacts& facts) {
  if (facts.training != "megatron-policy" && facts.training != "fsdp2")
    return base::bad_input(
        fmt::format("AReaL does not support `training: {}`; accepted: fsdp2, megatron-policy", facts.training));
  if ((facts.algorithm != "ppo" && facts.algorithm != "grpo") || facts.reward_model || facts.epochs != 1 ||
      !facts.packing)
    return base::bad_input(
        "AReaL files without --base can express only ppo and grpo with `reward: rule`, `epochs: 1` and packed "
        "sequences; accepted: such a job, or --base FILE");
  if (facts.colocated)
    return base::bad_input(
        "AReaL files without --base can express only engines on separate GPUs; accepted: such a plan, or --base FILE");
  return check_software(
      facts, "AReaL",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}, .half_types = facts.training == "fsdp2"});
}

/// Returns the settings of a trained role. The plan sets its layout and micro-batches.
std::string areal_trained_text(const JobFacts& facts, std::string_view role, std::string_view variable) {
  const std::int64_t samples = facts.prompts * facts.samples_per_prompt;
  return fmt::format(
      "{}:\n  backend: \"{}:d1\"\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
      "  path: ${{oc.env:{}}}\n  dtype: bfloat16\n  gradient_checkpointing: true\n  mb_spec:\n"
      "    max_tokens_per_mb: {}\n  optimizer:\n    type: adam\n    lr: 1.0e-6\n  ppo_n_minibatches: {}\n",
      role, facts.megatron() ? "megatron" : "fsdp", variable, facts.sequence_cap, samples / facts.mini_batch);
}

std::string scheduling_text() {
  return "  scheduling_spec:\n    - task_type: worker\n      port_count: 2\n      gpu: 1\n      mem: 32\n"
         "      cmd: python3 -m areal.infra.rpc.rpc_server\n      env_vars: {}\n";
}

std::string areal_head_text(const JobFacts& facts) {
  return fmt::format(
      "experiment_name: dovetail\ntrial_name: trial0\nseed: 1\nenable_offload: false\ntotal_train_epochs: 1\n"
      "tokenizer_path: ${{actor.path}}\ncluster:\n  n_nodes: {}\n  n_gpus_per_node: {}\n"
      "  fileroot: ${{oc.env:AREAL_ROOT}}\n  name_resolve:\n    type: nfs\n"
      "    nfs_record_root: ${{cluster.fileroot}}/name_resolve\nscheduler:\n  type: null\n"
      "rollout:\n  backend: \"{}:d1\"\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
      "  consumer_batch_size: ${{train_dataset.batch_size}}\n  max_head_offpolicyness: {}\n"
      "  scheduling_spec: ${{actor.scheduling_spec}}\n  fileroot: ${{cluster.fileroot}}\n"
      "  tokenizer_path: ${{tokenizer_path}}\ngconfig:\n  n_samples: {}\n  max_new_tokens: {}\n",
      facts.nodes, facts.gpus_per_node, base::enum_name(facts.engine), facts.steps_off_policy, facts.samples_per_prompt,
      facts.response_cap);
}

base::Result<CompleteFile> areal_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_areal_facts(facts));
  CompleteFile file{.required = required_models(facts)};
  file.required.push_back({"TRAIN_DATA", "training data: a folder, or a dataset on Hugging Face", "data"});
  file.required.push_back({"AREAL_ROOT", "folder shared by all nodes", "/tmp/areal"});
  std::string& text = file.yaml;
  text = "# For an AReaL program with a reward rule. Pass this file with --config.\n" + areal_head_text(facts);
  text += areal_trained_text(facts, "actor", "ACTOR_PATH");
  text +=
      fmt::format("  kl_ctl: {}\n  use_decoupled_loss: {}\n  recompute_logprob: {}\n", facts.reference ? "0.01" : "0.0",
                  yaml_flag(facts.trainer_log_probabilities), yaml_flag(facts.trainer_log_probabilities));
  text += scheduling_text();
  if (facts.critic)
    text += areal_trained_text(facts, "critic", "CRITIC_PATH") +
            "  scheduling_strategy:\n    type: colocation\n    target: actor\n"
            "  scheduling_spec: ${actor.scheduling_spec}\n";
  if (facts.reference)
    text += fmt::format(
        "ref:\n  backend: ${{actor.backend}}\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
        "  path: ${{actor.path}}\n  dtype: ${{actor.dtype}}\n  mb_spec:\n    max_tokens_per_mb: {}\n  optimizer: null\n"
        "  scheduling_strategy:\n    type: colocation\n    target: actor\n"
        "  scheduling_spec: ${{actor.scheduling_spec}}\n",
        facts.sequence_cap);
  const bool sglang = facts.engine == plan::EngineKind::sglang;
  text += fmt::format("{}: ${{actor.path}}\n  dtype: ${{actor.dtype}}\n  {}: {}\n  {}: 0.8\n",
                      sglang ? "sglang:\n  model_path" : "vllm:\n  model", sglang ? "context_length" : "max_model_len",
                      facts.sequence_cap, sglang ? "mem_fraction_static" : "gpu_memory_utilization");
  text += fmt::format(
      "train_dataset:\n  path: ${{oc.env:TRAIN_DATA}}\n  type: rl\n  batch_size: {}\n"
      "  max_length: {}\n  shuffle: true\n",
      facts.prompts, facts.prompt_cap);
  for (const std::string_view part : {"saver", "recover", "evaluator", "stats_logger"})
    text += fmt::format(
        "{}:\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
        "  fileroot: ${{cluster.fileroot}}\n{}",
        part, part == "saver" ? "  freq_epochs: 1\n" : "");
  return file;
}

}  // namespace

const TrainerWriter areal_writer{.name = "areal",
                                 .changes_of = areal_changes,
                                 .alternatives_of = areal_alternatives,
                                 .patches = true,
                                 .complete_file = areal_complete_file};

}  // namespace dovetail::trainers
