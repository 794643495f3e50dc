#include "trainers/import/role_training.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/enum_names.h"
#include "plan/framework.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Names of 16-bit types, which are an engine's default.
constexpr std::string_view sixteen_bits = "auto|null|none|bfloat16|bf16|half|float16|fp16";

bool are_alike(const plan::Software& a, const plan::Software& b) {
  return a.weight_type == b.weight_type && a.gradient_type == b.gradient_type && a.moment_type == b.moment_type &&
         a.master_type == b.master_type && a.shard_group == b.shard_group;
}

}  // namespace

void take_types(const std::vector<RoleTypes>& roles, ImportedRun& run) {
  if (roles.empty()) return;
  const plan::Software& first = roles.front().types;
  const bool alike =
      std::all_of(roles.begin(), roles.end(), [&first](const RoleTypes& role) { return are_alike(role.types, first); });
  if (alike) {
    run.software.weight_type = first.weight_type;
    run.software.gradient_type = first.gradient_type;
    run.software.moment_type = first.moment_type;
    run.software.master_type = first.master_type;
    run.software.shard_group = first.shard_group;
    return;
  }
  for (const RoleTypes& role : roles)
    run.not_modelled.insert(run.not_modelled.end(), role.otherwise.begin(), role.otherwise.end());
}

base::Result<HostShare> host_share_at(const syntax::SettingTree& tree, std::string key, double otherwise) {
  DOVETAIL_TRY(const auto value, optional_number(tree, key));
  const double share = value.value_or(otherwise);
  if (share >= 0 && share <= 1) return HostShare{std::move(key), share, false};
  return setting_error(tree, key, fmt::format("is {}; accepted: 0 to 1", share));
}

void take_host_shares(const syntax::SettingTree& tree, const std::vector<HostShare>& roles, ImportedRun& run) {
  auto taken = std::find_if(roles.begin(), roles.end(), [](const HostShare& role) { return role.has_part(); });
  if (taken == roles.end())
    taken = std::find_if(roles.begin(), roles.end(), [](const HostShare& role) { return role.share > 0; });
  if (taken == roles.end()) return;
  run.software.optimizer_host_share = std::max(taken->share, plan::min_optimizer_host_share);
  for (const HostShare& role : roles)
    if (role.has_part() && role.share != taken->share)
      run.not_modelled.push_back({role.key,
                                  fmt::format("{}: the optimizer's share on the host is modeled as {}, the value of {}",
                                              role.share, taken->share, taken->key),
                                  place_of(tree, role.key)});
}

base::Status take_sync_bucket(const syntax::SettingTree& tree, const std::string& key, std::int64_t unit,
                              ImportedRun& run) {
  DOVETAIL_TRY(const auto value, optional_integer(tree, key));
  if (!value) return {};
  if (*value < 1 || *value > plan::max_sync_bucket / unit)
    return setting_error(tree, key, fmt::format("is {}; accepted: 1 to {}", *value, plan::max_sync_bucket / unit));
  plan::Software software = run.software;
  software.training = run.training;
  software.framework = run.framework;
  const plan::Framework* const framework = plan::find_framework(software);
  DOVETAIL_ASSERT(framework != nullptr);
  if (*value * unit != framework->sync_bucket) run.software.sync_bucket = *value * unit;
  return {};
}

base::Result<plan::EngineKind> engine_kind(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const auto name, optional_text(tree, key));
  return base::enum_named<plan::EngineKind>(name.value_or("vllm")).value_or(plan::EngineKind::vllm);
}

std::optional<int> named_bits(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  name.remove_prefix(name.find_last_of('/') + 1);
  std::vector<std::string> names(1);
  for (const char each : name) {
    const auto letter = static_cast<unsigned char>(each);
    if (std::isalnum(letter) != 0)
      names.back() += static_cast<char>(std::tolower(letter));
    else
      names.emplace_back();
  }
  // The first match wins: "gptq-int8" has 8 bits.
  constexpr std::pair<std::string_view, int> known[] = {
      {"w4afp8", 4}, {"w4a8", 4}, {"w4a16", 4}, {"int4", 4},  {"fp4", 4},  {"nvfp4", 4}, {"mxfp4", 4}, {"4bit", 4},
      {"fp8", 8},    {"int8", 8}, {"w8a8", 8},  {"mxfp8", 8}, {"8bit", 8}, {"awq", 4},   {"gptq", 4}};
  for (const auto& [word, bits] : known)
    if (std::find(names.begin(), names.end(), word) != names.end()) return bits;
  return std::nullopt;
}

base::Status take_engine_weights(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run) {
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  if (!value || is_one_of(*value, sixteen_bits)) return {};
  const auto bits = named_bits(*value);
  if (!bits && run.software.engine_weight_bits > 0) return {};
  if (bits) run.software.engine_weight_bits = *bits;
  run.not_modelled.push_back(
      {key,
       *value + (bits ? ": the engine's matrix products are modeled in bf16; the real run is faster"
                      : ": the engine's weights are modeled in bf16"),
       place_of(tree, key)});
  return {};
}

base::Status take_key_values(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run) {
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  if (!value || is_one_of(*value, sixteen_bits)) return {};
  if (const auto bits = named_bits(*value))
    run.software.key_value_bits = *bits;
  else
    run.not_modelled.push_back({key, *value + ": the KV cache is modeled in bf16", place_of(tree, key)});
  return {};
}

std::optional<plan::StateType> state_type(std::string_view word) {
  using enum plan::StateType;
  constexpr std::pair<std::string_view, plan::StateType> names[] = {
      {"fp32", fp32}, {"float32", fp32}, {"bf16", bf16}, {"bfloat16", bf16}, {"fp16", fp16}, {"float16", fp16}};
  for (const auto& [name, type] : names)
    if (name == word) return type;
  return std::nullopt;
}

void take_critic_batch(std::int64_t samples, Finding otherwise, ImportedRun& run) {
  if (samples == run.mini_batch) return;
  const std::int64_t all = run.prompts * run.samples_per_prompt;
  if (samples >= 1 && samples <= all && all % samples == 0)
    run.critic_mini_batch = samples;
  else
    run.not_modelled.push_back(std::move(otherwise));
}

}  // namespace dovetail::trainers
