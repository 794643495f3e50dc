#include "trainers/slime/layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "trainers/import/layouts.h"
#include "trainers/import/options.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Requested numbers of GPUs.
struct Requested {
  std::int64_t nodes = 0;  ///< nodes of the trainer
  std::int64_t per_node = 0;
  std::int64_t engines = 0;
  bool colocate = false;

  std::int64_t trainer() const { return nodes * per_node; }
  std::int64_t all() const { return colocate ? std::max(trainer(), engines) : trainer() + engines; }
};

base::Result<Requested> read_requested(const syntax::SettingTree& tree) {
  Requested requested;
  constexpr std::string_view engines_key = "--rollout-num-gpus";
  DOVETAIL_TRY(requested.nodes, count_at(tree, "--actor-num-nodes"));
  DOVETAIL_TRY(requested.per_node, count_at(tree, "--actor-num-gpus-per-node"));
  DOVETAIL_TRY(requested.colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const auto engines, optional_integer(tree, engines_key));
  if (requested.nodes > max_devices || requested.per_node > max_devices || requested.trainer() > max_devices)
    return setting_error(
        tree, "--actor-num-nodes",
        fmt::format("times `--actor-num-gpus-per-node` is too large; accepted: at most {} GPUs in total", max_devices));
  if (!engines && !requested.colocate)
    return setting_error(
        tree, engines_key,
        "is missing without --colocate, so slime rejects the configuration; accepted: a number of GPUs, or --colocate");
  requested.engines = engines.value_or(requested.trainer());
  if (requested.engines > max_devices || requested.all() > max_devices)
    return setting_error(tree, engines_key,
                         fmt::format("is too large; accepted: at most {} GPUs in total", max_devices));
  return requested;
}

/// Returns the number of GPUs per node.
base::Result<std::int64_t> node_size(const syntax::SettingTree& tree, const Requested& requested) {
  DOVETAIL_TRY(const std::int64_t given, count_at(tree, "--num-gpus-per-node"));
  if (given > max_devices)
    return setting_error(tree, "--num-gpus-per-node", fmt::format("is {}; accepted: at most {}", given, max_devices));
  if (place_of(tree, "--num-gpus-per-node").line > 0) return std::max(given, requested.per_node);
  return requested.nodes > 1 ? requested.per_node
                             : std::max(requested.per_node, std::min(requested.all(), default_gpus_per_node));
}

/// Assumed default of SGLang's memory fraction. SGLang derives it from the size of its buffers.
constexpr double usual_memory_fraction = 0.85;

const MegatronKeys& megatron_keys() {
  static const MegatronKeys keys{.tensor = "--tensor-model-parallel-size",
                                 .pipeline = "--pipeline-model-parallel-size",
                                 .context = "--context-parallel-size",
                                 .virtual_stages = "--num-virtual-stages-per-pipeline-rank",
                                 .expert = "--expert-model-parallel-size",
                                 .expert_tensor = "--expert-tensor-parallel-size",
                                 .sequence_parallel = "--sequence-parallel",
                                 .first_stage = "--decoder-first-pipeline-num-layers",
                                 .last_stage = "--decoder-last-pipeline-num-layers"};
  return keys;
}

/// Reads the virtual stages from the number of layers per chunk, if that is given.
base::Status read_virtual_stages(const syntax::SettingTree& tree, std::int64_t layers, llm::Layout& layout) {
  constexpr std::string_view key = "--num-layers-per-virtual-pipeline-stage";
  DOVETAIL_TRY(const auto chunk_layers, optional_integer(tree, key));
  if (!chunk_layers) return {};
  const std::int64_t of_stage = layers / layout.pipeline;
  if (place_of(tree, megatron_keys().virtual_stages).line > 0 || !layout.stage_layers.empty())
    return setting_error(
        tree, key,
        "is set with --num-virtual-stages-per-pipeline-rank or --decoder-*-pipeline-num-layers, so Megatron-LM rejects "
        "the configuration; accepted: unset, or without these flags");
  if (*chunk_layers < 1 || layers % layout.pipeline != 0 || of_stage % *chunk_layers != 0)
    return setting_error(tree, key,
                         fmt::format("is {}; accepted: a number whose product with the {} stages divides the {} layers",
                                     *chunk_layers, layout.pipeline, layers));
  layout.virtual_stages = static_cast<int>(of_stage / *chunk_layers);
  return {};
}

base::Status check_stages(const syntax::SettingTree& tree, const llm::Layout& layout) {
  if (layout.pipeline > 1) return {};
  for (const std::string& key : {megatron_keys().first_stage, megatron_keys().last_stage}) {
    DOVETAIL_TRY(const auto given, optional_integer(tree, key));
    if (given)
      return setting_error(
          tree, key, "is set without a pipeline, so slime rejects the configuration; accepted: unset, or a pipeline");
  }
  if (layout.virtual_stages > 1)
    return setting_error(
        tree, megatron_keys().virtual_stages,
        "is set without a pipeline, so Megatron-LM rejects the configuration; accepted: unset, or a pipeline");
  return {};
}

base::Status check_experts(const syntax::SettingTree& tree, const llm::Layout& layout, const llm::Transformer& model) {
  const std::string& key = megatron_keys().expert;
  if (!model.experts) {
    DOVETAIL_TRY(const int expert, degree_at(tree, key));
    if (expert > 1)
      return setting_error(tree, key, fmt::format("is {}, but the model has no experts; accepted: 1", expert));
    return {};
  }
  if (layout.tensor > 1 && !layout.sequence_parallel)
    return setting_error(
        tree, megatron_keys().tensor,
        fmt::format("is {} with experts but without --sequence-parallel, so Megatron-LM rejects the configuration; "
                    "accepted: --sequence-parallel, or 1",
                    layout.tensor));
  return {};
}

base::Result<llm::Recomputation> read_recomputation(const syntax::SettingTree& tree) {
  constexpr const char* method_key = "--recompute-method";
  constexpr const char* layers_key = "--recompute-num-layers";
  DOVETAIL_TRY(llm::Recomputation recomputation, recomputation_at(tree, {.granularity = "--recompute-granularity",
                                                                         .modules = "--recompute-modules",
                                                                         .experts = "--moe-layer-recompute"}));
  DOVETAIL_TRY(const bool attention, flag_at(tree, "--recompute-activations"));
  DOVETAIL_TRY(const auto method, optional_text(tree, method_key));
  DOVETAIL_TRY(const auto layers, optional_integer(tree, layers_key));
  if (attention && recomputation != llm::Recomputation::experts) recomputation = llm::Recomputation::selective;
  const bool in_parts = recomputation == llm::Recomputation::selective || recomputation == llm::Recomputation::experts;
  if (in_parts && (method || layers))
    return setting_error(tree, method ? method_key : layers_key,
                         "is set with selective recomputation, so Megatron-LM rejects the configuration; accepted: "
                         "unset, or full recomputation");
  if (recomputation == llm::Recomputation::full && (!method || !layers))
    return setting_error(tree, "--recompute-granularity",
                         "is full, but --recompute-method or --recompute-num-layers is missing, so Megatron-LM rejects "
                         "the configuration; accepted: all three flags");
  return recomputation;
}

/// Fails unless `size` divides `total`, which `of_what` describes.
base::Status check_engine(const syntax::SettingTree& tree, std::string_view key, std::int64_t size, std::int64_t total,
                          std::string_view of_what) {
  if (size >= 1 && total % size == 0) return {};
  return setting_error(tree, key, fmt::format("is {}; accepted: a divisor of {} ({})", size, of_what, total));
}

base::Status read_engine_limits(const syntax::SettingTree& tree, std::int64_t ranks, plan::Engine& engine) {
  DOVETAIL_TRY(const auto fraction, optional_number(tree, "--sglang-mem-fraction-static"));
  DOVETAIL_TRY(const std::int64_t concurrency, count_at(tree, "--sglang-server-concurrency"));
  DOVETAIL_TRY(const auto running, optional_integer(tree, "--sglang-max-running-requests"));
  DOVETAIL_TRY(const auto chunk, optional_integer(tree, "--sglang-chunked-prefill-size"));
  DOVETAIL_TRY(const bool eager, flag_at(tree, "--sglang-disable-cuda-graph"));
  const std::int64_t requests = running && *running >= 1 ? std::min(*running, concurrency) : concurrency;
  engine.memory_utilization = fraction.value_or(usual_memory_fraction);
  engine.max_num_seqs = std::clamp<std::int64_t>(requests / ranks, 1, plan::max_count);
  engine.chunked_prefill = !chunk || *chunk > 0;
  if (chunk && *chunk > 0) engine.max_num_batched_tokens = std::min(*chunk, plan::max_count);
  engine.max_num_batched_tokens = std::max(engine.max_num_batched_tokens, engine.max_num_seqs);
  engine.cuda_graphs = !eager;
  return {};
}

}  // namespace

base::Result<SlimePools> slime_pools(const syntax::SettingTree& tree, const ImportOptions& options, ImportedRun& run) {
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  DOVETAIL_TRY(const Requested requested, read_requested(tree));
  DOVETAIL_TRY(std::int64_t node, node_size(tree, requested));
  if (chosen) node = chosen->gpus_per_node;
  SlimePools pools{.trainer = {.first = 0, .count = static_cast<int>(requested.trainer())},
                   .engines = {.first = 0, .count = static_cast<int>(requested.engines)}};
  std::int64_t all = requested.all();
  if (!requested.colocate) {
    std::int64_t first = requested.trainer();
    if (requested.engines > node - first % node && first % node != 0) {
      first += node - first % node;
      run.assumed.push_back(
          {"--rollout-num-gpus",
           fmt::format("{}: engines begin on a new node, because they need more GPUs than are left on the "
                       "trainer's last node",
                       requested.engines),
           place_of(tree, "--rollout-num-gpus")});
    }
    pools.engines.first = static_cast<int>(first);
    all = first + requested.engines;
  }
  const std::int64_t nodes = (all + node - 1) / node;
  if (!chosen) {
    DOVETAIL_CHECK(choose_gpu(options, nodes, node, run));
    return pools;
  }
  if (chosen->nodes < nodes)
    return base::bad_input(fmt::format(
        "--cluster has {} nodes of {} GPUs, but trainer and engines need {} nodes{}; accepted: at least {} nodes",
        chosen->nodes, node, nodes,
        all > requested.all() ? ", because engines that do not fit on the trainer's last node begin on a new one" : "",
        nodes));
  run.cluster = *std::move(chosen);
  return pools;
}

base::Result<llm::Layout> slime_layout(const syntax::SettingTree& tree, int devices, const llm::Transformer& model) {
  DOVETAIL_TRY(llm::Layout layout, megatron_degrees(tree, megatron_keys(), devices, model));
  DOVETAIL_CHECK(read_virtual_stages(tree, model.layers, layout));
  DOVETAIL_CHECK(check_stages(tree, layout));
  DOVETAIL_CHECK(check_experts(tree, layout, model));
  DOVETAIL_TRY(layout.recomputation, read_recomputation(tree));
  // slime enables Megatron-LM's distributed optimizer.
  layout.zero = 1;
  return layout;
}

base::Result<plan::MicroBatching> slime_micro_batching(const syntax::SettingTree& tree, const llm::Layout& layout,
                                                       std::int64_t samples) {
  DOVETAIL_TRY(const bool dynamic, flag_at(tree, "--use-dynamic-batch-size"));
  if (samples < layout.data)
    return setting_error(
        tree, "--global-batch-size",
        fmt::format("makes optimizer steps of {} samples, which slime rejects; accepted: at least {}, one for each "
                    "data-parallel rank",
                    samples, layout.data));
  if (dynamic) {
    DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, "--max-tokens-per-gpu"));
    return tokens_at_most(static_cast<double>(tokens) * layout.context);
  }
  constexpr std::string_view key = "--micro-batch-size";
  DOVETAIL_TRY(const std::int64_t sequences, count_at(tree, key));
  const std::int64_t batches = (samples + sequences - 1) / sequences;
  const std::int64_t group = std::int64_t{layout.data} * (layout.virtual_stages > 1 ? layout.pipeline : 1);
  if (batches % group != 0)
    return setting_error(
        tree, key,
        fmt::format(
            "makes {} micro-batches from {} samples, so slime rejects the configuration; accepted: a size that makes a "
            "multiple of {} micro-batches",
            batches, samples, group));
  return sequences_at_most(static_cast<double>(sequences));
}

base::Result<SlimeEngines> slime_engines(const syntax::SettingTree& tree, int devices, const llm::Transformer& model) {
  constexpr std::string_view size_key = "--rollout-num-gpus-per-engine";
  DOVETAIL_TRY(const std::int64_t size, count_at(tree, size_key));
  DOVETAIL_TRY(const std::int64_t stages, count_at(tree, "--sglang-pp-size"));
  DOVETAIL_TRY(const std::int64_t data, count_at(tree, "--sglang-dp-size"));
  DOVETAIL_TRY(const std::int64_t expert, count_at(tree, "--sglang-ep-size"));
  DOVETAIL_TRY(const bool attention, flag_at(tree, "--sglang-enable-dp-attention"));
  DOVETAIL_CHECK(check_engine(tree, size_key, size, devices, "the number of GPUs for generation"));
  DOVETAIL_CHECK(check_engine(tree, "--sglang-pp-size", stages, size, size_key));
  const std::int64_t tensor = size / stages;
  if (data > 1 && !attention)
    return setting_error(tree, "--sglang-dp-size",
                         fmt::format("is {} without --sglang-enable-dp-attention, so slime rejects the configuration; "
                                     "accepted: 1, or --sglang-enable-dp-attention",
                                     data));
  DOVETAIL_CHECK(check_engine(tree, "--sglang-dp-size", data, tensor, "the number of GPUs per stage of an engine"));
  SlimeEngines engines{.layout = {.stage_layers = {}}, .engine = {}};
  llm::Layout& layout = engines.layout;
  layout.pipeline = static_cast<int>(stages);
  layout.tensor = static_cast<int>(model.experts ? tensor / data : tensor);
  layout.data = devices / (layout.tensor * layout.pipeline);
  if (model.experts) {
    DOVETAIL_CHECK(check_engine(tree, "--sglang-ep-size", expert, tensor, "the number of GPUs per stage of an engine"));
    layout.expert = static_cast<int>(expert);
    // A single expert group with the engine's tensor degree is the default of engine plans.
    layout.expert_tensor = expert > 1 || tensor != layout.tensor ? static_cast<int>(tensor / expert) : 1;
  }
  DOVETAIL_CHECK(read_engine_limits(tree, model.experts ? data : 1, engines.engine));
  return engines;
}

}  // namespace dovetail::trainers
