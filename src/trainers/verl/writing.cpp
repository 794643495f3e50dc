#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "syntax/tree.h"
#include "trainers/export/change.h"
#include "trainers/export/word_edit.h"
#include "trainers/import/settings.h"
#include "trainers/verl/layouts.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// Collects the settings of a plan.
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

  /// Adds the parallelism of a role, which is trained or, unless `trained`, a reference.
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
    // Megatron steps the given fraction on the host, 0 by default, and only with the precision-aware optimizer. If the
    // optimizer stays on the device, a precision-aware optimizer would have smaller states than the job's.
    const std::string aware = more + ".use_precision_aware_optimizer";
    std::vector<Setter> with;
    if (offload.optimizer_on_host)
      with = {{more + ".optimizer_offload_fraction", number_text(software.optimizer_host_share)}, {aware, "True"}};
    else if (software.master_type == plan::MasterType::by_default)
      with = {{aware, "False"}};
    set(more + ".optimizer_cpu_offload", flag_text(offload.optimizer_on_host), std::move(with));
  }

  std::vector<Change> take() && { return std::move(all_); }

 private:
  void add_fsdp(const VerlEngineKeys& keys, const llm::Layout& layout, bool trained) {
    std::vector<Setter> with;
    if (layout.context > 1) with = {{std::string(keys.unpadded), "True"}};
    // The key of older versions wins if its value is greater than 1.
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
  // Megatron has no separate batch size for inference.
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

constexpr std::string_view packing_key(VerlEngine engine) {
  return engine == VerlEngine::megatron ? "actor_rollout_ref.actor.megatron.use_remove_padding"
                                        : "actor_rollout_ref.model.use_remove_padding";
}

/// Returns whether only the present engine accepts an argument of the command, because the other engine's configuration
/// has no such setting.
bool is_of_engine(std::string_view name, VerlEngine present, VerlEngine other) {
  if (name == "--config-name") return present == VerlEngine::megatron;
  if (name.ends_with(".strategy")) return true;
  const std::string key = present_key(name);
  const std::string_view part = present == VerlEngine::megatron ? ".megatron." : ".fsdp";
  if (key.find(part) != std::string::npos) return find_setting(verl_defaults(other), key) == nullptr;
  return find_setting(verl_defaults(present), key) != nullptr && find_setting(verl_defaults(other), key) == nullptr;
}

std::vector<Alternative> verl_alternatives(const AlternativesRequest& request) {
  // Arguments for the present engine must be removed, which is possible only in a script.
  if (!request.allowed.backend || request.launch == nullptr) return {};
  const bool megatron = request.job.software.training != "verl-fsdp";
  const VerlEngine present = megatron ? VerlEngine::megatron : VerlEngine::fsdp;
  const VerlEngine other = megatron ? VerlEngine::fsdp : VerlEngine::megatron;
  Change change{.set = {"model_engine", megatron ? "dp" : "megatron"}, .with = {}, .without = {}, .in_place = true};
  change.with.push_back({std::string(packing_key(other)), flag_text(request.job.workload.packing)});
  for (const syntax::Word& word : request.launch->arguments) {
    const std::string name(override_name(word));
    if (is_of_engine(name, present, other) && std::ranges::find(change.without, name) == change.without.end())
      change.without.push_back(name);
  }
  return {{.name = megatron ? "fsdp" : "megatron", .changes = {std::move(change)}}};
}

/// Hydra overrides of a new launch script.
struct VerlOverrides {
  std::vector<std::string> all = {};

  void set(std::string_view key, std::string_view value) { all.push_back(fmt::format("{}={}", key, value)); }
  void set(std::string_view key, std::int64_t value) { set(key, fmt::format("{}", value)); }
  void turn(std::string_view key, bool on) { set(key, flag_text(on)); }
};

std::string estimator_of(const JobFacts& facts) {
  if (facts.algorithm == "ppo") return "gae";
  return facts.algorithm == "reinforce++" ? "reinforce_plus_plus" : facts.algorithm;
}

void add_batches(const JobFacts& facts, VerlOverrides& overrides) {
  overrides.set("data.train_batch_size", facts.prompts);
  overrides.set("data.max_prompt_length", facts.prompt_cap);
  overrides.set("data.max_response_length", facts.response_cap);
  if (facts.ends_together()) overrides.set("actor_rollout_ref.rollout.max_model_len", facts.sequence_cap);
  overrides.set("actor_rollout_ref.rollout.n", facts.samples_per_prompt);
  overrides.set("actor_rollout_ref.actor.ppo_mini_batch_size", facts.mini_batch / facts.samples_per_prompt);
  overrides.set("actor_rollout_ref.actor.ppo_epochs", facts.epochs);
  overrides.turn(facts.megatron() ? "actor_rollout_ref.actor.megatron.use_remove_padding"
                                  : "actor_rollout_ref.model.use_remove_padding",
                 facts.packing);
}

base::Result<CompleteFile> verl_complete_file(const JobFacts& facts) {
  DOVETAIL_CHECK(check_software(
      facts, "verl",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang, plan::EngineKind::trtllm}, .loss_entropy = true}));
  if (facts.training != "verl-fsdp" && facts.training != "megatron-policy")
    return base::bad_input(
        fmt::format("verl does not support `training: {}`; accepted: verl-fsdp, megatron-policy", facts.training));
  if (facts.steps_off_policy > 0)
    return base::bad_input(
        "verl files without --base can express only on-policy jobs; accepted: `steps_off_policy: 0`, or --base FILE");
  if (facts.mini_batch % facts.samples_per_prompt != 0)
    return base::bad_input(fmt::format(
        "the mini-batch has {} samples, but mini-batches of verl contain whole groups; accepted: a multiple of the {} "
        "samples per prompt",
        facts.mini_batch, facts.samples_per_prompt));
  CompleteFile file{.required = required_models(facts), .arguments = {}, .command = "python3 -m verl.trainer.main_ppo"};
  file.required.push_back({"TRAIN_FILES", "training prompts: a Parquet file", "train.parquet"});
  file.required.push_back({"VAL_FILES", "evaluation prompts: a Parquet file", "val.parquet"});
  VerlOverrides overrides;
  if (facts.megatron()) overrides.set("model_engine", "megatron");
  overrides.set("algorithm.adv_estimator", estimator_of(facts));
  overrides.set("data.train_files", "\"$TRAIN_FILES\"");
  overrides.set("data.val_files", "\"$VAL_FILES\"");
  overrides.set("actor_rollout_ref.model.path", "\"$ACTOR_PATH\"");
  overrides.set("actor_rollout_ref.rollout.name", std::string(base::enum_name(facts.engine)));
  add_batches(facts, overrides);
  // verl's loss computes entropy only on request.
  if (facts.loss_entropy != plan::LossEntropy::none) overrides.turn("actor_rollout_ref.actor.calculate_entropy", true);
  overrides.turn("actor_rollout_ref.actor.use_kl_loss", facts.reference && !facts.critic);
  overrides.turn("algorithm.use_kl_in_reward", facts.reference && facts.critic);
  if (!facts.trainer_log_probabilities) overrides.turn("algorithm.rollout_correction.bypass_mode", true);
  if (facts.critic) {
    overrides.set("critic.model.path", "\"$CRITIC_PATH\"");
    if (!facts.megatron()) overrides.turn("critic.model.use_remove_padding", facts.packing);
  }
  if (facts.reward_model) {
    overrides.turn("reward.reward_model.enable", true);
    overrides.set("reward.reward_model.model_path", "\"$REWARD_PATH\"");
  }
  overrides.set("trainer.nnodes", facts.nodes);
  overrides.set("trainer.n_gpus_per_node", facts.gpus_per_node);
  file.arguments = std::move(overrides.all);
  return file;
}

}  // namespace

const TrainerWriter verl_writer{.name = "verl",
                                .changes_of = verl_changes,
                                .alternatives_of = verl_alternatives,
                                .complete_file = verl_complete_file};

}  // namespace dovetail::trainers
