#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/slime/layouts.h"
#include "trainers/slime/slime.h"

namespace dovetail::trainers {
namespace {

constexpr std::array checked_training{
    CheckedSetting{"--balance-data", "true", "micro-batches are distributed in turn; modeled as balanced"},
    CheckedSetting{"--balance-by-flops", "false",
                   "micro-batches have equal work and may exceed the token budget; modeled within the budget"},
    CheckedSetting{"--data-pad-size-multiplier", "128", "padding to another multiple is not modeled"},
    CheckedSetting{"--log-probs-chunk-size", "-1",
                   "logits are computed in chunks; the real run uses less memory for logits"},
    CheckedSetting{"--recompute-loss-function", "false",
                   "the loss is recomputed; the real run uses less memory for logits"},
    CheckedSetting{"--recompute-method", "null|uniform",
                   "only the first layers of a stage are recomputed; modeled as all layers"},
    CheckedSetting{"--recompute-num-layers", "null|1",
                   "layers are recomputed in groups or in part; modeled as recomputing each layer separately"},
    CheckedSetting{"--distribute-saved-activations", "false",
                   "layer inputs are sharded over the tensor ranks; the real run uses less memory"},
    CheckedSetting{"--account-for-embedding-in-pipeline-split", "false", "modeled as even stages"},
    CheckedSetting{"--account-for-loss-in-pipeline-split", "false", "modeled as even stages"},
    CheckedSetting{"--pipeline-model-parallel-layout", "null", "modeled as even stages"},
    CheckedSetting{"--allgather-cp", "false", "the alternative split of sequences over context ranks is not modeled"},
    CheckedSetting{"--cp-comm-type", "null|[p2p]", "context parallelism communicates differently; modeled like p2p"},
    CheckedSetting{"--tp-comm-overlap", "false", "tensor-parallel communication is overlapped; the real run is faster"},
    CheckedSetting{"--use-megatron-fsdp", "false", "modeled as ZeRO 1; the real run shards more"},
    CheckedSetting{"--use-torch-fsdp2", "false", "modeled as ZeRO 1; the real run shards more"},
    CheckedSetting{"--overlap-grad-reduce", "true",
                   "gradients are reduced after the backward pass; modeled as overlapping it"},
    CheckedSetting{"--overlap-param-gather", "true",
                   "weights are gathered before the forward pass; modeled as overlapping it"},
    CheckedSetting{"--optimizer", "adam", "modeled as Adam"},
    CheckedSetting{"--overlap-cpu-optimizer-d2h-h2d", "false",
                   "transfers of gradients and weights overlap the step on the host; the real run is faster"},
    CheckedSetting{"--main-grads-dtype", "fp32",
                   "gradients are modeled in the type in which they are reduced; the real run uses less memory"},
    CheckedSetting{"--use-stateless-adam", "false",
                   "no moments are kept; modeled with moments, but the real run uses less memory"},
    CheckedSetting{"--fp16", "false", "modeled as bf16"},
    CheckedSetting{"--fp8-format", "null", "training in fp8; modeled as bf16, but the real run is faster"},
    CheckedSetting{"--fp8-param-gather", "false", "weights in fp8; modeled as bf16"},
    CheckedSetting{"--fp4-format", "null", "training in fp4; modeled as bf16, but the real run is faster"},
    CheckedSetting{"--transformer-impl", "transformer_engine", "modeled as Transformer Engine"},
    CheckedSetting{"--attention-backend", "flash|auto|fused",
                   "modeled as flash attention; the real run uses more memory"},
    CheckedSetting{"--attention-dropout", "0|0.0", "dropout masks are not modeled"},
    CheckedSetting{"--hidden-dropout", "0|0.0", "dropout masks are not modeled"},
    CheckedSetting{"--deterministic-mode", "false", "deterministic kernels; the real run is slower"},
    CheckedSetting{"--no-gradient-accumulation-fusion", "false",
                   "separate kernels for gradient accumulation are not modeled"},
    CheckedSetting{"--no-bias-swiglu-fusion", "false", "separate kernels for SwiGLU; the real run uses more memory"},
    CheckedSetting{"--no-rope-fusion", "false", "separate kernels for rotary embeddings are not modeled"},
    CheckedSetting{"--mtp-num-layers", "null",
                   "multi-token prediction layers are not modeled; the real run uses more memory"},
    CheckedSetting{"--enable-mtp-training", "false", "training of multi-token prediction layers is not modeled"},
    CheckedSetting{"--post-self-attn-layernorm", "false",
                   "norms after attention are not modeled; the real run uses more memory"},
    CheckedSetting{"--post-mlp-layernorm", "false",
                   "norms after the feed-forward network are not modeled; the real run uses more memory"},
    CheckedSetting{"--window-size", "null", "sliding window attention; modeled as full attention"},
    CheckedSetting{"--freeze-indexer", "false", "some weights are frozen; modeled as trained"},
    CheckedSetting{"--moe-token-dispatcher-type", "alltoall|allgather",
                   "the alternative exchange of the experts' tokens is not modeled"},
    CheckedSetting{"--moe-enable-deepep", "false", "DeepEP sends the experts' tokens; the real run is faster"},
    CheckedSetting{"--moe-shared-expert-overlap", "false",
                   "shared experts are computed during the exchange of tokens; the real run is faster"},
    CheckedSetting{"--moe-expert-capacity-factor", "null", "dropping tokens over the expert capacity is not modeled"},
    CheckedSetting{"--moe-pad-expert-input-to-capacity", "false", "expert inputs are padded; the real run is slower"},
    CheckedSetting{"--num-critic-only-steps", "0",
                   "the first iterations do not train the actor; modeled as always trained"},
    CheckedSetting{"--ref-update-interval", "null", "copying the actor's weights to the reference is not modeled"},
    CheckedSetting{"--keep-old-actor", "false",
                   "older weights that are kept on the host and loaded for inference are not modeled"},
    CheckedSetting{"--use-routing-replay", "false", "storing expert choices for training is not modeled"},
    CheckedSetting{"--use-rollout-routing-replay", "false",
                   "reusing the rollout's expert choices in training is not modeled"},
    CheckedSetting{"--use-opd", "false", "inference of a teacher is not modeled"},
    CheckedSetting{"--loss-type", "policy_loss", "custom loss; modeled as the policy loss"},
    CheckedSetting{"--release-train", "false", "restarting trainers from files is not modeled; the real run is slower"},
    CheckedSetting{"--update-weight-mode", "full",
                   "weight changes are sent through files; modeled as all weights sent by NCCL"},
    CheckedSetting{"--update-weight-transport", "nccl",
                   "weights are sent through files; modeled as NCCL, but the real run is slower"},
};

constexpr std::array checked_rollout{
    CheckedSetting{"--partial-rollout", "false", "resuming unfinished responses in the next iteration is not modeled"},
    CheckedSetting{"--rollout-function-path", "slime.rollout.sglang_rollout.generate_rollout",
                   "custom rollout; modeled as batches that finish before they are trained on"},
    CheckedSetting{"--rollout-data-transport", "object-store", "the alternative transport of samples is not modeled"},
    CheckedSetting{"--sglang-moe-dp-size", "1", "data-parallel groups of experts; modeled without groups"},
    CheckedSetting{"--sglang-moe-dense-tp-size", "null",
                   "separate tensor degree of dense layers; modeled with the engine's tensor degree"},
    CheckedSetting{"--sglang-enable-dp-lm-head", "false",
                   "one language-model head per data-parallel rank; modeled as sharded like all other layers"},
    CheckedSetting{"--sglang-cuda-graph-bs", "null", "CUDA graphs for some batch sizes; modeled for all batch sizes"},
    CheckedSetting{"--sglang-cuda-graph-max-bs", "null", "CUDA graphs for small batches; modeled for all batch sizes"},
    CheckedSetting{"--sglang-disable-radix-cache", "false",
                   "the prompt of a group is computed for each sample; the real run is slower"},
    CheckedSetting{"--sglang-disable-overlap-schedule", "false",
                   "scheduling does not overlap computation; the real run is slower"},
    CheckedSetting{"--sglang-enable-hierarchical-cache", "false", "the KV cache on the host is not modeled"},
    CheckedSetting{"--sglang-enable-deterministic-inference", "false", "deterministic kernels; the real run is slower"},
    CheckedSetting{"--sglang-moe-a2a-backend", "none",
                   "alternative exchange of the experts' tokens; the real run is faster"},
    CheckedSetting{"--sglang-enable-deepep-moe", "false", "DeepEP sends the experts' tokens; the real run is faster"},
    CheckedSetting{"--sglang-ep-num-redundant-experts", "0",
                   "redundant experts are not modeled; the real run uses more memory"},
    CheckedSetting{"--sglang-speculative-algorithm", "null",
                   "speculative decoding; modeled as one token per step, but the real run is faster"},
};

/// Flags that are reported for any value.
constexpr std::array given_flags{
    CheckedSetting{"--custom-config-path", {}, "the file is not read, although its settings take precedence"},
    CheckedSetting{"--megatron-config-path", {}, "the file with settings by role is not read"},
    CheckedSetting{"--sglang-config",
                   {},
                   "the file of engines is not read; modeled with --rollout-num-gpus-per-engine GPUs per engine"},
    CheckedSetting{"--prefill-num-servers", {}, "prefill and decode on separate engines; modeled on the same engine"},
    CheckedSetting{"--over-sampling-batch-size", {}, "prompts whose responses are not trained on are not modeled"},
    CheckedSetting{"--dynamic-sampling-filter-path", {}, "discarding and regenerating groups is not modeled"},
    CheckedSetting{"--custom-generate-function-path",
                   {},
                   "custom generation, such as multi-turn rollouts; modeled as one response without waiting"},
    CheckedSetting{"--rollout-buffer-url", {}, "samples come from a service; modeled as generated on the engines"},
    CheckedSetting{"--load-forge-rollout-data", {}, "samples come from a file; modeled as generated"},
    CheckedSetting{"--custom-rm-path", {}, "custom reward; modeled as taking no time"},
    CheckedSetting{"--rm-url", {}, "the reward is computed outside the cluster; modeled as taking no time"},
    CheckedSetting{"--multimodal-keys", {}, "the vision part is not modeled"},
    CheckedSetting{"--only-train-params-name-list", {}, "some weights are frozen; modeled as trained"},
    CheckedSetting{"--freeze-params-name-list", {}, "some weights are frozen; modeled as trained"},
    CheckedSetting{"--custom-loss-function-path", {}, "custom loss; modeled as the policy loss"},
    CheckedSetting{
        "--custom-convert-samples-to-train-data-path", {}, "conversion of samples before training is not modeled"},
    CheckedSetting{
        "--rollout-sample-filter-path", {}, "some samples are dropped before training; modeled as trained on"},
    CheckedSetting{"--megatron-deepgemm-forward-layers", {}, "layers in fp8; modeled as bf16"},
    CheckedSetting{"--megatron-deepgemm-moe-forward-layers", {}, "experts in fp8; modeled as bf16"},
};

void add_finding(const syntax::SettingTree& tree, const std::string& key, const std::string& what,
                 std::vector<Finding>& findings) {
  findings.push_back({key, what, place_of(tree, key)});
}

bool is_written(const syntax::SettingTree& tree, std::string_view key) { return place_of(tree, key).line > 0; }

base::Status add_unmodeled_given(const syntax::SettingTree& tree, ImportedRun& run) {
  for (const CheckedSetting& checked : given_flags) {
    DOVETAIL_TRY(const bool given, is_given(tree, checked.key));
    if (!given) continue;
    const syntax::Setting& setting = *find_setting(tree.root, checked.key);
    run.not_modelled.push_back(
        {std::string(checked.key), fmt::format("{}: {}", value_text(setting), checked.what), setting.place});
  }
  return {};
}

/// Reads the number formats of the engines' weights and KV cache. The name of a quantized checkpoint gives its bits.
base::Status take_checkpoint(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const setting = find_setting(tree.root, "--hf-checkpoint");
  if (setting != nullptr && named_bits(setting->text))
    DOVETAIL_CHECK(take_engine_weights(tree, "--hf-checkpoint", run));
  DOVETAIL_CHECK(take_engine_weights(tree, "--sglang-quantization", run));
  return take_key_values(tree, "--sglang-kv-cache-dtype", run);
}

/// Reports slime's own layers that are modeled as layers of a standard transformer.
void add_unmodeled_layers(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const spec = find_setting(tree.root, "--spec");
  if (spec == nullptr) return;
  if (const auto what = slime_uncounted(*spec))
    add_finding(tree, "--spec", fmt::format("{}: {} are not modeled", value_text(*spec), *what), run.not_modelled);
}

/// Returns the type of an optimizer state. Returns nullopt for fp32, and for a type that jobs cannot describe, which it
/// reports.
base::Result<std::optional<plan::StateType>> optimizer_type(const syntax::SettingTree& tree, const std::string& key,
                                                            const char* what, ImportedRun& run) {
  DOVETAIL_TRY(const std::string value, text_at(tree, key));
  const auto type = state_type(value);
  if (type == plan::StateType::fp32) return std::optional<plan::StateType>();
  if (!type)
    add_finding(tree, key, fmt::format("{}: {} are modeled in fp32; the real run uses less memory", value, what),
                run.not_modelled);
  return type;
}

/// Sets the types of the optimizer's states. On the host, all are in fp32.
base::Status add_slime_types(const syntax::SettingTree& tree, ImportedRun& run) {
  plan::Software& types = run.software;
  DOVETAIL_TRY(const bool aware, flag_at(tree, "--use-precision-aware-optimizer"));
  DOVETAIL_TRY(const bool on_host, flag_at(tree, "--optimizer-cpu-offload"));
  DOVETAIL_TRY(const bool reduced_in_bf16, flag_at(tree, "--grad-reduce-in-bf16"));
  DOVETAIL_TRY(const auto master, optimizer_type(tree, "--main-params-dtype", "master weights", run));
  DOVETAIL_TRY(const auto first, optimizer_type(tree, "--exp-avg-dtype", "moments", run));
  DOVETAIL_TRY(const auto second, optimizer_type(tree, "--exp-avg-sq-dtype", "moments", run));
  if (reduced_in_bf16) types.gradient_type = plan::StateType::bf16;
  if (first == second && first) types.moment_type = *first;
  if (first != second)
    add_finding(tree, first ? "--exp-avg-dtype" : "--exp-avg-sq-dtype",
                "moments of two types; modeled in fp32, but the real run uses less memory", run.not_modelled);
  if (aware && !on_host) types.master_type = plan::MasterType::remainder;
  if (master == plan::StateType::fp16) types.master_type = plan::MasterType::fp16;
  if (master == plan::StateType::bf16)
    add_finding(tree, "--main-params-dtype", "bf16: master weights are modeled in fp32; the real run uses less memory",
                run.not_modelled);
  return {};
}

base::Status add_experts(const syntax::SettingTree& tree, const llm::Transformer& model, ImportedRun& run) {
  DOVETAIL_TRY(const std::int64_t expert, count_at(tree, "--sglang-ep-size"));
  DOVETAIL_TRY(const std::int64_t data, count_at(tree, "--sglang-dp-size"));
  DOVETAIL_TRY(const bool grouped, flag_at(tree, "--moe-grouped-gemm"));
  if (model.experts && !grouped)
    add_finding(tree, "--moe-grouped-gemm", "false: experts are computed one by one; the real run is slower",
                run.not_modelled);
  if (!model.experts && expert > 1)
    add_finding(tree, "--sglang-ep-size", "no effect: the model has no experts", run.ignored);
  if (!model.experts && data > 1)
    add_finding(
        tree, "--sglang-dp-size",
        fmt::format(
            "{}: data-parallel attention; modeled as sharded over the engine, but the real run uses more memory", data),
        run.not_modelled);
  return {};
}

base::Status add_placement(const syntax::SettingTree& tree, bool async, ImportedRun& run) {
  DOVETAIL_TRY(const bool colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const bool both, flag_at(tree, "--offload"));
  DOVETAIL_TRY(const auto trainer, optional_flag(tree, "--offload-train"));
  DOVETAIL_TRY(const auto engines, optional_flag(tree, "--offload-rollout"));
  DOVETAIL_TRY(const std::int64_t interval, integer_at(tree, "--update-weights-interval"));
  DOVETAIL_TRY(const std::int64_t node, count_at(tree, "--num-gpus-per-node"));
  DOVETAIL_TRY(const std::int64_t trainer_node, count_at(tree, "--actor-num-gpus-per-node"));
  const std::string interval_key = "--update-weights-interval";
  if (interval != 1 && async)
    add_finding(tree, interval_key,
                fmt::format("{}: iterations between weight syncs; modeled as one sync per iteration", interval),
                run.not_modelled);
  if (interval != 1 && !async)
    add_finding(tree, interval_key, "no effect: train.py syncs weights after each iteration", run.ignored);
  if (is_written(tree, "--num-gpus-per-node") && node < trainer_node)
    add_finding(tree, "--num-gpus-per-node",
                fmt::format("{}: engines assume nodes of this size; modeled with the node size of the cluster", node),
                run.not_modelled);
  if (run.algorithm == "ppo" && trainer && !*trainer && !both)
    add_finding(tree, "--offload-train", "false: no effect, because slime always offloads with a critic", run.ignored);
  if (colocate && engines && !*engines && !both)
    add_finding(tree, "--offload-rollout",
                "false: the engine's KV cache stays on the device; modeled as freed, but the real run uses more memory",
                run.not_modelled);
  if (!colocate && (both || engines.value_or(false)))
    add_finding(tree, both ? "--offload" : "--offload-rollout",
                "true: engines on separate GPUs sleep between generations; modeled as awake", run.not_modelled);
  return {};
}

base::Status add_ignored(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const bool dynamic, flag_at(tree, "--use-dynamic-batch-size"));
  DOVETAIL_TRY(const std::int64_t tensor, integer_at(tree, "--tensor-model-parallel-size"));
  DOVETAIL_TRY(const bool sequences, flag_at(tree, "--sequence-parallel"));
  DOVETAIL_TRY(const bool on_host, flag_at(tree, "--optimizer-cpu-offload"));
  DOVETAIL_TRY(const bool context, is_given(tree, "--rollout-max-context-len"));
  if (dynamic && is_written(tree, "--micro-batch-size"))
    add_finding(tree, "--micro-batch-size", "no effect with --use-dynamic-batch-size", run.ignored);
  if (!dynamic && is_written(tree, "--max-tokens-per-gpu"))
    add_finding(tree, "--max-tokens-per-gpu", "no effect without --use-dynamic-batch-size", run.ignored);
  if (is_written(tree, "--log-probs-max-tokens-per-gpu"))
    add_finding(tree, "--log-probs-max-tokens-per-gpu", "no effect: inference has the micro-batches of training",
                run.ignored);
  if (sequences && tensor == 1)
    add_finding(tree, "--sequence-parallel", "no effect without tensor parallelism", run.ignored);
  DOVETAIL_TRY(const HostShare share, host_share_at(tree, "--optimizer-offload-fraction", 1));
  if (on_host && share.share == 0)
    add_finding(tree, "--optimizer-cpu-offload", "no effect with --optimizer-offload-fraction 0", run.ignored);
  if (context && is_written(tree, "--rollout-max-prompt-len"))
    add_finding(tree, "--rollout-max-context-len", "responses end when prompt and response together reach this cap",
                run.assumed);
  return {};
}

}  // namespace

base::Status add_slime_unmodeled(const syntax::SettingTree& tree, bool async, const llm::Transformer& model,
                                 ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_training, run));
  DOVETAIL_CHECK(add_unmodeled_modules(tree, "--recompute-modules", run));
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_rollout, run));
  DOVETAIL_CHECK(take_sync_bucket(tree, "--update-weight-buffer-size", 1, run));
  DOVETAIL_CHECK(add_unmodeled_given(tree, run));
  DOVETAIL_CHECK(add_slime_types(tree, run));
  DOVETAIL_CHECK(take_checkpoint(tree, run));
  add_unmodeled_layers(tree, run);
  DOVETAIL_CHECK(add_experts(tree, model, run));
  DOVETAIL_CHECK(add_placement(tree, async, run));
  return add_ignored(tree, run);
}

}  // namespace dovetail::trainers
