#include "trainers/import/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/document.h"
#include "syntax/configuration.h"
#include "syntax/override.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

/// Old and current prefixes of renamed settings.
constexpr std::array<std::array<std::string_view, 2>, 5> renamed{{
    {"critic.model.fsdp_config", "critic.fsdp"},
    {"reward_model.model.path", "reward.reward_model.model_path"},
    {"reward_model.reward_manager", "reward.reward_manager.name"},
    {"reward_model.num_workers", "reward.num_workers"},
    {"reward_model", "reward.reward_model"},
}};

/// Removes the folder from an argument such as `model.path=$HOME/models/Qwen3-8B` if only the folder is unknown. The
/// last component identifies the model.
syntax::Word without_unknown_folder(syntax::Word word) {
  std::vector<syntax::TextPiece>& pieces = word.text.pieces;
  if (pieces.size() < 3 || pieces.front().unknown || pieces.back().unknown) return word;
  const std::string& head = pieces.front().text;
  const bool is_path = head.find("model.path=") != std::string::npos || head.find("model_path=") != std::string::npos;
  if (!is_path || pieces.back().text.find('/') == std::string::npos) return word;
  std::string kept;
  for (const syntax::TextPiece& piece : pieces)
    if (!piece.unknown) kept += piece.text;
  word.text.pieces = {{.text = std::move(kept), .unknown = {}}};
  return word;
}

/// Parsed arguments of a launch, before they are merged over the defaults.
struct LaunchArguments {
  std::vector<syntax::Override> overrides;
  std::optional<std::string> engine;         ///< `model_engine=`
  std::optional<std::string> configuration;  ///< `--config-name`
  syntax::Place configuration_place;
  std::vector<Finding> assumed;
};

base::Result<LaunchArguments> parse_launch_arguments(const syntax::Launch& launch,
                                                     const std::vector<std::string>& sources) {
  LaunchArguments arguments;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const syntax::Word& word = launch.arguments[i];
    if (syntax::is_override(word)) {
      DOVETAIL_TRY(syntax::Override override, syntax::parse_override(without_unknown_folder(word), sources));
      if (override.key == "model_engine" && override.value)
        arguments.engine = value_text(*override.value);
      else
        arguments.overrides.push_back(std::move(override));
      continue;
    }
    if (!is_known(word.text)) {
      arguments.assumed.push_back(
          {"", fmt::format("{} is unknown; assumed not to be a setting", describe(word.text)), word.place});
      continue;
    }
    std::string text(characters(word.text));
    if (text == "--config-name" && i + 1 < launch.arguments.size() && is_known(launch.arguments[i + 1].text))
      text += "=" + std::string(characters(launch.arguments[++i].text));
    if (text.starts_with("--config-name=")) {
      arguments.configuration = text.substr(text.find('=') + 1);
      arguments.configuration_place = word.place;
    }
  }
  return arguments;
}

bool selects_megatron(const syntax::Override& override) {
  return override.key == "actor_rollout_ref.actor.strategy" && override.value && override.value->text == "megatron";
}

base::Result<VerlEngine> engine_of(const LaunchArguments& arguments, const std::vector<std::string>& sources) {
  if (arguments.configuration) {
    std::string name = *arguments.configuration;
    if (name.ends_with(".yaml")) name.resize(name.size() - 5);
    if (name == "ppo_megatron_trainer") return VerlEngine::megatron;
    if (name != "ppo_trainer")
      return place_error(
          sources, arguments.configuration_place,
          fmt::format("the configuration {} is not supported; accepted: ppo_trainer, ppo_megatron_trainer",
                      base::quote(name)));
  }
  if (arguments.engine == "megatron" ||
      std::any_of(arguments.overrides.begin(), arguments.overrides.end(), selects_megatron))
    return VerlEngine::megatron;
  if (arguments.engine && *arguments.engine != "dp" && *arguments.engine != "fsdp")
    return base::bad_input(fmt::format("verl's model_engine {} is not supported; accepted: dp, fsdp, megatron",
                                       base::quote(*arguments.engine)));
  return VerlEngine::fsdp;
}

base::Status lay_over(std::vector<syntax::Override> overrides, VerlSettings& settings) {
  for (syntax::Override& override : overrides) {
    override.key = present_key(override.key);
    if (override.kind == syntax::Override::Kind::remove) continue;
    const bool is_there = find_setting(settings.tree.root, override.key) != nullptr;
    if (!is_there && override.kind == syntax::Override::Kind::change && !is_left_out(override.key))
      settings.ignored.push_back(
          {override.key, fmt::format("verl {} has no such setting", verl_defaults_version), override.place});
    // A setting that must be added (`+`) in one version may exist in another.
    override.kind = syntax::Override::Kind::force;
  }
  std::erase_if(overrides,
                [](const syntax::Override& override) { return override.kind == syntax::Override::Kind::remove; });
  return syntax::apply_overrides(settings.tree, overrides);
}

/// Moves members with old names to their current names. Drops old members whose value is null.
void rename_members(syntax::Setting& root) {
  for (const auto& [old_name, name] : renamed) {
    const syntax::Setting* const found = find_setting(root, old_name);
    if (found == nullptr || found->kind == syntax::Setting::Kind::null) continue;
    syntax::Setting moved = *found;
    remove_setting(root, old_name);
    const auto is_null = [](const auto& member) { return member.second.kind == syntax::Setting::Kind::null; };
    if (moved.kind == syntax::Setting::Kind::map) {
      for (auto& [key, value] : moved.members)
        if (value.kind == syntax::Setting::Kind::map) std::erase_if(value.members, is_null);
      std::erase_if(moved.members, is_null);
    }
    syntax::Setting* const now = find_member(root, syntax::names_of_path(name).front());
    if (now == nullptr || find_setting(root, name) == nullptr)
      put_setting(root, name, std::move(moved));
    else if (moved.kind == syntax::Setting::Kind::map)
      for (auto& [key, value] : moved.members) put_setting(root, fmt::format("{}.{}", name, key), std::move(value));
  }
}

constexpr std::array<std::string_view, 20> left_out{"_target_",
                                                    "profiler",
                                                    "global_profiler",
                                                    "transfer_queue",
                                                    "ray_kwargs",
                                                    "skip",
                                                    "checkpoint",
                                                    "trace",
                                                    "qat",
                                                    "turbo_config",
                                                    "custom_reward_function",
                                                    "sandbox_fusion",
                                                    "policy_loss",
                                                    "val_kwargs",
                                                    "mtp",
                                                    "lora",
                                                    "pf_ppo",
                                                    "kl_ctrl",
                                                    "wrap_policy",
                                                    "router_replay"};

/// Sets all places to line 0, which marks defaults.
void drop_places(syntax::Setting& setting) {
  setting.place = {};
  for (syntax::Setting& item : setting.items) drop_places(item);
  for (auto& [name, value] : setting.members) drop_places(value);
}

syntax::Setting parsed_defaults(std::string_view content) {
  const auto document = base::parse_yaml(content, "verl's defaults");
  DOVETAIL_ASSERT(document.ok());
  auto setting = syntax::setting_of(*document, content, 0);
  DOVETAIL_ASSERT(setting.ok());
  drop_places(*setting);
  return *std::move(setting);
}

syntax::Setting merged_defaults(std::string_view engine) {
  syntax::Setting defaults = parsed_defaults(verl_common_defaults());
  merge_setting(defaults, parsed_defaults(engine));
  return defaults;
}

}  // namespace

std::string present_key(std::string_view key) {
  for (const auto& [old_name, name] : renamed)
    if (key.starts_with(old_name) && (key.size() == old_name.size() || key[old_name.size()] == '.'))
      return std::string(name) + std::string(key.substr(old_name.size()));
  return std::string(key);
}

bool is_verl_entry(const syntax::EntryPoint& entry) {
  if (!entry.is_module) return entry.name.ends_with("main_ppo.py") || entry.name.ends_with("main_ppo_v0.py");
  return (entry.name.starts_with("verl.") || entry.name.starts_with("recipe.")) &&
         entry.name.find(".main_") != std::string::npos;
}

base::Result<VerlSettings> settings_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                              const std::map<std::string, std::string>& environment) {
  const std::string name = launch.entry.is_module ? launch.entry.name : syntax::name_of(launch.entry.name, ".py");
  if (name != "verl.trainer.main_ppo" && name != "verl.trainer.main_ppo_v0" && name != "main_ppo" &&
      name != "main_ppo_v0")
    return place_error(
        sources, launch.place,
        fmt::format("the verl trainer {} is not supported; accepted: verl.trainer.main_ppo, verl.trainer.main_ppo_v0",
                    name));
  DOVETAIL_TRY(LaunchArguments arguments, parse_launch_arguments(launch, sources));
  VerlSettings settings;
  DOVETAIL_TRY(settings.engine, engine_of(arguments, sources));
  settings.tree = {.sources = sources, .root = verl_defaults(settings.engine)};
  settings.assumed = std::move(arguments.assumed);
  DOVETAIL_CHECK(lay_over(std::move(arguments.overrides), settings));
  DOVETAIL_CHECK(resolve(settings.tree, environment));
  return settings;
}

bool is_verl_configuration(const syntax::Setting& root) {
  return root.kind == syntax::Setting::Kind::map && find_member(root, "actor_rollout_ref") != nullptr;
}

base::Result<VerlSettings> settings_of_configuration(syntax::Setting root, const std::string& source,
                                                     const std::map<std::string, std::string>& environment) {
  syntax::Setting configured = without_wrapping(std::move(root));
  rename_members(configured);
  const syntax::Setting* const strategy = find_setting(configured, "actor_rollout_ref.actor.strategy");
  VerlSettings settings;
  if (strategy != nullptr && strategy->text == "megatron") settings.engine = VerlEngine::megatron;
  settings.tree = {.sources = {source}, .root = verl_defaults(settings.engine)};
  merge_setting(settings.tree.root, std::move(configured));
  DOVETAIL_CHECK(resolve(settings.tree, environment));
  return settings;
}

const syntax::Setting& verl_defaults(VerlEngine engine) {
  static const syntax::Setting fsdp = merged_defaults(verl_fsdp_defaults());
  static const syntax::Setting megatron = merged_defaults(verl_megatron_defaults());
  return engine == VerlEngine::fsdp ? fsdp : megatron;
}

bool is_left_out(std::string_view key) {
  const std::vector<std::string> names = syntax::names_of_path(key);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return std::find(left_out.begin(), left_out.end(), name) != left_out.end();
  });
}

}  // namespace dovetail::trainers
