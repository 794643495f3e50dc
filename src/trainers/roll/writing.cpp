#include "trainers/roll/writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "trainers/import/settings.h"
#include "trainers/roll/devices.h"
#include "trainers/roll/layouts.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Collects what is set of a role.
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
      const bool says_experts = find_setting(settings_.root, strategy_ + ".ep_size") != nullptr;
      if (layout.expert > 1 || says_experts) set("ep_size", std::to_string(layout.expert));
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
    // A plan that counts sequences has none of their lengths.
    const Setter size{role_ + (in_training ? ".training_args.per_device_train_batch_size" : ".infer_batch_size"),
                      number_text(batches.sequences)};
    if (*cut == RollCut::dynamic)
      changes_.set(role_ + (in_training ? ".use_dynamic_batching_in_train" : ".use_dynamic_batching_in_infer"), "false",
                   {size});
    else
      changes_.all.push_back({.set = size});
  }

  /// An optimizer step is of so many rounds of each copy: they follow the layout, so that it keeps its samples.
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
    // The scheduler's own limit of an instance, where it is the smaller one.
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

/// A role that trains, with the passes in its layout.
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
  // An adapter's reference is the actor without it.
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

}  // namespace

std::optional<Setter> roll_steps(const syntax::SettingTree& settings, const std::string& role, const plan::Job& job,
                                 const plan::TaskPlan& trained) {
  const base::Result<RollCut> cut = roll_cut(settings, role, RollUse::trains, true);
  if (!cut.ok() || (*cut == RollCut::dynamic && trained.micro_batching.tokens > 0)) return std::nullopt;
  auto each = static_cast<std::int64_t>(trained.micro_batching.sequences);
  if (*cut == RollCut::balanced) {
    const auto said = roll_count(settings, role + ".training_args.per_device_train_batch_size", 8);
    each = said.ok() ? *said : 8;
  }
  const std::int64_t samples = job.workload.samples() / job.workload.mini_batches;
  const std::int64_t round = std::max<std::int64_t>(each * trained.layout.data, 1);
  return Setter{role + ".training_args.gradient_accumulation_steps",
                std::to_string(std::max<std::int64_t>(samples / round, 1))};
}

const TrainerWriter roll_writer{.name = "roll",
                                .changes_of = roll_changes,
                                .ways_of = roll_ways,
                                .patches = true,
                                .takes_words = false,
                                .whole = roll_whole};

}  // namespace dovetail::trainers
