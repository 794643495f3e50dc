#include "trainers/import/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Returns the layers of each stage if the first or last stage has a separate number; otherwise an empty list.
base::Result<std::vector<int>> stage_layers(const syntax::SettingTree& tree, const MegatronKeys& keys, int stages,
                                            std::int64_t layers) {
  DOVETAIL_TRY(const auto first, optional_integer(tree, keys.first_stage));
  DOVETAIL_TRY(const auto last, optional_integer(tree, keys.last_stage));
  if (stages == 1 || (!first && !last)) return std::vector<int>();
  const int others = stages - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t left = layers - first.value_or(0) - last.value_or(0);
  if (left < 0 || (others == 0 ? left != 0 : left % others != 0))
    return setting_error(
        tree, first ? keys.first_stage : keys.last_stage,
        fmt::format("leaves {} of {} layers to {} other stages; accepted: 0, or the same positive number for each",
                    left, layers, others));
  std::vector<int> all(static_cast<std::size_t>(stages), others > 0 ? static_cast<int>(left / others) : 0);
  if (first) all.front() = static_cast<int>(*first);
  if (last) all.back() = static_cast<int>(*last);
  return all;
}

plan::MicroBatching limited_batching(double plan::MicroBatching::* member, double count) {
  plan::MicroBatching batching;
  batching.*member = std::min(count, static_cast<double>(plan::max_count));
  return batching;
}

/// Returns the names in a list or in comma-separated text.
base::Result<std::vector<std::string>> names_at(const syntax::SettingTree& tree, const std::string& key) {
  std::vector<std::string> names;
  const syntax::Setting* const setting = key.empty() ? nullptr : find_setting(tree.root, key);
  if (setting == nullptr || setting->kind == syntax::Setting::Kind::null) return names;
  DOVETAIL_CHECK(check_known(tree, key, *setting));
  names.emplace_back();
  for (const char each : value_text(*setting)) {
    if (each == ',' || each == ' ')
      names.emplace_back();
    else if (each != '[' && each != ']')
      names.back() += each;
  }
  std::erase(names, "");
  return names;
}

/// Sets the expert degrees of a layout that has its other degrees.
base::Status read_expert_degrees(const syntax::SettingTree& tree, const MegatronKeys& keys,
                                 const llm::Transformer& model, llm::Layout& layout) {
  if (!model.experts) return {};
  DOVETAIL_TRY(layout.expert, degree_at(tree, keys.expert));
  DOVETAIL_TRY(const auto value, optional_integer(tree, keys.expert_tensor));
  DOVETAIL_TRY(layout.expert_tensor, degree_at(tree, keys.expert_tensor));
  // By default, Megatron shards experts like all other layers.
  if (!value) layout.expert_tensor = layout.tensor;
  if (model.experts->count % layout.expert != 0)
    return setting_error(
        tree, keys.expert,
        fmt::format("is {}; accepted: a divisor of the {} experts", layout.expert, model.experts->count));
  const std::int64_t ranks = std::int64_t{layout.data} * layout.context * layout.tensor;
  if (ranks % (std::int64_t{layout.expert} * layout.expert_tensor) == 0) return {};
  return setting_error(
      tree, keys.expert,
      fmt::format("{} x {} {}{} does not divide the {} GPUs of a stage, so Megatron-LM rejects the configuration; "
                  "accepted: degrees whose product divides them",
                  layout.expert, keys.expert_tensor, layout.expert_tensor,
                  value ? "" : " (by default the tensor degree)", ranks));
}

}  // namespace

base::Result<int> degree_at(const syntax::SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const std::optional<std::int64_t> value, optional_integer(tree, key));
  if (!value) return 1;
  if (*value >= 1 && *value <= llm::degree_limits.max) return static_cast<int>(*value);
  return setting_error(tree, key, fmt::format("is {}; accepted: 1 to {}", *value, llm::degree_limits.max));
}

base::Result<llm::Recomputation> recomputation_at(const syntax::SettingTree& tree, const RecomputationKeys& keys) {
  DOVETAIL_TRY(const std::optional<std::string> value, optional_text(tree, keys.granularity));
  if (value && !value->empty() && *value != "full" && *value != "selective")
    return setting_error(tree, keys.granularity, fmt::format("is {}; accepted: full, selective, null", *value));
  if (!keys.experts.empty()) {
    DOVETAIL_TRY(const auto experts, optional_flag(tree, keys.experts));
    if (experts.value_or(false) && value == "full")
      return setting_error(
          tree, keys.experts,
          "is true with full recomputation, so Megatron-LM rejects the configuration; accepted: false, or another "
          "recomputation granularity");
    if (experts.value_or(false)) return llm::Recomputation::experts;
  }
  if (value == "full") return llm::Recomputation::full;
  if (value != "selective") return llm::Recomputation::none;
  DOVETAIL_TRY(const std::vector<std::string> modules, names_at(tree, keys.modules));
  const bool has_experts = std::find(modules.begin(), modules.end(), "moe") != modules.end();
  return has_experts ? llm::Recomputation::experts : llm::Recomputation::selective;
}

base::Status add_unmodeled_modules(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run) {
  DOVETAIL_TRY(const std::vector<std::string> modules, names_at(tree, key));
  if (std::all_of(modules.begin(), modules.end(),
                  [](const std::string& name) { return name == "core_attn" || name == "moe"; }))
    return {};
  run.not_modelled.push_back(
      {key, fmt::format("{}: only recomputation of attention and experts is modeled", fmt::join(modules, ", ")),
       place_of(tree, key)});
  return {};
}

base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, const MegatronKeys& keys, int devices,
                                           const llm::Transformer& model) {
  llm::Layout layout{.stage_layers = {}};
  DOVETAIL_TRY(layout.tensor, degree_at(tree, keys.tensor));
  DOVETAIL_TRY(layout.pipeline, degree_at(tree, keys.pipeline));
  DOVETAIL_TRY(layout.context, degree_at(tree, keys.context));
  DOVETAIL_TRY(layout.virtual_stages, degree_at(tree, keys.virtual_stages));
  const std::int64_t copy = std::int64_t{layout.tensor} * layout.pipeline * layout.context;
  if (copy > devices || devices % copy != 0)
    return setting_error(
        tree, keys.tensor,
        fmt::format("{} x pipeline {} x context {} does not divide the {} GPUs; accepted: degrees whose product "
                    "divides them",
                    layout.tensor, layout.pipeline, layout.context, devices));
  layout.data = static_cast<int>(devices / copy);
  DOVETAIL_CHECK(read_expert_degrees(tree, keys, model, layout));
  DOVETAIL_TRY(const auto sequences, optional_flag(tree, keys.sequence_parallel));
  layout.sequence_parallel = sequences.value_or(false) && layout.tensor > 1;
  DOVETAIL_TRY(layout.stage_layers, stage_layers(tree, keys, layout.pipeline, model.layers));
  return layout;
}

base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, std::string_view keys,
                                           std::string_view stages, int devices, const llm::Transformer& model) {
  return megatron_degrees(tree,
                          {.tensor = key_below(keys, "tensor_model_parallel_size"),
                           .pipeline = key_below(keys, "pipeline_model_parallel_size"),
                           .context = key_below(keys, "context_parallel_size"),
                           .virtual_stages = key_below(keys, "virtual_pipeline_model_parallel_size"),
                           .expert = key_below(keys, "expert_model_parallel_size"),
                           .expert_tensor = key_below(keys, "expert_tensor_parallel_size"),
                           .sequence_parallel = key_below(keys, "sequence_parallel"),
                           .first_stage = key_below(stages, "num_layers_in_first_pipeline_stage"),
                           .last_stage = key_below(stages, "num_layers_in_last_pipeline_stage")},
                          devices, model);
}

base::Result<llm::Layout> engine_degrees(const syntax::SettingTree& tree, const EngineSizes& keys, int devices) {
  const auto size_at = [&](const std::string& key) -> base::Result<std::int64_t> {
    if (key.empty()) return 1;
    DOVETAIL_TRY(const auto value, optional_integer(tree, key));
    if (!value) return 1;
    if (*value >= 1) return *value;
    return setting_error(tree, key, fmt::format("is {}; accepted: at least 1", *value));
  };
  DOVETAIL_TRY(const std::int64_t tensor, size_at(keys.tensor));
  DOVETAIL_TRY(const std::int64_t pipeline, size_at(keys.pipeline));
  DOVETAIL_TRY(const std::int64_t data, size_at(keys.data));
  if (tensor > 65536 || pipeline > 65536 || data > 65536 || tensor * pipeline * data > devices ||
      devices % (tensor * pipeline * data) != 0)
    return setting_error(tree, keys.tensor,
                         fmt::format("{} x data {} x pipeline {} does not divide the {} GPUs; accepted: degrees whose "
                                     "product divides them",
                                     tensor, data, pipeline, devices));
  return llm::Layout{.data = static_cast<int>(devices / (tensor * pipeline)),
                     .tensor = static_cast<int>(tensor),
                     .pipeline = static_cast<int>(pipeline),
                     .stage_layers = {}};
}

plan::MicroBatching tokens_at_most(double tokens) { return limited_batching(&plan::MicroBatching::tokens, tokens); }

plan::MicroBatching sequences_at_most(double sequences) {
  return limited_batching(&plan::MicroBatching::sequences, sequences);
}

}  // namespace dovetail::trainers
