#include "trainers/slime/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/import/watched.h"
#include "trainers/slime/shape.h"
#include "trainers/slime/start.h"

namespace dovetail::trainers {
namespace {

constexpr std::array watched_training{
    Watched{"--balance-data", "true", "micro-batches are dealt out in turn: counted as evenly dealt"},
    Watched{"--balance-by-flops", "false", "micro-batches of like work, over the budget of tokens: counted within it"},
    Watched{"--data-pad-size-multiplier", "128", "rows are padded to another multiple: not counted"},
    Watched{"--log-probs-chunk-size", "-1", "logits in chunks: the real run needs less for them"},
    Watched{"--recompute-loss-function", "false", "the loss is computed again: the real run needs less for logits"},
    Watched{"--recompute-method", "null|uniform", "the first layers of a stage alone are recomputed: counted as all"},
    Watched{"--recompute-num-layers", "null|1", "layers recomputed together, or in part: counted as each by itself"},
    Watched{"--distribute-saved-activations", "false", "inputs are cut over the ranks: the real run holds less"},
    Watched{"--account-for-embedding-in-pipeline-split", "false", "stages are counted as even"},
    Watched{"--account-for-loss-in-pipeline-split", "false", "stages are counted as even"},
    Watched{"--pipeline-model-parallel-layout", "null", "stages are counted as even"},
    Watched{"--allgather-cp", "false", "sequences cut another way: counted as in a ring"},
    Watched{"--cp-comm-type", "null|[p2p]", "sequences cut another way: counted as in a ring"},
    Watched{"--tp-comm-overlap", "false", "the real run is faster"},
    Watched{"--use-megatron-fsdp", "false", "counted as ZeRO 1, the real run cuts more"},
    Watched{"--use-torch-fsdp2", "false", "counted as ZeRO 1, the real run cuts more"},
    Watched{"--overlap-grad-reduce", "true", "gradients are reduced behind the backward: counted as beside it"},
    Watched{"--overlap-param-gather", "true", "weights are gathered before the forward: counted as beside it"},
    Watched{"--optimizer", "adam", "counted as Adam"},
    Watched{"--overlap-cpu-optimizer-d2h-h2d", "false",
            "the optimizer's transfers beside its step: the real run is faster"},
    Watched{"--main-grads-dtype", "fp32", "gradients are counted as they are reduced, the real run holds less"},
    Watched{"--use-stateless-adam", "false", "no moments are kept: counted with them, the real run holds less"},
    Watched{"--fp16", "false", "counted as bf16"},
    Watched{"--fp8-format", "null", "training in fp8: counted as bf16, the real run is faster"},
    Watched{"--fp8-param-gather", "false", "weights in fp8: counted as bf16"},
    Watched{"--fp4-format", "null", "training in fp4: counted as bf16, the real run is faster"},
    Watched{"--transformer-impl", "transformer_engine", "counted as Transformer Engine"},
    Watched{"--attention-backend", "flash|auto|fused", "counted as flash attention, the real run holds more"},
    Watched{"--attention-dropout", "0|0.0", "masks of dropout are not counted"},
    Watched{"--hidden-dropout", "0|0.0", "masks of dropout are not counted"},
    Watched{"--deterministic-mode", "false", "kernels that repeat: the real run is slower"},
    Watched{"--no-gradient-accumulation-fusion", "false", "gradients are added in steps of their own: not counted"},
    Watched{"--no-bias-swiglu-fusion", "false", "gates in kernels of their own: the real run holds more"},
    Watched{"--no-rope-fusion", "false", "rotations in kernels of their own: not counted"},
    Watched{"--mtp-num-layers", "null", "layers that predict further tokens: not counted, the real run holds more"},
    Watched{"--enable-mtp-training", "false", "layers that predict further tokens are trained: not counted"},
    Watched{"--post-self-attn-layernorm", "false", "norms behind attention: not counted, the real run holds more"},
    Watched{"--post-mlp-layernorm", "false", "norms behind the network: not counted, the real run holds more"},
    Watched{"--window-size", "null", "attention within a window: counted as over all"},
    Watched{"--freeze-indexer", "false", "weights that are not trained: counted as trained"},
    Watched{"--moe-token-dispatcher-type", "alltoall|allgather", "experts' tokens sent another way: not counted"},
    Watched{"--moe-enable-deepep", "false", "experts' tokens sent by DeepEP: the real run sends faster"},
    Watched{"--moe-shared-expert-overlap", "false", "shared experts beside the exchange: the real run is faster"},
    Watched{"--moe-expert-capacity-factor", "null", "experts drop tokens: counted without"},
    Watched{"--moe-pad-expert-input-to-capacity", "false", "experts are padded: the real run is slower"},
    Watched{"--num-critic-only-steps", "0", "the actor is not trained in the first steps: counted as always trained"},
    Watched{"--ref-update-interval", "null", "the actor's weights become the reference's: not counted"},
    Watched{"--keep-old-actor", "false", "older weights are kept on the host and come for passes: not counted"},
    Watched{"--use-routing-replay", "false", "routes of tokens are kept for training: not counted"},
    Watched{"--use-rollout-routing-replay", "false", "routes of tokens come from the engines: not counted"},
    Watched{"--use-opd", "false", "a teacher scores the samples: not counted"},
    Watched{"--loss-type", "policy_loss", "a loss of its own: counted as the policy's"},
    Watched{"--release-train", "false", "trainers end and begin again from files: not counted, the real run is slower"},
    Watched{"--update-weight-mode", "full", "changes of weights by way of files: counted as whole weights by NCCL"},
    Watched{"--update-weight-transport", "nccl", "weights by way of files: counted as NCCL, the real run is slower"},
};

constexpr std::array watched_rollout{
    Watched{"--partial-rollout", "false", "unfinished responses go on in the next iteration: not counted"},
    Watched{"--rollout-function-path", "slime.rollout.sglang_rollout.generate_rollout",
            "a rollout of its own: counted as batches that end before they are trained on"},
    Watched{"--rollout-data-transport", "object-store", "samples sent another way: not counted"},
    Watched{"--sglang-moe-dp-size", "1", "experts in groups: counted as of all else"},
    Watched{"--sglang-moe-dense-tp-size", "null", "dense networks cut otherwise: counted as of all else"},
    Watched{"--sglang-enable-dp-lm-head", "false", "a head for each data parallel rank: counted as of all else"},
    Watched{"--sglang-cuda-graph-bs", "null", "CUDA graphs of some batches: counted as of all"},
    Watched{"--sglang-cuda-graph-max-bs", "null", "CUDA graphs of small batches: counted as of all"},
    Watched{"--sglang-disable-radix-cache", "false", "prompts of a group are computed again: the real run is slower"},
    Watched{"--sglang-disable-overlap-schedule", "false", "steps are planned in between: the real run is slower"},
    Watched{"--sglang-enable-hierarchical-cache", "false", "keys and values on the host, too: not counted"},
    Watched{"--sglang-enable-deterministic-inference", "false", "kernels that repeat: the real run is slower"},
    Watched{"--sglang-moe-a2a-backend", "none", "experts' tokens sent another way: the real run is faster"},
    Watched{"--sglang-enable-deepep-moe", "false", "experts' tokens sent by DeepEP: the real run is faster"},
    Watched{"--sglang-ep-num-redundant-experts", "0", "copies of experts: not counted, the real run holds more"},
    Watched{"--sglang-speculative-algorithm", "null", "several tokens a step: counted as one, the real run is faster"},
};

/// Flags of which any value changes what is counted.
constexpr std::array given_flags{
    Watched{"--custom-config-path", {}, "a file of settings that win: not read"},
    Watched{"--megatron-config-path", {}, "a file of settings by role: not read"},
    Watched{"--sglang-config", {}, "a file of engines: not read; counted as engines of --rollout-num-gpus-per-engine"},
    Watched{"--prefill-num-servers", {}, "engines for prompts alone: counted as engines for both"},
    Watched{"--over-sampling-batch-size", {}, "more prompts are started than trained on: not counted"},
    Watched{"--dynamic-sampling-filter-path", {}, "groups are thrown away and others generated: not counted"},
    Watched{
        "--custom-generate-function-path", {}, "turns with an environment: counted as one response without waiting"},
    Watched{"--rollout-buffer-url", {}, "samples come from a service: counted as generated on the engines"},
    Watched{"--load-forge-rollout-data", {}, "samples come from a file: counted as generated"},
    Watched{"--custom-rm-path", {}, "a reward of its own: counted as no time"},
    Watched{"--rm-url", {}, "a reward outside of the cluster: counted as no time"},
    Watched{"--multimodal-keys", {}, "vision is not counted"},
    Watched{"--only-train-params-name-list", {}, "weights that are not trained: counted as trained"},
    Watched{"--freeze-params-name-list", {}, "weights that are not trained: counted as trained"},
    Watched{"--custom-loss-function-path", {}, "a loss of its own: counted as the policy's"},
    Watched{"--custom-convert-samples-to-train-data-path", {}, "samples are changed before training: not counted"},
    Watched{"--rollout-sample-filter-path", {}, "samples are left out of training: counted as trained on"},
    Watched{"--megatron-deepgemm-forward-layers", {}, "layers in fp8: counted as bf16"},
    Watched{"--megatron-deepgemm-moe-forward-layers", {}, "experts in fp8: counted as bf16"},
};

void leave(const syntax::SettingTree& tree, const std::string& key, const std::string& what,
           std::vector<Finding>& findings) {
  findings.push_back({key, what, place_of(tree, key)});
}

bool is_written(const syntax::SettingTree& tree, std::string_view key) { return place_of(tree, key).line > 0; }

base::Status watch_given(const syntax::SettingTree& tree, ImportedRun& run) {
  for (const Watched& watched : given_flags) {
    DOVETAIL_TRY(const bool given, is_given(tree, watched.key));
    if (!given) continue;
    const syntax::Setting& setting = *find_setting(tree.root, watched.key);
    run.not_modelled.push_back(
        {std::string(watched.key), fmt::format("{}: {}", value_words(setting), watched.what), setting.place});
  }
  return {};
}

/// Engines load what their checkpoint has, whose name says it where it is in fewer bits.
base::Status take_checkpoint(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const setting = find_setting(tree.root, "--hf-checkpoint");
  if (setting != nullptr && named_bits(setting->text))
    DOVETAIL_CHECK(take_engine_weights(tree, "--hf-checkpoint", run));
  DOVETAIL_CHECK(take_engine_weights(tree, "--sglang-quantization", run));
  return take_key_values(tree, "--sglang-kv-cache-dtype", run);
}

/// Layers of slime's own that are counted as a transformer's.
void watch_layers(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const spec = find_setting(tree.root, "--spec");
  if (spec == nullptr) return;
  if (const auto what = slime_uncounted(*spec))
    leave(tree, "--spec", fmt::format("{}: {}: not counted", value_words(*spec), *what), run.not_modelled);
}

/// A type of the optimizer's; nothing where it is fp32, or another than jobs know, which is not modelled.
base::Result<std::optional<plan::StateType>> optimizer_type(const syntax::SettingTree& tree, const std::string& key,
                                                            const char* what, ImportedRun& run) {
  DOVETAIL_TRY(const std::string said, text_at(tree, key));
  const auto type = state_type(said);
  if (type == plan::StateType::fp32) return std::optional<plan::StateType>();
  if (!type)
    leave(tree, key, fmt::format("{}: {} are counted in fp32, the real run holds less", said, what), run.not_modelled);
  return type;
}

/// Types of what the optimizer keeps. On the host all of it is in fp32.
base::Status add_types(const syntax::SettingTree& tree, ImportedRun& run) {
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
    leave(tree, first ? "--exp-avg-dtype" : "--exp-avg-sq-dtype",
          "moments of two types: counted in fp32, the real run holds less", run.not_modelled);
  if (aware && !on_host) types.master_type = plan::MasterType::remainder;
  if (master == plan::StateType::fp16) types.master_type = plan::MasterType::fp16;
  if (master == plan::StateType::bf16)
    leave(tree, "--main-params-dtype", "bf16: master weights are counted in fp32, the real run holds less",
          run.not_modelled);
  return {};
}

base::Status add_experts(const syntax::SettingTree& tree, const llm::Transformer& model, ImportedRun& run) {
  DOVETAIL_TRY(const std::int64_t expert, count_at(tree, "--sglang-ep-size"));
  DOVETAIL_TRY(const std::int64_t data, count_at(tree, "--sglang-dp-size"));
  DOVETAIL_TRY(const bool grouped, flag_at(tree, "--moe-grouped-gemm"));
  if (model.experts && !grouped)
    leave(tree, "--moe-grouped-gemm", "false: experts one behind the other: the real run is slower", run.not_modelled);
  if (!model.experts && expert > 1) leave(tree, "--sglang-ep-size", "the model has no experts", run.ignored);
  if (!model.experts && data > 1)
    leave(tree, "--sglang-dp-size",
          fmt::format("{}: attention in groups: counted as cut over the whole engine, the real run holds more", data),
          run.not_modelled);
  return {};
}

base::Status add_placement(const syntax::SettingTree& tree, bool async, ImportedRun& run) {
  DOVETAIL_TRY(const bool colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const bool both, flag_at(tree, "--offload"));
  DOVETAIL_TRY(const auto trainer, optional_flag(tree, "--offload-train"));
  DOVETAIL_TRY(const auto engines, optional_flag(tree, "--offload-rollout"));
  DOVETAIL_TRY(const std::int64_t interval, whole_at(tree, "--update-weights-interval"));
  DOVETAIL_TRY(const std::int64_t node, count_at(tree, "--num-gpus-per-node"));
  DOVETAIL_TRY(const std::int64_t trainer_node, count_at(tree, "--actor-num-gpus-per-node"));
  const std::string interval_key = "--update-weights-interval";
  if (interval != 1 && async)
    leave(tree, interval_key, fmt::format("{}: weights are sent after so many steps: counted as after each", interval),
          run.not_modelled);
  if (interval != 1 && !async) leave(tree, interval_key, "train.py sends weights after each iteration", run.ignored);
  if (is_written(tree, "--num-gpus-per-node") && node < trainer_node)
    leave(tree, "--num-gpus-per-node",
          fmt::format("{}: engines are cut at nodes of so many GPUs: counted at nodes of {}", node, trainer_node),
          run.not_modelled);
  if (run.algorithm == "ppo" && trainer && !*trainer && !both)
    leave(tree, "--offload-train", "false: with a critic both are offloaded", run.ignored);
  if (colocate && engines && !*engines && !both)
    leave(tree, "--offload-rollout",
          "false: the cache of the engines stays on the GPUs: counted as if it left, the real run holds more",
          run.not_modelled);
  if (!colocate && (both || engines.value_or(false)))
    leave(tree, both ? "--offload" : "--offload-rollout",
          "true: engines on GPUs of their own sleep between generations: counted as awake", run.not_modelled);
  return {};
}

base::Status add_ignored(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const bool dynamic, flag_at(tree, "--use-dynamic-batch-size"));
  DOVETAIL_TRY(const std::int64_t tensor, whole_at(tree, "--tensor-model-parallel-size"));
  DOVETAIL_TRY(const bool sequences, flag_at(tree, "--sequence-parallel"));
  DOVETAIL_TRY(const bool on_host, flag_at(tree, "--optimizer-cpu-offload"));
  DOVETAIL_TRY(const bool context, is_given(tree, "--rollout-max-context-len"));
  if (dynamic && is_written(tree, "--micro-batch-size"))
    leave(tree, "--micro-batch-size", "with --use-dynamic-batch-size it has no effect", run.ignored);
  if (!dynamic && is_written(tree, "--max-tokens-per-gpu"))
    leave(tree, "--max-tokens-per-gpu", "without --use-dynamic-batch-size it has no effect", run.ignored);
  if (is_written(tree, "--log-probs-max-tokens-per-gpu"))
    leave(tree, "--log-probs-max-tokens-per-gpu", "passes have the micro-batches of training", run.ignored);
  if (sequences && tensor == 1)
    leave(tree, "--sequence-parallel", "without tensor parallelism it has no effect", run.ignored);
  DOVETAIL_TRY(const HostShare share, host_share_at(tree, "--optimizer-offload-fraction", 1));
  if (on_host && share.share == 0)
    leave(tree, "--optimizer-cpu-offload", "with a fraction of 0 no part of the optimizer is on the host", run.ignored);
  if (context && is_written(tree, "--rollout-max-prompt-len"))
    leave(tree, "--rollout-max-context-len", "beside the longest prompts responses end there", run.assumed);
  return {};
}

}  // namespace

base::Status add_slime_watched(const syntax::SettingTree& tree, bool async, const llm::Transformer& model,
                               ImportedRun& run) {
  DOVETAIL_CHECK(watch(tree, "", watched_training, run));
  DOVETAIL_CHECK(watch_modules(tree, "--recompute-modules", run));
  DOVETAIL_CHECK(watch(tree, "", watched_rollout, run));
  DOVETAIL_CHECK(take_sync_bucket(tree, "--update-weight-buffer-size", 1, run));
  DOVETAIL_CHECK(watch_given(tree, run));
  DOVETAIL_CHECK(add_types(tree, run));
  DOVETAIL_CHECK(take_checkpoint(tree, run));
  watch_layers(tree, run);
  DOVETAIL_CHECK(add_experts(tree, model, run));
  DOVETAIL_CHECK(add_placement(tree, async, run));
  return add_ignored(tree, run);
}

}  // namespace dovetail::trainers
