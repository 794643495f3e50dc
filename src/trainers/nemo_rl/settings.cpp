#include "trainers/nemo_rl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/document.h"
#include "trainers/import/settings.h"
#include "trainers/nemo_rl/defaults_files.h"
#include "trainers/syntax/configuration.h"
#include "trainers/syntax/override.h"

namespace dovetail::trainers {
namespace {

/// A program of NeMo-RL's, and the file that it takes where nobody names one.
struct Program {
  std::string_view name;
  std::string_view configuration;
};
constexpr std::array<Program, 7> programs{{{"run_grpo", "examples/configs/grpo_math_1B.yaml"},
                                           {"run_grpo_math", "examples/configs/grpo_math_1B.yaml"},
                                           {"run_grpo_rm", "examples/configs/grpo_rm_1B.yaml"},
                                           {"run_grpo_sliding_puzzle", "examples/configs/grpo_sliding_puzzle.yaml"},
                                           {"run_grpo_single_controller", ""},
                                           {"run_vlm_grpo", "examples/configs/vlm_grpo_3B.yaml"},
                                           {"run_ppo", "examples/configs/ppo_math_1B.yaml"}}};
/// Programs that train by something else than PPO and GRPO.
constexpr std::array<std::string_view, 6> other_programs{"run_sft",  "run_dpo",     "run_rm",
                                                         "run_eval", "run_vlm_sft", "run_distillation"};

/// Parts of a configuration by which no iteration takes longer or needs more memory; bundled files lack them.
constexpr std::array<std::string_view, 6> without_effect{
    "logger", "checkpointing", "reward_penalties", "data_plane", "policy.scheduler", "policy.megatron_cfg.scheduler"};

bool has_no_effect(std::string_view key) {
  return std::any_of(without_effect.begin(), without_effect.end(), [key](std::string_view part) {
    return key.starts_with(part) && (key.size() == part.size() || key[part.size()] == '.');
  });
}

std::optional<std::string> bundled_file(const std::string& path) {
  const std::string name = name_of(path, "");
  if (name == "grpo_math_1B.yaml") return std::string(nemo_rl_grpo_defaults());
  if (name == "ppo_math_1B.yaml") return std::string(nemo_rl_ppo_defaults());
  return std::nullopt;
}

/// Reads `given` from its content, all else by `read`, and where that has none the bundled files, whose names it keeps.
FileReader with_bundled(FileReader read, const ConfigurationFile& given,
                        const std::shared_ptr<std::vector<std::string>>& bundled) {
  return [read = std::move(read), given, bundled](const std::string& path) -> base::Result<std::string> {
    if (path == given.path) return given.content;
    auto content = read(path);
    if (content.ok()) return content;
    std::optional<std::string> own = bundled_file(path);
    if (!own) return content;
    bundled->push_back(path);
    return *std::move(own);
  };
}

/// Nobody wrote what stands in a bundled file: line 0.
void forget_places(Setting& setting, const std::vector<int>& sources) {
  if (std::find(sources.begin(), sources.end(), setting.place.source) != sources.end()) setting.place = {};
  for (Setting& item : setting.items) forget_places(item, sources);
  for (auto& [name, value] : setting.members) forget_places(value, sources);
}

base::Status lay_over(std::vector<Word> words, NemoRlSettings& settings) {
  std::vector<Override> overrides;
  std::vector<std::string>& sources = settings.tree.sources;
  int given = 0;
  for (Word& word : words) {
    if (word.place.line == 0) {
      if (++given == 1) sources.emplace_back("the command line");
      word.place = {.source = static_cast<int>(sources.size()) - 1, .line = 1, .column = given};
    }
    if (!is_override(word)) {
      if (!is_known(word.text))
        settings.assumed.push_back(
            {"", fmt::format("{} is not known: taken as no setting", describe(word.text)), word.place});
      continue;
    }
    DOVETAIL_TRY(Override override, parse_override(word, sources));
    if (has_no_effect(override.key)) {
      if (override.kind == Override::Kind::remove) continue;
      override.kind = Override::Kind::force;
    }
    overrides.push_back(std::move(override));
  }
  return apply_overrides(settings.tree, overrides);
}

/// Composes the file and what it begins from, lays the words over it, and resolves interpolations.
base::Result<NemoRlSettings> compose(const ConfigurationFile& file, const std::vector<std::string>& sources,
                                     const std::vector<Word>& words, NemoRlSettings settings, const FileReader& read) {
  const auto bundled = std::make_shared<std::vector<std::string>>();
  DOVETAIL_TRY(settings.tree,
               compose_configuration(
                   {.path = file.path, .read = with_bundled(read, file, bundled), .words = {}, .sources = sources}));
  std::vector<int> own;
  for (std::size_t i = sources.size(); i < settings.tree.sources.size(); ++i) {
    std::string& source = settings.tree.sources[i];
    if (std::find(bundled->begin(), bundled->end(), source) != bundled->end()) {
      own.push_back(static_cast<int>(i));
      settings.assumed.push_back(
          {"", fmt::format("{} is not there: that of NeMo-RL {} is taken", source, nemo_rl_version)});
    }
    if (source == file.path) source = file.name;
  }
  forget_places(settings.tree.root, own);
  settings.tree.root = without_wrapping(std::move(settings.tree.root));
  DOVETAIL_CHECK(lay_over(words, settings));
  DOVETAIL_CHECK(resolve(settings.tree, settings.environment));
  return settings;
}

/// What `--config` says, and the words behind it that are none of it.
struct LaunchFile {
  std::string path;
  Place place;
  std::vector<Word> words;
};

base::Result<LaunchFile> launch_file(const Launch& launch, const std::vector<std::string>& sources) {
  LaunchFile file;
  file.place = launch.place;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    Word word = launch.arguments[i];
    const std::string_view text = is_known(word.text) ? characters(word.text) : std::string_view();
    const std::string shown = describe(word.text);
    if (text == "--config" && i + 1 < launch.arguments.size())
      word = launch.arguments[++i];
    else if (shown.starts_with("--config="))
      word.text.pieces.front().text.erase(0, std::string_view("--config=").size());
    else {
      file.words.push_back(std::move(word));
      continue;
    }
    file.place = word.place;
    const std::vector<Piece>& pieces = word.text.pieces;
    // Where the folder is unknown the path behind it is taken from the root.
    if (!is_known(word.text) && (pieces.size() != 2 || !pieces.front().unknown || pieces.back().unknown ||
                                 !pieces.back().text.starts_with('/')))
      return unknown_error(sources, first_unknown(word.text));
    file.path = is_known(word.text) ? std::string(characters(word.text)) : pieces.back().text.substr(1);
  }
  return file;
}

/// The file at a path of a launch: from where it is started, else from the root, else the bundled one.
base::Result<ConfigurationFile> read_launch_file(const Launch& launch, const LaunchFile& named,
                                                 const std::vector<std::string>& sources, const RunRequest& request) {
  std::vector<std::string> paths{named.path};
  if (is_known(launch.directory)) paths.insert(paths.begin(), join_path(characters(launch.directory), named.path));
  std::string why = "it is not there";
  if (request.read)
    for (const std::string& path : paths) {
      auto content = request.read(path);
      if (content.ok()) return ConfigurationFile{.name = named.path, .path = path, .content = *std::move(content)};
      why = content.error().message;
    }
  if (auto content = bundled_file(named.path))
    return ConfigurationFile{.name = named.path, .path = named.path, .content = *std::move(content)};
  return place_error(sources, named.place,
                     fmt::format("{} is not read: {}; accepted: a file below the root", base::quote(named.path), why));
}

}  // namespace

bool is_nemo_rl_entry(const EntryPoint& entry) {
  if (entry.is_module) return false;
  const std::string name = name_of(entry.name, ".py");
  return name == "run_grpo_nemo_gym" ||
         std::any_of(programs.begin(), programs.end(), [&](const Program& each) { return each.name == name; }) ||
         std::find(other_programs.begin(), other_programs.end(), name) != other_programs.end();
}

base::Result<NemoRlSettings> nemo_rl_settings_of_launch(const Launch& launch, const std::vector<std::string>& sources,
                                                        const RunRequest& request) {
  const std::string name = name_of(launch.entry.name, ".py");
  if (std::find(other_programs.begin(), other_programs.end(), name) != other_programs.end())
    return place_error(sources, launch.place,
                       fmt::format("{} is a program of NeMo-RL's that is not read; accepted: run_grpo, run_ppo", name));
  DOVETAIL_TRY(LaunchFile named, launch_file(launch, sources));
  if (named.path.empty()) {
    const auto program =
        std::find_if(programs.begin(), programs.end(), [&](const Program& each) { return each.name == name; });
    if (program == programs.end() || program->configuration.empty())
      return place_error(sources, launch.place, fmt::format("{} needs a file; accepted: --config FILE", name));
    named.path = program->configuration;
  }
  DOVETAIL_TRY(const ConfigurationFile file, read_launch_file(launch, named, sources, request));
  NemoRlSettings settings;
  settings.environment = request.environment;
  for (const auto& [variable, value] : launch.environment)
    if (is_known(value)) settings.environment.emplace(variable, characters(value));
  if (!request.read || !request.read(file.path).ok())
    settings.assumed.push_back(
        {"", fmt::format("{} is not there: that of NeMo-RL {} is taken", file.name, nemo_rl_version)});
  return compose(file, sources, named.words, std::move(settings), request.read);
}

base::Result<NemoRlSettings> nemo_rl_settings_of_file(const ConfigurationFile& file, const RunRequest& request) {
  std::vector<Word> words;
  for (const std::string& argument : request.options.arguments)
    words.push_back({.text = text_of(argument), .place = {}, .doubt = {}});
  NemoRlSettings settings;
  settings.environment = request.environment;
  return compose(file, {}, words, std::move(settings), request.read);
}

}  // namespace dovetail::trainers
