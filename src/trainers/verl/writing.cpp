#include "trainers/verl/writing.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "trainers/import/settings.h"
#include "trainers/verl/keys.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Collects what is set.
class VerlChanges {
 public:
  explicit VerlChanges(bool megatron) : megatron_(megatron) {}

  void set(std::string_view key, std::string value, std::vector<Setter> with = {}) {
    all_.push_back({{std::string(key), std::move(value)}, std::move(with)});
  }
  void set(std::string_view key, bool value) { set(key, flag_text(value)); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void set(std::string_view key, Number value) {
    set(key, fmt::format("{}", value));
  }

  void add_generation(const plan::TaskPlan& planned) {
    const auto key = [](std::string_view name) { return key_below(verl_rollout_keys, name); };
    set(key("tensor_model_parallel_size"), planned.layout.tensor);
    set(key("pipeline_model_parallel_size"), planned.layout.pipeline);
    set(key("expert_parallel_size"), planned.layout.expert);
    set(key("gpu_memory_utilization"), fmt::format("{}", planned.engine.memory_utilization));
    set(key("max_num_seqs"), planned.engine.max_num_seqs);
    set(key("max_num_batched_tokens"), planned.engine.max_num_batched_tokens);
    set(key("enable_chunked_prefill"), planned.engine.chunked_prefill);
    set(key("enforce_eager"), !planned.engine.cuda_graphs);
    set(key("free_cache_engine"), planned.offload.weights);
  }

  void add_micro_batches(const VerlBatchKeys& keys, const plan::TaskPlan& planned) {
    const plan::MicroBatching& cut = planned.micro_batching;
    set(keys.dynamic, cut.tokens > 0);
    if (cut.tokens > 0)
      set(keys.tokens, fmt::format("{:.0f}", cut.tokens / planned.layout.context));
    else
      set(keys.per_gpu, fmt::format("{:.0f}", cut.sequences));
  }

  /// The engine of a role; `trained`: that of training, else of a reference.
  void add_engine(const VerlEngineKeys& keys, const plan::TaskPlan& planned, bool trained) {
    megatron_ ? add_megatron(keys.megatron, planned.layout, trained) : add_fsdp(keys, planned.layout, trained);
  }

  void add_offload(const VerlEngineKeys& keys, std::string_view optimizer, const plan::Offload& offload,
                   const plan::Software& software) {
    const std::string_view engine = megatron_ ? keys.megatron : keys.fsdp;
    set(key_below(engine, "param_offload"), offload.weights);
    set(key_below(engine, "optimizer_offload"), offload.optimizer);
    if (!megatron_) return;
    const std::string more = "++" + key_below(optimizer, "override_optimizer_config");
    // Megatron steps on the host what the fraction says, none where nobody says one, and only with this optimizer,
    // which keeps less than the job says where it does not.
    const std::string aware = more + ".use_precision_aware_optimizer";
    std::vector<Setter> with;
    if (offload.optimizer_on_host)
      with = {{more + ".optimizer_offload_fraction", number_text(software.optimizer_host_share)}, {aware, "True"}};
    else if (software.master_type == plan::MasterType::usual)
      with = {{aware, "False"}};
    set(more + ".optimizer_cpu_offload", flag_text(offload.optimizer_on_host), std::move(with));
  }

  std::vector<Change> take() && { return std::move(all_); }

 private:
  void add_fsdp(const VerlEngineKeys& keys, const llm::Layout& layout, bool trained) {
    std::vector<Setter> with;
    if (layout.context > 1) with = {{std::string(keys.unpadded), "True"}};
    // What older versions say there wins where it is more than 1.
    set("++" + std::string(keys.old_ulysses), 1);
    set(key_below(keys.fsdp, "ulysses_sequence_parallel_size"), fmt::format("{}", layout.context), std::move(with));
    if (trained) set(keys.recomputes, layout.recomputation == Recomputation::full);
  }

  void add_megatron(std::string_view keys, const llm::Layout& layout, bool trained) {
    const auto key = [keys](std::string_view name) { return key_below(keys, name); };
    set(key("tensor_model_parallel_size"), layout.tensor);
    set(key("pipeline_model_parallel_size"), layout.pipeline);
    set(key("virtual_pipeline_model_parallel_size"),
        layout.virtual_stages > 1 ? fmt::format("{}", layout.virtual_stages) : "null");
    set(key("context_parallel_size"), layout.context);
    set(key("expert_model_parallel_size"), layout.expert);
    set(key("expert_tensor_parallel_size"), layout.expert_tensor);
    set(key("sequence_parallel"), layout.sequence_parallel);
    set(key("use_distributed_optimizer"), layout.zero > 0);
    const std::string more = "++" + key("override_transformer_config");
    const bool uneven = layout.stage_layers.size() > 1;
    set(more + ".num_layers_in_first_pipeline_stage", uneven ? fmt::format("{}", layout.stage_layers.front()) : "null");
    set(more + ".num_layers_in_last_pipeline_stage", uneven ? fmt::format("{}", layout.stage_layers.back()) : "null");
    if (!trained) return;
    std::vector<Setter> with;
    if (layout.recomputation == Recomputation::full)
      with = {{more + ".recompute_method", "uniform"}, {more + ".recompute_num_layers", "1"}};
    set(more + ".recompute_granularity", megatron_granularity(layout.recomputation), std::move(with));
    if (const auto modules = megatron_modules(layout.recomputation)) set(more + ".recompute_modules", *modules);
  }

  bool megatron_;
  std::vector<Change> all_;
};

std::vector<Change> verl_changes(const plan::Job& job, const plan::Plan& plan,
                                 const syntax::SettingTree& /*settings*/) {
  const bool megatron = job.software.training != "verl-fsdp";
  VerlChanges changes(megatron);
  const auto planned = [&](std::string_view task) { return find_planned(job, plan, task); };
  if (const auto* const generated = planned("actor_generate")) changes.add_generation(*generated);
  const auto add_role = [&](const VerlEngineKeys& keys, std::string_view optimizer, const plan::TaskPlan* trained,
                            const VerlBatchKeys& train, const plan::TaskPlan* passed, const VerlBatchKeys& infer) {
    if (trained == nullptr) return;
    changes.add_engine(keys, *trained, true);
    changes.add_offload(keys, optimizer, trained->offload, job.software);
    changes.add_micro_batches(train, *trained);
    if (passed != nullptr) changes.add_micro_batches(infer, *passed);
  };
  add_role(verl_actor_keys, "actor_rollout_ref.actor.optim", planned("actor_train"), verl_actor_train_keys,
           planned("actor_infer"), verl_actor_infer_keys);
  VerlBatchKeys critic_infer = verl_critic_infer_keys;
  // Megatron's passes have no number of their own.
  if (megatron) critic_infer.per_gpu = verl_critic_train_keys.per_gpu;
  add_role(verl_critic_keys, "critic.optim", planned("critic_train"), verl_critic_train_keys, planned("critic_infer"),
           critic_infer);
  if (const auto* const passed = planned("reference_infer")) {
    changes.add_engine(verl_reference_keys, *passed, false);
    if (megatron) changes.set(key_below(verl_reference_keys.megatron, "param_offload"), passed->offload.weights);
    changes.add_micro_batches(verl_reference_infer_keys, *passed);
  }
  if (const auto* const judged = planned("reward_infer")) {
    const std::string keys = "reward.reward_model.rollout";
    changes.set(key_below(keys, "tensor_model_parallel_size"), judged->layout.tensor);
    changes.set(key_below(keys, "pipeline_model_parallel_size"), judged->layout.pipeline);
    changes.set(key_below(keys, "max_num_batched_tokens"), fmt::format("{:.0f}", judged->micro_batching.tokens));
  }
  return std::move(changes).take();
}

}  // namespace

const TrainerWriter verl_writer{.name = "verl", .changes_of = verl_changes, .ways_of = verl_ways, .whole = verl_whole};

}  // namespace dovetail::trainers
