#include "trainers/verl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "syntax/configuration.h"
#include "syntax/override.h"
#include "trainers/import/settings.h"
#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {
namespace {

/// Settings that were renamed, by how they begin: the old name and the present one.
constexpr std::array<std::array<std::string_view, 2>, 5> renamed{{
    {"critic.model.fsdp_config", "critic.fsdp"},
    {"reward_model.model.path", "reward.reward_model.model_path"},
    {"reward_model.reward_manager", "reward.reward_manager.name"},
    {"reward_model.num_workers", "reward.num_workers"},
    {"reward_model", "reward.reward_model"},
}};

/// A word whose folder is unknown and whose last name is not, as `model.path=$HOME/models/Qwen3-8B`, without the
/// folder: the name is what matters.
syntax::Word without_unknown_folder(syntax::Word word) {
  std::vector<syntax::Piece>& pieces = word.text.pieces;
  if (pieces.size() < 3 || pieces.front().unknown || pieces.back().unknown) return word;
  const std::string& head = pieces.front().text;
  const bool is_path = head.find("model.path=") != std::string::npos || head.find("model_path=") != std::string::npos;
  if (!is_path || pieces.back().text.find('/') == std::string::npos) return word;
  std::string kept;
  for (const syntax::Piece& piece : pieces)
    if (!piece.unknown) kept += piece.text;
  word.text.pieces = {{.text = std::move(kept), .unknown = {}}};
  return word;
}

/// What the words of a launch say, before it is laid over defaults.
struct LaunchWords {
  std::vector<syntax::Override> overrides;
  std::optional<std::string> engine;         ///< `model_engine=`
  std::optional<std::string> configuration;  ///< `--config-name`
  syntax::Place configuration_place;
  std::vector<Finding> assumed;
};

base::Result<LaunchWords> launch_words(const syntax::Launch& launch, const std::vector<std::string>& sources) {
  LaunchWords words;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const syntax::Word& word = launch.arguments[i];
    if (syntax::is_override(word)) {
      DOVETAIL_TRY(syntax::Override override, syntax::parse_override(without_unknown_folder(word), sources));
      if (override.key == "model_engine" && override.value)
        words.engine = value_words(*override.value);
      else
        words.overrides.push_back(std::move(override));
      continue;
    }
    if (!is_known(word.text)) {
      words.assumed.push_back(
          {"", fmt::format("{} is not known: taken as no setting", describe(word.text)), word.place});
      continue;
    }
    std::string text(characters(word.text));
    if (text == "--config-name" && i + 1 < launch.arguments.size() && is_known(launch.arguments[i + 1].text))
      text += "=" + std::string(characters(launch.arguments[++i].text));
    if (text.starts_with("--config-name=")) {
      words.configuration = text.substr(text.find('=') + 1);
      words.configuration_place = word.place;
    }
  }
  return words;
}

bool says_megatron(const syntax::Override& override) {
  return override.key == "actor_rollout_ref.actor.strategy" && override.value && override.value->text == "megatron";
}

base::Result<VerlEngine> engine_of(const LaunchWords& words, const std::vector<std::string>& sources) {
  if (words.configuration) {
    std::string name = *words.configuration;
    if (name.ends_with(".yaml")) name.resize(name.size() - 5);
    if (name == "ppo_megatron_trainer") return VerlEngine::megatron;
    if (name != "ppo_trainer")
      return place_error(sources, words.configuration_place,
                         fmt::format("the configuration {} is not read; accepted: ppo_trainer, ppo_megatron_trainer",
                                     base::quote(name)));
  }
  if (words.engine == "megatron" || std::any_of(words.overrides.begin(), words.overrides.end(), says_megatron))
    return VerlEngine::megatron;
  if (words.engine && *words.engine != "dp" && *words.engine != "fsdp")
    return base::bad_input(
        fmt::format("verl's model_engine {} is not read; accepted: dp, megatron", base::quote(*words.engine)));
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
    // Versions differ in which settings there are: what one adds (`+`) another one changes.
    override.kind = syntax::Override::Kind::force;
  }
  std::erase_if(overrides,
                [](const syntax::Override& override) { return override.kind == syntax::Override::Kind::remove; });
  return syntax::apply_overrides(settings.tree, overrides);
}

/// Members by old names, moved to where they are now; what is null there says nothing.
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
        fmt::format("{} is a trainer of verl's that is not read; accepted: verl.trainer.main_ppo", name));
  DOVETAIL_TRY(LaunchWords words, launch_words(launch, sources));
  VerlSettings settings;
  DOVETAIL_TRY(settings.engine, engine_of(words, sources));
  settings.tree = {.sources = sources, .root = verl_defaults(settings.engine)};
  settings.assumed = std::move(words.assumed);
  DOVETAIL_CHECK(lay_over(std::move(words.overrides), settings));
  DOVETAIL_CHECK(resolve(settings.tree, environment));
  return settings;
}

bool is_verl_configuration(const syntax::Setting& root) {
  return root.kind == syntax::Setting::Kind::map && find_member(root, "actor_rollout_ref") != nullptr;
}

base::Result<VerlSettings> settings_of_configuration(syntax::Setting root, const std::string& source,
                                                     const std::map<std::string, std::string>& environment) {
  syntax::Setting said = without_wrapping(std::move(root));
  rename_members(said);
  const syntax::Setting* const strategy = find_setting(said, "actor_rollout_ref.actor.strategy");
  VerlSettings settings;
  if (strategy != nullptr && strategy->text == "megatron") settings.engine = VerlEngine::megatron;
  settings.tree = {.sources = {source}, .root = verl_defaults(settings.engine)};
  merge_setting(settings.tree.root, std::move(said));
  DOVETAIL_CHECK(resolve(settings.tree, environment));
  return settings;
}

}  // namespace dovetail::trainers
