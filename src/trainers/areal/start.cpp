#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/document.h"
#include "trainers/areal/engines.h"
#include "trainers/areal/layouts.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Returns an Error for a value that stops AReaL. `what` is "REASON; accepted: VALUES".
base::Error stops(const syntax::SettingTree& tree, const std::string& key, std::string what) {
  what.insert(what.find("; accepted: "), ", so AReaL rejects the configuration");
  return setting_error(tree, key, what);
}

base::Status check_offload(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines) {
  const std::string mode_key = "actor.weight_update_mode";
  const bool colocated = areal_is_colocated(engines);
  DOVETAIL_TRY(const bool enabled, flag_at(tree, "enable_offload"));
  DOVETAIL_TRY(const std::string mode, text_at(tree, mode_key));
  if (mode != "xccl" && mode != "disk")
    return stops(tree, mode_key, fmt::format("is {}; accepted: xccl, disk", base::quote(mode)));
  for (const ArealEngine& engine : engines) {
    if (engine.role == "rollout" || enabled) continue;
    DOVETAIL_TRY(const bool leaves, flag_at(tree, engine.role + ".offload"));
    if (leaves)
      return stops(tree, engine.role + ".offload", "is true without enable_offload; accepted: false, or both true");
  }
  if (colocated && !enabled)
    return stops(tree, "enable_offload", "is false although the rollout shares the actor's GPUs; accepted: true");
  if (colocated && mode != "disk")
    return stops(tree, mode_key, "is xccl although the rollout shares the actor's GPUs; accepted: disk");
  return {};
}

/// Fails if a batch can never be complete. Before the first training step, the rollout starts at most (staleness + 1) x
/// consumer_batch_size groups. Each step allows consumer_batch_size more.
base::Status check_queues(const syntax::SettingTree& tree, const ImportedRun& run) {
  const std::string consumed_key = "rollout.consumer_batch_size";
  const std::string queue_key = "rollout.queue_size";
  DOVETAIL_TRY(const std::int64_t consumed, count_at(tree, consumed_key));
  DOVETAIL_TRY(const auto queue, optional_integer(tree, queue_key));
  if (consumed < run.prompts)
    return setting_error(tree, consumed_key,
                         fmt::format("is {}, so AReaL waits forever for a batch of {} prompts; accepted: at least "
                                     "train_dataset.batch_size",
                                     consumed, run.prompts));
  if (queue && *queue > 0 && *queue < run.prompts)
    return stops(tree, queue_key,
                 fmt::format("is {} for batches of {} prompts; accepted: at least the batch size, or null", *queue,
                             run.prompts));
  return {};
}

base::Status check_features(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines) {
  const std::string& generates = areal_engine_of(engines, "rollout").allocation.backend;
  const std::string& trains = areal_engine_of(engines, "actor").allocation.backend;
  DOVETAIL_TRY(const bool routed, flag_at(tree, "rollout.return_routed_experts"));
  DOVETAIL_TRY(const bool adapters, flag_at(tree, "actor.use_lora"));
  DOVETAIL_TRY(const bool sapo, flag_at(tree, "actor.use_sapo_loss"));
  DOVETAIL_TRY(const bool decoupled, flag_at(tree, "actor.use_decoupled_loss"));
  if (routed && generates == "vllm")
    return stops(tree, "rollout.return_routed_experts",
                 "is true with generation by vllm; accepted: false, or generation by sglang");
  if (adapters && trains == "megatron" && generates == "sglang")
    return stops(tree, "actor.use_lora",
                 "is true with training by megatron and generation by sglang; accepted: false, or generation by vllm");
  if (sapo && decoupled)
    return stops(tree, "actor.use_sapo_loss", "is true with actor.use_decoupled_loss; accepted: at most one of them");
  return {};
}

/// Checks a trained role.
base::Status check_trained(const syntax::SettingTree& tree, const ArealEngine& engine, const ImportedRun& run) {
  const std::string optimizer_key = engine.role + ".optimizer";
  const syntax::Setting* const optimizer = find_setting(tree.root, optimizer_key);
  if (optimizer == nullptr || optimizer->kind != syntax::Setting::Kind::map)
    return stops(tree, optimizer_key, "is missing for an engine that trains; accepted: a map such as {type: adam}");
  DOVETAIL_TRY(const auto type, optional_text(tree, optimizer_key + ".type"));
  const std::string named = type.value_or("adam");
  if (named != "adam" && named != "adam_bf16" && named != "sgd")
    return stops(tree, optimizer_key + ".type",
                 fmt::format("is {}; accepted: adam, adam_bf16, sgd", base::quote(named)));
  DOVETAIL_TRY(const bool by_layer, flag_at(tree, engine.role + ".fsdp.per_layer_optim_step"));
  if (by_layer && engine.allocation.backend == "fsdp" && named != "adam")
    return stops(tree, engine.role + ".fsdp.per_layer_optim_step",
                 fmt::format("is true with {}; accepted: false, or the optimizer adam", named));
  DOVETAIL_TRY(const bool by_tree, flag_at(tree, engine.role + ".enable_tree_training"));
  if (by_tree && engine.allocation.context > 1)
    return stops(tree, engine.role + ".enable_tree_training",
                 "is true with context parallelism; accepted: false, or no degree `c`");
  const std::string parts_key = engine.role + ".ppo_n_minibatches";
  DOVETAIL_TRY(const std::int64_t parts, count_at(tree, parts_key));
  DOVETAIL_TRY(const auto min_count, optional_integer(tree, engine.role + ".mb_spec.n_mbs"));
  const ArealAllocation& allocation = engine.allocation;
  const std::int64_t filled = allocation.backend == "megatron" && allocation.pipeline > 1 ? 2 * allocation.pipeline : 1;
  const std::int64_t micro_batches = std::max(filled, min_count.value_or(1));
  const std::int64_t sequences = run.prompts * run.samples_per_prompt / allocation.data;
  if (sequences / parts < micro_batches)
    return stops(tree, parts_key,
                 fmt::format("is {}, but the {} sequences of a rank do not suffice for {} or more micro-batches per "
                             "mini-batch; accepted: fewer mini-batches, or more samples",
                             parts, sequences, micro_batches));
  return {};
}

}  // namespace

base::Status check_areal_start(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const ImportedRun& run) {
  DOVETAIL_CHECK(check_offload(tree, engines));
  DOVETAIL_CHECK(check_queues(tree, run));
  DOVETAIL_CHECK(check_features(tree, engines));
  for (const ArealEngine& engine : engines)
    if (engine.role == "actor" || engine.role == "critic") DOVETAIL_CHECK(check_trained(tree, engine, run));
  return {};
}

}  // namespace dovetail::trainers
