#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"
#include "trainers/nemo_rl/layouts.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

/// Settings to check.
struct Start {
  const ComposedSettings& settings;
  const std::string& loop;

  const syntax::SettingTree& tree() const { return settings.tree; }
  /// Returns an Error for a value that stops NeMo-RL. `what` is "REASON; accepted: VALUES".
  base::Error stops(const std::string& key, std::string what) const {
    what.insert(what.find("; accepted: "), ", so NeMo-RL rejects the configuration");
    return setting_error(tree(), key, what);
  }
  base::Result<std::int64_t> degree(const std::string& key) const {
    DOVETAIL_TRY(const int degree, degree_at(tree(), key));
    return degree;
  }
};

base::Status check_batches(const Start& start) {
  const syntax::SettingTree& tree = start.tree();
  const std::string batch_key = "policy.train_global_batch_size";
  DOVETAIL_TRY(const std::int64_t batch, count_at(tree, batch_key));
  DOVETAIL_TRY(const std::int64_t prompts, count_at(tree, start.loop + ".num_prompts_per_step"));
  DOVETAIL_TRY(const std::int64_t samples, count_at(tree, start.loop + ".num_generations_per_prompt"));
  DOVETAIL_TRY(const bool on_policy, is_on(tree, "loss_fn.force_on_policy_ratio"));
  const std::int64_t all =
      prompts <= (std::int64_t{1} << 20) && samples <= (std::int64_t{1} << 20) ? prompts * samples : 0;
  if (all == 0)
    return setting_error(tree, start.loop + ".num_prompts_per_step",
                         "or num_generations_per_prompt is too large; accepted: at most 2^20 each");
  if (on_policy && batch != all)
    return start.stops(batch_key, fmt::format("is {} with loss_fn.force_on_policy_ratio; accepted: the {} samples of a "
                                              "step",
                                              batch, all));
  if (all % batch != 0)
    return start.stops(batch_key, fmt::format("is {}; accepted: a divisor of the {} samples of a step", batch, all));
  const std::string multiplier_key = start.loop + ".batch_multiplier";
  DOVETAIL_TRY(const auto multiplier, optional_number(tree, multiplier_key));
  DOVETAIL_TRY(const bool dynamic, is_on(tree, start.loop + ".use_dynamic_sampling"));
  if (multiplier.value_or(1) != 1 && !dynamic)
    return start.stops(multiplier_key,
                       fmt::format("is {} without {}.use_dynamic_sampling; accepted: 1, or dynamic sampling",
                                   *multiplier, start.loop));
  const std::string skip_key = start.loop + ".skip_reference_policy_logprobs_calculation";
  DOVETAIL_TRY(const bool skips, is_on(tree, skip_key));
  DOVETAIL_TRY(const auto penalty, optional_number(tree, "loss_fn.reference_policy_kl_penalty"));
  if (skips && penalty.value_or(0) != 0)
    return start.stops(skip_key, "is true with loss_fn.reference_policy_kl_penalty; accepted: false, or no penalty");
  return {};
}

base::Status check_megatron(const Start& start, const std::string& role) {
  const syntax::SettingTree& tree = start.tree();
  const std::string keys = role + ".megatron_cfg";
  DOVETAIL_TRY(const bool packs, is_on(tree, role + ".sequence_packing.enabled"));
  DOVETAIL_TRY(const std::int64_t context, start.degree(keys + ".context_parallel_size"));
  const std::string fused_key = keys + ".use_fused_linear_logprobs";
  DOVETAIL_TRY(const bool fused, is_on(tree, fused_key));
  if (context > 1 && !packs)
    return start.stops(keys + ".context_parallel_size",
                       fmt::format("is {} without {}.sequence_packing; accepted: 1, or packing", context, role));
  if (fused && (packs || context > 1))
    return start.stops(fused_key, "is true with sequence packing or context parallelism; accepted: false, or neither");
  const std::string chunk_key = role + ".logprob_chunk_size";
  DOVETAIL_TRY(const auto chunk, optional_integer(tree, chunk_key));
  DOVETAIL_TRY(const bool deferred, is_on(tree, keys + ".defer_fp32_logits"));
  if (chunk.value_or(0) > 0 && !deferred)
    return start.stops(
        chunk_key, fmt::format("is {} without {}.defer_fp32_logits; accepted: null, or deferred logits", *chunk, keys));
  const std::string offload_key = keys + ".optimizer.optimizer_cpu_offload";
  const std::string fraction_key = keys + ".optimizer.optimizer_offload_fraction";
  DOVETAIL_TRY(const bool offloads, is_on(tree, offload_key));
  DOVETAIL_TRY(const auto fraction, optional_number(tree, fraction_key));
  DOVETAIL_TRY(const auto shards, optional_flag(tree, keys + ".optimizer.use_distributed_optimizer"));
  DOVETAIL_TRY(const bool overlaps, is_on(tree, keys + ".optimizer.overlap_cpu_optimizer_d2h_h2d"));
  if (offloads && (fraction.value_or(0) <= 0 || *fraction > 1))
    return start.stops(fraction_key, fmt::format("is {} with {}; accepted: more than 0 and at most 1",
                                                 fraction.value_or(0), offload_key));
  if (offloads && !shards.value_or(true))
    return start.stops(offload_key, "is true without use_distributed_optimizer; accepted: false, or both true");
  if (overlaps && !offloads)
    return start.stops(keys + ".optimizer.overlap_cpu_optimizer_d2h_h2d",
                       "is true without optimizer_cpu_offload; accepted: false, or both true");
  DOVETAIL_TRY(const bool fine, is_on(tree, keys + ".fine_grained_activation_offloading"));
  const syntax::Setting* const modules = find_setting(tree.root, keys + ".offload_modules");
  if (fine && (modules == nullptr || modules->items.empty()))
    return start.stops(keys + ".offload_modules", "names no modules; accepted: a list of modules");
  return {};
}

base::Status check_dtensor(const Start& start, const std::string& role) {
  const syntax::SettingTree& tree = start.tree();
  const std::string keys = role + ".dtensor_cfg";
  DOVETAIL_TRY(const std::int64_t context, start.degree(keys + ".context_parallel_size"));
  DOVETAIL_TRY(const std::int64_t tensor, start.degree(keys + ".tensor_parallel_size"));
  DOVETAIL_TRY(const bool packs, is_on(tree, role + ".sequence_packing.enabled"));
  DOVETAIL_TRY(const bool sequences, is_on(tree, keys + ".sequence_parallel"));
  DOVETAIL_TRY(const bool second, is_on(tree, keys + "._v2"));
  DOVETAIL_TRY(const bool adapters, is_on(tree, keys + ".lora_cfg.enabled"));
  if (context > 1 && packs)
    return start.stops(keys + ".context_parallel_size",
                       fmt::format("is {} with {}.sequence_packing; accepted: 1, or no packing", context, role));
  if (context > 1 && tensor > 1 && sequences)
    return start.stops(keys + ".sequence_parallel",
                       "is true with context and tensor parallelism; accepted: at most two of them");
  if (adapters && !second)
    return start.stops(keys + ".lora_cfg.enabled", "is true without _v2; accepted: false, or both true");
  DOVETAIL_TRY(const bool triton, is_on(tree, keys + ".lora_cfg.use_triton"));
  if (adapters && triton && tensor > 1)
    return start.stops(keys + ".lora_cfg.use_triton",
                       "is true with tensor parallelism; accepted: false, or no tensor parallelism");
  DOVETAIL_TRY(const std::int64_t replicas, start.degree(keys + ".dp_replicate_size"));
  if (replicas > 1 && !second)
    return start.stops(keys + ".dp_replicate_size", fmt::format("is {} without _v2; accepted: 1, or _v2", replicas));
  return {};
}

base::Status check_role(const Start& start, const std::string& role) {
  const syntax::SettingTree& tree = start.tree();
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  DOVETAIL_CHECK(megatron ? check_megatron(start, role) : check_dtensor(start, role));
  const std::string dynamic_key = role + ".dynamic_batching.enabled";
  DOVETAIL_TRY(const bool dynamic, is_on(tree, dynamic_key));
  DOVETAIL_TRY(const bool packs, is_on(tree, role + ".sequence_packing.enabled"));
  if (dynamic && packs)
    return start.stops(dynamic_key,
                       fmt::format("is true with {}.sequence_packing; accepted: at most one of them", role));
  DOVETAIL_TRY(const std::int64_t stages, start.degree(role + ".megatron_cfg.pipeline_model_parallel_size"));
  if (dynamic && megatron && stages > 1)
    return start.stops(dynamic_key,
                       fmt::format("is true with {} pipeline stages; accepted: false, or 1 stage", stages));
  const std::string draft_key = role + ".draft.enabled";
  DOVETAIL_TRY(const bool draft, is_on(tree, draft_key));
  if (draft && (!megatron || packs))
    return start.stops(draft_key, "is true with DTensor or with packed sequences; accepted: false, or neither");
  return {};
}

/// Fails if inference and training have different micro-batch sizes with tensor parallelism of 4 or more, because
/// log-probabilities then differ.
base::Status check_batch_variance(const Start& start) {
  const syntax::SettingTree& tree = start.tree();
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, "policy"));
  DOVETAIL_TRY(const bool on_policy, is_on(tree, "loss_fn.force_on_policy_ratio"));
  const auto variable = start.settings.environment.find("NRL_IGNORE_TP_ACCURACY_CHECK");
  const bool ignores = variable != start.settings.environment.end() && !variable->second.empty();
  DOVETAIL_TRY(const std::int64_t tensor, start.degree(megatron ? "policy.megatron_cfg.tensor_model_parallel_size"
                                                                : "policy.dtensor_cfg.tensor_parallel_size"));
  const std::string key = "policy.logprob_batch_size";
  DOVETAIL_TRY(const auto pass, optional_integer(tree, key));
  DOVETAIL_TRY(const std::int64_t train, count_at(tree, "policy.train_micro_batch_size"));
  if (tensor >= 4 && pass && *pass != train && !on_policy && !ignores)
    return start.stops(key,
                       fmt::format("is {} with tensor parallelism {}; accepted: train_micro_batch_size ({}), or the "
                                   "environment variable NRL_IGNORE_TP_ACCURACY_CHECK",
                                   *pass, tensor, train));
  return {};
}

base::Status check_vllm(const Start& start) {
  const syntax::SettingTree& tree = start.tree();
  const std::string keys = "policy.generation.vllm_cfg";
  DOVETAIL_TRY(const bool is_async, is_on(tree, keys + ".async_engine"));
  DOVETAIL_TRY(const std::int64_t tensor, start.degree(keys + ".tensor_parallel_size"));
  DOVETAIL_TRY(const std::int64_t stages, start.degree(keys + ".pipeline_parallel_size"));
  DOVETAIL_TRY(const std::int64_t expert, start.degree(keys + ".expert_parallel_size"));
  if (stages > 1 && !is_async)
    return start.stops(keys + ".pipeline_parallel_size",
                       "is more than 1 without async_engine; accepted: 1, or async_engine");
  if (expert > 1 && expert % tensor != 0)
    return start.stops(keys + ".expert_parallel_size",
                       fmt::format("is {}; accepted: 1, or a multiple of tensor_parallel_size ({})", expert, tensor));
  if (expert > 1 && expert != tensor && is_async)
    return start.stops(
        keys + ".expert_parallel_size",
        fmt::format("is {} with async_engine; accepted: 1, or tensor_parallel_size ({})", expert, tensor));
  DOVETAIL_TRY(const auto precision, optional_text(tree, keys + ".precision"));
  DOVETAIL_TRY(const auto cache, optional_text(tree, keys + ".kv_cache_dtype"));
  DOVETAIL_TRY(const bool corrects, is_on(tree, "loss_fn.use_importance_sampling_correction"));
  if (precision == "fp8" && !corrects)
    return start.stops(keys + ".precision",
                       "is fp8 without loss_fn.use_importance_sampling_correction; accepted: fp8 with this setting "
                       "true, or another precision");
  if (!cache || !cache->starts_with("fp8")) return {};
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, "policy"));
  DOVETAIL_TRY(const std::int64_t trained, start.degree("policy.megatron_cfg.pipeline_model_parallel_size"));
  if (precision != "fp8" || !megatron || is_async || trained > 1)
    return start.stops(
        keys + ".kv_cache_dtype",
        fmt::format("is {}; accepted: auto, or fp8 if `precision` is fp8, training uses Megatron without "
                    "pipeline parallelism, and `async_engine` is false",
                    *cache));
  return {};
}

/// Checks generation that runs concurrently with training.
base::Status check_async(const Start& start) {
  const syntax::SettingTree& tree = start.tree();
  const std::string key = fmt::format("{0}.async_{0}.enabled", start.loop);
  DOVETAIL_TRY(const bool is_async, is_on(tree, key));
  if (!is_async) return {};
  DOVETAIL_TRY(const std::string backend, text_at(tree, "policy.generation.backend"));
  DOVETAIL_TRY(const bool corrects, is_on(tree, "loss_fn.use_importance_sampling_correction"));
  DOVETAIL_TRY(const auto colocated, optional_flag(tree, "policy.generation.colocated.enabled"));
  DOVETAIL_TRY(const bool engine, is_on(tree, fmt::format("policy.generation.{}_cfg.async_engine", backend)));
  if (backend == "dynamo") return {};
  if (backend == "sglang") return start.stops(key, "is true with sglang; accepted: false, or vllm, trtllm, megatron");
  if (backend != "megatron" && !engine)
    return start.stops(key, fmt::format("is true without {}_cfg.async_engine; accepted: false, or both true", backend));
  if (!corrects)
    return start.stops(key,
                       "is true without loss_fn.use_importance_sampling_correction; accepted: false, or both true");
  if (colocated.value_or(true) && backend != "megatron")
    return start.stops(
        key, "is true with colocated generation; accepted: false, or policy.generation.colocated.enabled false");
  return {};
}

base::Status check_ppo(const Start& start) {
  const syntax::SettingTree& tree = start.tree();
  const std::string transport_key = "policy.generation.refit_transport";
  DOVETAIL_TRY(const auto transport, optional_text(tree, transport_key));
  if (transport) return start.stops(transport_key, fmt::format("is {} with PPO; accepted: null", *transport));
  DOVETAIL_TRY(const std::string backend, text_at(tree, "policy.generation.backend"));
  if (backend != "vllm" && backend != "sglang")
    return start.stops("policy.generation.backend", fmt::format("is {} with PPO; accepted: vllm, sglang", backend));
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, "value"));
  if (megatron) return {};
  DOVETAIL_TRY(const bool packs, is_on(tree, "value.sequence_packing.enabled"));
  DOVETAIL_TRY(const bool dynamic, is_on(tree, "value.dynamic_batching.enabled"));
  DOVETAIL_TRY(const std::int64_t context, start.degree("value.dtensor_cfg.context_parallel_size"));
  if (packs) return start.stops("value.sequence_packing.enabled", "is true with DTensor; accepted: false, or Megatron");
  if (dynamic)
    return start.stops("value.dynamic_batching.enabled", "is true with DTensor; accepted: false, or Megatron");
  if (context > 1) return start.stops("value.dtensor_cfg.context_parallel_size", "is more than 1; accepted: 1");
  return {};
}

}  // namespace

base::Status check_nemo_rl_start(const ComposedSettings& settings, const std::string& loop) {
  const Start start{.settings = settings, .loop = loop};
  DOVETAIL_CHECK(check_batches(start));
  DOVETAIL_CHECK(check_role(start, "policy"));
  DOVETAIL_CHECK(check_batch_variance(start));
  DOVETAIL_TRY(const auto backend, optional_text(start.tree(), "policy.generation.backend"));
  if (backend == "vllm") DOVETAIL_CHECK(check_vllm(start));
  DOVETAIL_CHECK(check_async(start));
  if (loop == "grpo") return {};
  DOVETAIL_CHECK(check_ppo(start));
  return check_role(start, "value");
}

}  // namespace dovetail::trainers
