#include "trainers/areal/layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// SGLang's default limit of concurrent sequences.
constexpr std::int64_t sglang_max_requests = 4096;

base::Status lay_out_megatron(const syntax::SettingTree& tree, const ArealEngine& engine, bool recomputes,
                              llm::Layout& layout) {
  const std::string keys = engine.role + ".megatron";
  DOVETAIL_TRY(const bool shards, flag_at(tree, keys + ".ddp.use_distributed_optimizer"));
  DOVETAIL_TRY(const bool adapters, flag_at(tree, engine.role + ".use_lora"));
  layout.zero = shards && !adapters ? 1 : 0;
  const std::string virtual_key = keys + ".virtual_pipeline_parallel_size";
  DOVETAIL_TRY(layout.virtual_stages, degree_at(tree, virtual_key));
  if (layout.virtual_stages > 1 && layout.pipeline == 1)
    return setting_error(tree, virtual_key,
                         fmt::format("is {} without a pipeline, so AReaL rejects the configuration; accepted: 1",
                                     layout.virtual_stages));
  if (!recomputes) return {};
  DOVETAIL_TRY(layout.recomputation, recomputation_at(tree, {.granularity = keys + ".recompute_granularity",
                                                             .modules = keys + ".recompute_modules"}));
  return {};
}

/// Returns the number of layer chunks per stage of an Archon pipeline, which depends on the schedule.
base::Result<int> archon_virtual_stages(const syntax::SettingTree& tree, const ArealEngine& engine,
                                        const llm::Transformer& model) {
  const int stages = engine.allocation.pipeline;
  if (stages == 1) return 1;
  const std::string keys = engine.role + ".archon";
  const std::string schedule_key = keys + ".pp_schedule";
  DOVETAIL_TRY(const std::string schedule, text_at(tree, schedule_key));
  const bool interleaves =
      schedule == "Interleaved1F1B" || schedule == "InterleavedZeroBubble" || schedule == "ZBVZeroBubble";
  if (!interleaves && schedule != "1F1B")
    return setting_error(tree, schedule_key,
                         fmt::format("is {}; accepted: 1F1B, Interleaved1F1B, InterleavedZeroBubble, ZBVZeroBubble",
                                     base::quote(schedule)));
  DOVETAIL_TRY(const auto layers, optional_integer(tree, keys + ".pp_layers_per_stage"));
  if (!layers || *layers < 1) return interleaves && model.layers >= 2 * std::int64_t{stages} ? 2 : 1;
  // The embedding and the head count as layers, so their stages have fewer transformer layers.
  DOVETAIL_TRY(const std::int64_t first, integer_at(tree, keys + ".pp_first_stage_less_layers"));
  DOVETAIL_TRY(const std::int64_t last, integer_at(tree, keys + ".pp_last_stage_less_layers"));
  const std::int64_t chunks = (model.layers + std::max<std::int64_t>(first + last, 0) + *layers - 1) / *layers;
  const bool folds = schedule == "ZBVZeroBubble";
  if (chunks > model.layers || chunks % stages != 0 || (chunks == stages) == interleaves ||
      (folds && chunks != 2 * std::int64_t{stages}))
    return setting_error(tree, keys + ".pp_layers_per_stage",
                         fmt::format("splits {} layers into {} chunks, which {} cannot place on {} pipeline ranks; "
                                     "accepted: {}",
                                     model.layers, chunks, schedule, stages,
                                     folds         ? "two chunks per rank"
                                     : interleaves ? "the same number of chunks per rank, at least two"
                                                   : "one chunk per rank"));
  return static_cast<int>(chunks / stages);
}

base::Status lay_out_archon(const syntax::SettingTree& tree, const ArealEngine& engine, const llm::Transformer& model,
                            bool recomputes, llm::Layout& layout) {
  layout.zero = 3;
  DOVETAIL_TRY(layout.virtual_stages, archon_virtual_stages(tree, engine, model));
  if (!recomputes) return {};
  const std::string mode_key = engine.role + ".archon.ac_mode";
  DOVETAIL_TRY(const std::string mode, text_at(tree, mode_key));
  if (mode != "none" && mode != "full" && mode != "selective" && mode != "memory_budget")
    return setting_error(tree, mode_key,
                         fmt::format("is {}; accepted: none, full, selective, memory_budget", base::quote(mode)));
  DOVETAIL_TRY(const bool compiles, flag_at(tree, engine.role + ".archon.enable_compile"));
  if (mode == "memory_budget" && !compiles)
    return setting_error(tree, mode_key,
                         "is memory_budget without enable_compile, so AReaL rejects the configuration; accepted: "
                         "`enable_compile: true`, or another `ac_mode`");
  layout.recomputation = mode == "none"   ? llm::Recomputation::none
                         : mode == "full" ? llm::Recomputation::full
                                          : llm::Recomputation::selective;
  return {};
}

base::Status read_sglang(const syntax::SettingTree& tree, const llm::Transformer& model, ArealRollout& all) {
  const std::string keys = "sglang";
  DOVETAIL_TRY(const auto fraction, optional_number(tree, keys + ".mem_fraction_static"));
  all.engine.memory_utilization = fraction.value_or(all.engine.memory_utilization);
  DOVETAIL_TRY(all.engine.max_num_seqs, count_or(tree, keys + ".max_running_requests", sglang_max_requests));
  DOVETAIL_TRY(const bool eager, flag_at(tree, keys + ".disable_cuda_graph"));
  all.engine.cuda_graphs = !eager;
  DOVETAIL_TRY(const auto chunk, optional_integer(tree, keys + ".chunked_prefill_size"));
  all.engine.chunked_prefill = chunk.value_or(1) > 0;
  if (chunk && *chunk > 0) {
    all.engine.max_num_batched_tokens = *chunk;
  } else if (chunk) {
    DOVETAIL_TRY(all.engine.max_num_batched_tokens, count_at(tree, keys + ".max_prefill_tokens"));
  }
  if (model.experts) {
    DOVETAIL_TRY(all.layout.expert, degree_at(tree, keys + ".ep_size"));
  }
  return {};
}

base::Status read_vllm(const syntax::SettingTree& tree, ArealRollout& all) {
  const std::string keys = "vllm";
  DOVETAIL_TRY(all.engine.memory_utilization, decimal_at(tree, keys + ".gpu_memory_utilization"));
  DOVETAIL_TRY(all.engine.max_num_seqs, count_at(tree, keys + ".max_num_seqs"));
  DOVETAIL_TRY(const bool eager, flag_at(tree, keys + ".enforce_eager"));
  all.engine.cuda_graphs = !eager;
  DOVETAIL_TRY(const bool unchunked, flag_at(tree, keys + ".no_enable_chunked_prefill"));
  all.engine.chunked_prefill = !unchunked;
  return {};
}

}  // namespace

base::Result<llm::Layout> areal_layout(const syntax::SettingTree& tree, const ArealEngine& engine,
                                       const llm::Transformer& model) {
  const ArealAllocation& allocation = engine.allocation;
  llm::Layout layout{.data = allocation.data,
                     .context = allocation.context,
                     .tensor = allocation.tensor,
                     .pipeline = allocation.pipeline,
                     .expert = model.experts ? allocation.expert : 1,
                     .expert_tensor = model.experts ? allocation.expert_tensor : 1,
                     .sequence_parallel = allocation.tensor > 1,
                     .stage_layers = {}};
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, engine.role + ".gradient_checkpointing"));
  if (allocation.backend == "megatron") {
    DOVETAIL_CHECK(lay_out_megatron(tree, engine, recomputes, layout));
  } else if (allocation.backend == "archon") {
    DOVETAIL_CHECK(lay_out_archon(tree, engine, model, recomputes, layout));
  } else {
    layout.zero = 3;
    if (recomputes) layout.recomputation = llm::Recomputation::full;
  }
  if (const auto fault = llm::find_fault(layout, model))
    return setting_error(tree, engine.key, "gives an invalid layout: " + *fault);
  return layout;
}

base::Result<plan::MicroBatching> areal_micro_batching(const syntax::SettingTree& tree, const ArealEngine& engine) {
  const std::string keys = engine.role + ".mb_spec";
  DOVETAIL_TRY(const auto tokens, optional_integer(tree, keys + ".max_tokens_per_mb"));
  if (tokens) {
    DOVETAIL_TRY(const std::int64_t count, count_at(tree, keys + ".max_tokens_per_mb"));
    return tokens_at_most(static_cast<double>(count));
  }
  DOVETAIL_TRY(const std::int64_t min_count, count_or(tree, keys + ".n_mbs", 1));
  // Megatron pipelines have at least two micro-batches per stage.
  const std::int64_t filled =
      engine.allocation.backend == "megatron" && engine.allocation.pipeline > 1 ? 2 * engine.allocation.pipeline : 1;
  plan::MicroBatching batching;
  batching.count = static_cast<int>(std::min(std::max(min_count, filled), plan::max_count));
  return batching;
}

base::Result<bool> areal_optimizer_on_host(const syntax::SettingTree& tree, const ArealEngine& engine) {
  const std::string& backend = engine.allocation.backend;
  if (backend == "megatron") return false;
  DOVETAIL_TRY(const bool all, flag_at(tree, fmt::format("{}.{}.offload_params", engine.role, backend)));
  if (backend == "archon") return all;
  DOVETAIL_TRY(const bool by_layer, flag_at(tree, engine.role + ".fsdp.per_layer_optim_step"));
  return all || by_layer;
}

base::Result<ArealRollout> areal_rollout(const syntax::SettingTree& tree, const ArealEngine& rollout,
                                         const llm::Transformer& model, std::int64_t sequences) {
  const ArealAllocation& allocation = rollout.allocation;
  ArealRollout all{.layout = {.data = allocation.data,
                              .tensor = allocation.tensor,
                              .pipeline = allocation.pipeline,
                              .stage_layers = {}},
                   .engine = {}};
  if (allocation.backend == "sglang") {
    DOVETAIL_CHECK(read_sglang(tree, model, all));
  } else {
    DOVETAIL_CHECK(read_vllm(tree, all));
  }
  const std::int64_t share = std::max<std::int64_t>((sequences + allocation.data - 1) / allocation.data, 1);
  all.engine.max_num_seqs = std::min({all.engine.max_num_seqs, share, plan::max_count});
  all.engine.max_num_batched_tokens =
      std::clamp(all.engine.max_num_batched_tokens, all.engine.max_num_seqs, plan::max_count);
  if (const auto fault = llm::find_fault(all.layout, model))
    return setting_error(tree, rollout.key, "gives an invalid layout: " + *fault);
  return all;
}

}  // namespace dovetail::trainers
