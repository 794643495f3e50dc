#include "trainers/import/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/document.h"
#include "syntax/files.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

/// Unsupported pipeline: its program, a key that identifies its configuration, and the reason.
struct OtherPipeline {
  std::string_view program;  ///< part of its name
  std::string_view key;
  std::string_view what;
};
constexpr std::array<OtherPipeline, 8> other_pipelines{{
    {"agentic", "train_env_manager",
     "the configuration does not give the time and lengths of agents' turns with environments"},
    {"agentic", "custom_envs",
     "the configuration does not give the time and lengths of agents' turns with environments"},
    {"onpolicy_distill", "student_train", "jobs cannot have teachers"},
    {"distill", "student", "jobs cannot have teachers"},
    {"sft", "sft_train", "it trains without generation"},
    {"dpo", "chosen_key", "it trains on pairs without generation"},
    {"reward_fl", "", "it trains a diffusion model"},
    {"rollout", "", "it generates without training"},
}};

const BaseFiles roll_files{.version = "ROLL 8eb27cc2", .bundled = nullptr, .has_no_effect = nullptr};

std::string program_name(const syntax::EntryPoint& entry) { return syntax::name_of(entry.name, ".py"); }

base::Status check_roll_program(const syntax::Launch& launch, const std::vector<std::string>& sources) {
  const std::string name = program_name(launch.entry);
  if (name == "start_rlvr_pipeline" || name == "start_rlvr_vl_pipeline") return {};
  const auto other = std::find_if(other_pipelines.begin(), other_pipelines.end(), [&](const OtherPipeline& each) {
    return name.find(each.program) != std::string::npos;
  });
  return place_error(
      sources, launch.place,
      fmt::format("the ROLL pipeline {} is not supported{}{}; accepted: start_rlvr_pipeline, "
                  "start_rlvr_vl_pipeline",
                  name, other == other_pipelines.end() ? "" : ": ", other == other_pipelines.end() ? "" : other->what));
}

constexpr std::array<const char*, 6> estimators{"gae",   "reinforce",      "grpo",
                                                "gigpo", "step_reinforce", "agentic_reinforce"};

base::Status check_estimator(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const auto value, optional_text(tree, "adv_estimator"));
  std::string accepted;
  for (const char* const each : estimators) {
    if (!value || *value == each) return {};
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", each);
  }
  return setting_error(tree, "adv_estimator",
                       fmt::format("is {}, which ROLL rejects; accepted: {}", base::quote(*value), accepted));
}

base::Status check_asynchrony(const syntax::SettingTree& tree) {
  const std::string key = "async_generation_ratio";
  DOVETAIL_TRY(const auto ratio, optional_number(tree, key));
  DOVETAIL_TRY(const auto level, optional_integer(tree, "generate_opt_level"));
  if (ratio.value_or(0) == 0) return {};
  if (*ratio < 1)
    return setting_error(tree, key, fmt::format("is {}, which ROLL rejects; accepted: 0, or 1 to 1000", *ratio));
  if (*ratio > 1000) return setting_error(tree, key, fmt::format("is {}; accepted: at most 1000", *ratio));
  if (level.value_or(1) != 1)
    return setting_error(tree, "generate_opt_level",
                         fmt::format("is {} with {}, so ROLL rejects the configuration; accepted: 1", *level, key));
  return {};
}

/// Checks settings that ROLL's Megatron strategies reject.
base::Status check_megatron_role(const syntax::SettingTree& tree, const std::string& role) {
  const std::string gather_key = roll_strategy_key(role) + ".overlap_param_gather";
  DOVETAIL_TRY(const bool gathers, roll_flag(tree, gather_key));
  if (gathers) return setting_error(tree, gather_key, "is true, which ROLL rejects; accepted: false");
  return {};
}

base::Status check_roll_role(const syntax::SettingTree& tree, const std::string& role) {
  const std::string replay_key = role + ".router_replay.mode";
  DOVETAIL_TRY(const auto replay, optional_text(tree, replay_key));
  if (replay && *replay == "R2")
    return setting_error(tree, replay_key, "is R2, which ROLL rejects; accepted: disable, R3");
  DOVETAIL_TRY(const auto strategy, optional_text(tree, role + ".strategy_args.strategy_name"));
  if (strategy && strategy->starts_with("megatron")) DOVETAIL_CHECK(check_megatron_role(tree, role));
  return {};
}

base::Status check_adapters(const syntax::SettingTree& tree) {
  const std::string key = "actor_train.model_args.lora_target";
  DOVETAIL_TRY(const auto strategy, optional_text(tree, "actor_infer.strategy_args.strategy_name"));
  const syntax::Setting* const target = find_setting(tree.root, key);
  if (target == nullptr || target->kind == syntax::Setting::Kind::null || strategy != "sglang") return {};
  return setting_error(tree, key,
                       "is set with sglang, so ROLL rejects the configuration; accepted: null, or the strategy vllm");
}

}  // namespace

bool is_roll_entry(const syntax::EntryPoint& entry) {
  const std::string name = program_name(entry);
  return !entry.is_module && name.starts_with("start_") && name.ends_with("_pipeline");
}

base::Result<ComposedSettings> roll_settings_of_launch(const syntax::Launch& launch,
                                                       const std::vector<std::string>& sources,
                                                       const RunRequest& request) {
  DOVETAIL_CHECK(check_roll_program(launch, sources));
  DOVETAIL_TRY(const LaunchFile folder, launch_file(launch, sources, "--config_path"));
  syntax::Launch rest = launch;
  rest.arguments = folder.words;
  DOVETAIL_TRY(LaunchFile named, launch_file(rest, sources, "--config_name"));
  if (folder.path.empty() || named.path.empty())
    return place_error(sources, launch.place,
                       fmt::format("{} needs a configuration file; accepted: --config_path FOLDER --config_name NAME",
                                   program_name(launch.entry)));
  if (!named.words.empty())
    return place_error(sources, named.words.front().place,
                       fmt::format("ROLL rejects the argument {}; accepted: --config_path, --config_name",
                                   base::quote(describe(named.words.front().text))));
  // Hydra resolves paths from the program's folder.
  named.path = syntax::join_path(syntax::join_path(syntax::folder_of(launch.entry.name), folder.path), named.path);
  if (!named.path.ends_with(".yaml")) named.path += ".yaml";
  return composed_of_launch(roll_files, launch, named, sources, request);
}

base::Result<ComposedSettings> roll_settings_of_file(const ConfigurationFile& file, const RunRequest& request) {
  return composed_of_file(roll_files, file, request);
}

base::Status check_roll_pipeline(const syntax::SettingTree& tree) {
  for (const OtherPipeline& other : other_pipelines)
    if (!other.key.empty() && find_setting(tree.root, other.key) != nullptr)
      return setting_error(tree, other.key,
                           fmt::format("belongs to an unsupported pipeline: {}; accepted: configurations of "
                                       "start_rlvr_pipeline or start_rlvr_vl_pipeline",
                                       other.what));
  for (const char* const key : {"is_pure_opd", "use_opd"}) {
    DOVETAIL_TRY(const auto distills, optional_flag(tree, key));
    if (distills.value_or(false))
      return setting_error(tree, key, "is true, but jobs cannot have teachers; accepted: false");
  }
  for (const char* const role : {"actor_train", "actor_infer"}) {
    const syntax::Setting* const setting = find_setting(tree.root, role);
    if (setting != nullptr && setting->kind == syntax::Setting::Kind::map) continue;
    base::Error error = setting_error(
        tree, role, "is missing; accepted: configurations of start_rlvr_pipeline or start_rlvr_vl_pipeline");
    if (error.path.empty() && !tree.sources.empty()) error.path = tree.sources.front();
    return error;
  }
  return {};
}

base::Status check_roll_start(const syntax::SettingTree& tree) {
  DOVETAIL_CHECK(check_estimator(tree));
  DOVETAIL_CHECK(check_asynchrony(tree));
  for (const char* const role : {"actor_train", "actor_infer", "reference", "critic"})
    DOVETAIL_CHECK(check_roll_role(tree, role));
  DOVETAIL_CHECK(check_adapters(tree));
  DOVETAIL_TRY(const auto prompt, optional_integer(tree, "val_prompt_length"));
  DOVETAIL_TRY(const auto sequence, optional_integer(tree, "val_sequence_length"));
  if (prompt.has_value() != sequence.has_value())
    return setting_error(
        tree, prompt ? "val_prompt_length" : "val_sequence_length",
        "is set alone, which ROLL rejects; accepted: both val_prompt_length and val_sequence_length, or neither");
  return {};
}

}  // namespace dovetail::trainers
