#include "trainers/verl/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

std::string key_below(std::string_view keys, std::string_view name) { return fmt::format("{}.{}", keys, name); }

/// A parallel degree: 1 where nothing is said.
base::Result<int> degree_at(const SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const std::optional<std::int64_t> said, optional_whole(tree, key));
  if (!said) return 1;
  if (*said >= 1 && *said <= llm::degree_limits.max) return static_cast<int>(*said);
  return setting_error(tree, key, fmt::format("is {}; accepted: 1 to {}", *said, llm::degree_limits.max));
}

/// Layers of each stage where the first or the last one has a number of its own; else none.
base::Result<std::vector<int>> stage_layers(const SettingTree& tree, std::string_view keys, int stages,
                                            std::int64_t layers) {
  const std::string first_key = key_below(keys, "override_transformer_config.num_layers_in_first_pipeline_stage");
  const std::string last_key = key_below(keys, "override_transformer_config.num_layers_in_last_pipeline_stage");
  DOVETAIL_TRY(const auto first, optional_whole(tree, first_key));
  DOVETAIL_TRY(const auto last, optional_whole(tree, last_key));
  if (stages == 1 || (!first && !last)) return std::vector<int>();
  const int others = stages - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t left = layers - first.value_or(0) - last.value_or(0);
  if (left < 0 || (others == 0 ? left != 0 : left % others != 0))
    return setting_error(tree, first ? first_key : last_key,
                         fmt::format("leaves {} of {} layers to {} stages; accepted: the same number for each of these",
                                     left, layers, others));
  std::vector<int> all(static_cast<std::size_t>(stages), others > 0 ? static_cast<int>(left / others) : 0);
  if (first) all.front() = static_cast<int>(*first);
  if (last) all.back() = static_cast<int>(*last);
  return all;
}

base::Result<llm::Recomputation> recomputation(const SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const std::optional<std::string> said, optional_text(tree, key));
  if (!said || said->empty()) return llm::Recomputation::none;
  if (*said == "full") return llm::Recomputation::full;
  if (*said == "selective") return llm::Recomputation::selective;
  return setting_error(tree, key, fmt::format("is {}; accepted: full, selective, null", *said));
}

}  // namespace

base::Result<llm::Layout> fsdp_layout(const SettingTree& tree, const VerlEngineKeys& keys, int devices) {
  const std::string present = key_below(keys.fsdp, "ulysses_sequence_parallel_size");
  DOVETAIL_TRY(const int now, degree_at(tree, present));
  DOVETAIL_TRY(const int before, degree_at(tree, std::string(keys.old_ulysses)));
  const std::string_view key = before > 1 ? keys.old_ulysses : present;
  llm::Layout layout{.context = before > 1 ? before : now, .zero = 3, .stage_layers = {}};
  if (devices % layout.context != 0)
    return setting_error(tree, key, fmt::format("is {}; accepted: a divisor of the {} GPUs", layout.context, devices));
  DOVETAIL_TRY(const bool unpadded, flag_at(tree, keys.unpadded));
  if (layout.context > 1 && !unpadded)
    return setting_error(
        tree, key,
        fmt::format("is {}, and verl stops without {}; accepted: 1, or both", layout.context, keys.unpadded));
  layout.data = devices / layout.context;
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, keys.recomputes));
  if (recomputes) layout.recomputation = llm::Recomputation::full;
  return layout;
}

base::Result<llm::Layout> megatron_layout(const SettingTree& tree, std::string_view keys, int devices,
                                          const llm::Transformer& model) {
  llm::Layout layout{.stage_layers = {}};
  DOVETAIL_TRY(layout.tensor, degree_at(tree, key_below(keys, "tensor_model_parallel_size")));
  DOVETAIL_TRY(layout.pipeline, degree_at(tree, key_below(keys, "pipeline_model_parallel_size")));
  DOVETAIL_TRY(layout.context, degree_at(tree, key_below(keys, "context_parallel_size")));
  DOVETAIL_TRY(layout.virtual_stages, degree_at(tree, key_below(keys, "virtual_pipeline_model_parallel_size")));
  const std::int64_t copy = std::int64_t{layout.tensor} * layout.pipeline * layout.context;
  if (copy > devices || devices % copy != 0)
    return setting_error(
        tree, key_below(keys, "tensor_model_parallel_size"),
        fmt::format("{} x pipeline {} x context {} does not divide the {} GPUs; accepted: degrees that do",
                    layout.tensor, layout.pipeline, layout.context, devices));
  layout.data = static_cast<int>(devices / copy);
  if (model.experts) {
    DOVETAIL_TRY(layout.expert, degree_at(tree, key_below(keys, "expert_model_parallel_size")));
    const std::string key = key_below(keys, "expert_tensor_parallel_size");
    DOVETAIL_TRY(const auto said, optional_whole(tree, key));
    DOVETAIL_TRY(layout.expert_tensor, degree_at(tree, key));
    // Megatron cuts experts as it cuts all else where nobody says otherwise.
    if (!said) layout.expert_tensor = layout.tensor;
  }
  DOVETAIL_TRY(const bool sequences, flag_at(tree, key_below(keys, "sequence_parallel")));
  layout.sequence_parallel = sequences && layout.tensor > 1;
  DOVETAIL_TRY(const bool shards, flag_at(tree, key_below(keys, "use_distributed_optimizer")));
  layout.zero = shards ? 1 : 0;
  DOVETAIL_TRY(layout.recomputation,
               recomputation(tree, key_below(keys, "override_transformer_config.recompute_granularity")));
  DOVETAIL_TRY(layout.stage_layers, stage_layers(tree, keys, layout.pipeline, model.layers));
  return layout;
}

base::Result<plan::MicroBatching> verl_micro_batching(const SettingTree& tree, const VerlBatchKeys& keys,
                                                      const llm::Layout& layout) {
  DOVETAIL_TRY(const bool dynamic, flag_at(tree, keys.dynamic));
  const auto limited = [](double count) { return std::min(count, static_cast<double>(plan::max_count)); };
  if (dynamic) {
    DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, keys.tokens));
    return plan::MicroBatching{.tokens = limited(static_cast<double>(tokens) * layout.context)};
  }
  DOVETAIL_TRY(const auto per_gpu, optional_whole(tree, keys.per_gpu));
  DOVETAIL_TRY(const auto all, optional_whole(tree, keys.all));
  if (!per_gpu && !all)
    return setting_error(tree, keys.per_gpu,
                         fmt::format("is not given, and verl stops without; accepted: it, or {}", keys.dynamic));
  const std::int64_t sequences = per_gpu ? *per_gpu : *all / layout.data;
  if (sequences < 1)
    return setting_error(tree, per_gpu ? keys.per_gpu : keys.all, "is too small; accepted: at least 1 for each rank");
  return plan::MicroBatching{.sequences = limited(static_cast<double>(sequences))};
}

}  // namespace dovetail::trainers
