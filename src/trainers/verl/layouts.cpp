#include "trainers/verl/layouts.h"

#include <fmt/core.h>

#include <optional>

#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
base::Result<llm::Layout> fsdp_layout(const syntax::SettingTree& tree, const VerlEngineKeys& keys, int devices) {
  const std::string present = key_below(keys.fsdp, "ulysses_sequence_parallel_size");
  DOVETAIL_TRY(const int now, degree_at(tree, present));
  DOVETAIL_TRY(const int before, degree_at(tree, std::string(keys.old_ulysses)));
  const std::string_view key = before > 1 ? keys.old_ulysses : present;
  llm::Layout layout{.context = before > 1 ? before : now, .zero = 3, .stage_layers = {}};
  if (devices % layout.context != 0)
    return setting_error(tree, key, fmt::format("is {}; accepted: a divisor of the {} GPUs", layout.context, devices));
  DOVETAIL_TRY(const bool unpadded, flag_at(tree, keys.unpadded));
  if (layout.context > 1 && !unpadded)
    return setting_error(tree, key,
                         fmt::format("is {0} without {1}, so verl rejects the configuration; accepted: 1, or {1} true",
                                     layout.context, keys.unpadded));
  layout.data = devices / layout.context;
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, keys.recomputes));
  if (recomputes) layout.recomputation = llm::Recomputation::full;
  return layout;
}

base::Result<llm::Layout> megatron_layout(const syntax::SettingTree& tree, std::string_view keys,
                                          std::string_view degrees, int devices, const llm::Transformer& model) {
  const std::string handed_on = key_below(keys, "override_transformer_config");
  DOVETAIL_TRY(llm::Layout layout, megatron_degrees(tree, degrees, handed_on, devices, model));
  DOVETAIL_TRY(const bool sequences, flag_at(tree, key_below(keys, "sequence_parallel")));
  DOVETAIL_TRY(const int own_tensor, degree_at(tree, key_below(keys, "tensor_model_parallel_size")));
  // verl disables it based on the role's own degree (workers/config/engine.py).
  layout.sequence_parallel = sequences && own_tensor > 1 && layout.tensor > 1;
  DOVETAIL_TRY(const bool shards, flag_at(tree, key_below(keys, "use_distributed_optimizer")));
  layout.zero = shards ? 1 : 0;
  DOVETAIL_TRY(layout.recomputation,
               recomputation_at(tree, {.granularity = key_below(handed_on, "recompute_granularity"),
                                       .modules = key_below(handed_on, "recompute_modules")}));
  return layout;
}

base::Result<plan::MicroBatching> verl_micro_batching(const syntax::SettingTree& tree, const VerlBatchKeys& keys,
                                                      const llm::Layout& layout) {
  DOVETAIL_TRY(const bool dynamic, flag_at(tree, keys.dynamic));
  if (dynamic) {
    DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, keys.tokens));
    return tokens_at_most(static_cast<double>(tokens) * layout.context);
  }
  DOVETAIL_TRY(const auto per_gpu, optional_integer(tree, keys.per_gpu));
  DOVETAIL_TRY(const auto all, optional_integer(tree, keys.all));
  if (!per_gpu && !all)
    return setting_error(
        tree, keys.per_gpu,
        fmt::format("is missing, which verl rejects; accepted: a number of sequences, or {} true", keys.dynamic));
  // The critic's size per rank defaults to its size for all ranks. So if both have values, the size per rank takes
  // precedence only if a source sets it.
  const bool is_own = per_gpu && (!all || place_of(tree, keys.per_gpu).line > 0);
  const std::int64_t sequences = is_own ? *per_gpu : *all / layout.data;
  if (sequences < 1)
    return setting_error(tree, is_own ? keys.per_gpu : keys.all,
                         "is too small; accepted: at least 1 sequence per rank");
  return sequences_at_most(static_cast<double>(sequences));
}

base::Result<HostShare> verl_host_share(const syntax::SettingTree& tree, std::string_view optimizer) {
  const std::string keys = key_below(optimizer, "override_optimizer_config");
  DOVETAIL_TRY(HostShare share, host_share_at(tree, key_below(keys, "optimizer_offload_fraction"), 0));
  DOVETAIL_TRY(const auto steps, optional_flag(tree, key_below(keys, "optimizer_cpu_offload")));
  share.steps = steps.value_or(false);
  return share;
}

}  // namespace dovetail::trainers
