#include "trainers/roll/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/document.h"
#include "syntax/files.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Pipelines beside RLVR's: by which program and by which key they are told, and what jobs do not have of them.
struct OtherPipeline {
  std::string_view program;  ///< a part of its name
  std::string_view key;
  std::string_view what;
};
constexpr std::array<OtherPipeline, 8> other_pipelines{{
    {"agentic", "train_env_manager", "agents take turns with environments, of whose time and lengths it says nothing"},
    {"agentic", "custom_envs", "agents take turns with environments, of whose time and lengths it says nothing"},
    {"onpolicy_distill", "student_train", "teachers judge each token, which jobs do not have"},
    {"distill", "student", "a teacher judges each token, which jobs do not have"},
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
      fmt::format("{} is a pipeline of ROLL's that is not read{}{}; accepted: start_rlvr_pipeline, "
                  "start_rlvr_vl_pipeline",
                  name, other == other_pipelines.end() ? "" : ": ", other == other_pipelines.end() ? "" : other->what));
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
    return place_error(
        sources, launch.place,
        fmt::format("{} names no file; accepted: --config_path FOLDER --config_name NAME", program_name(launch.entry)));
  if (!named.words.empty())
    return place_error(sources, named.words.front().place,
                       fmt::format("{}: ROLL's program stops at it; accepted: --config_path, --config_name",
                                   base::quote(describe(named.words.front().text))));
  // Hydra begins at the program's folder.
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
                           fmt::format("is of another pipeline than RLVR's: {}; accepted: configurations of "
                                       "start_rlvr_pipeline",
                                       other.what));
  for (const char* const key : {"is_pure_opd", "use_opd"}) {
    DOVETAIL_TRY(const auto distills, optional_flag(tree, key));
    if (distills.value_or(false))
      return setting_error(tree, key, "is true: teachers judge each token, which jobs do not have; accepted: false");
  }
  for (const char* const role : {"actor_train", "actor_infer"}) {
    const syntax::Setting* const setting = find_setting(tree.root, role);
    if (setting != nullptr && setting->kind == syntax::Setting::Kind::map) continue;
    base::Error error =
        setting_error(tree, role, "is not given; accepted: configurations of start_rlvr_pipeline, which have it");
    if (error.path.empty() && !tree.sources.empty()) error.path = tree.sources.front();
    return error;
  }
  return {};
}

}  // namespace dovetail::trainers
