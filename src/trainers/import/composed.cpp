#include "trainers/import/composed.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/document.h"
#include "syntax/configuration.h"
#include "syntax/override.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

std::optional<std::string> bundled_file(const BaseFiles& bases, const std::string& path) {
  return bases.bundled == nullptr ? std::nullopt : bases.bundled(path);
}

/// Returns a reader that takes `given` from its content, and other files from `read` or else from the bundled files. It
/// adds the paths of bundled files that it uses to `bundled`.
syntax::FileReader with_bundled(syntax::FileReader read, const ConfigurationFile& given, const BaseFiles& bases,
                                const std::shared_ptr<std::vector<std::string>>& bundled) {
  return [read = std::move(read), given, &bases, bundled](const std::string& path) -> base::Result<std::string> {
    if (path == given.path) return given.content;
    auto content = read ? read(path) : base::Result<std::string>(base::bad_input("the file does not exist"));
    if (content.ok()) return content;
    std::optional<std::string> own = bundled_file(bases, path);
    if (!own) return content;
    bundled->push_back(path);
    return *std::move(own);
  };
}

/// Sets all places to line 0, which marks values that are not written in a source.
void forget_places(syntax::Setting& setting) {
  setting.place = {};
  for (syntax::Setting& item : setting.items) forget_places(item);
  for (auto& [name, value] : setting.members) forget_places(value);
}

/// Merges the tree over the defaults, whose places are set to line 0.
base::Status merge_defaults(const BaseFiles& bases, syntax::Setting& root) {
  if (bases.defaults == nullptr) return {};
  DOVETAIL_TRY(syntax::Setting under, bases.defaults(root));
  forget_places(under);
  merge_setting(under, std::move(root));
  root = std::move(under);
  return {};
}

/// Sets the places of values from these sources, which are bundled files, to line 0.
void forget_places(syntax::Setting& setting, const std::vector<int>& sources) {
  if (std::find(sources.begin(), sources.end(), setting.place.source) != sources.end()) setting.place = {};
  for (syntax::Setting& item : setting.items) forget_places(item, sources);
  for (auto& [name, value] : setting.members) forget_places(value, sources);
}

base::Status merge_overrides(const BaseFiles& bases, std::vector<syntax::Word> words, ComposedSettings& settings) {
  std::vector<syntax::Override> overrides;
  std::vector<std::string>& sources = settings.tree.sources;
  int given = 0;
  for (syntax::Word& word : words) {
    if (word.place.line == 0) {
      if (++given == 1) sources.emplace_back("the command line");
      word.place = {.source = static_cast<int>(sources.size()) - 1, .line = 1, .column = given};
    }
    if (!syntax::is_override(word)) {
      if (!is_known(word.text))
        settings.assumed.push_back(
            {"", fmt::format("{} is unknown; assumed to set nothing", describe(word.text)), word.place});
      continue;
    }
    DOVETAIL_TRY(syntax::Override override, syntax::parse_override(word, sources));
    if (bases.has_no_effect != nullptr && bases.has_no_effect(override.key)) {
      if (override.kind == syntax::Override::Kind::remove) continue;
      override.kind = syntax::Override::Kind::force;
    }
    overrides.push_back(std::move(override));
  }
  return syntax::apply_overrides(settings.tree, overrides);
}

/// Reads the file of a launch: relative to its working directory, otherwise to the root, otherwise a bundled file.
base::Result<ConfigurationFile> read_launch_file(const syntax::Launch& launch, const LaunchFile& named,
                                                 const BaseFiles& bases, const std::vector<std::string>& sources,
                                                 const RunRequest& request) {
  std::vector<std::string> paths{named.path};
  if (is_known(launch.directory))
    paths.insert(paths.begin(), syntax::join_path(characters(launch.directory), named.path));
  std::string why = "the file does not exist";
  if (request.read)
    for (const std::string& path : paths) {
      auto content = request.read(path);
      if (content.ok()) return ConfigurationFile{.name = named.path, .path = path, .content = *std::move(content)};
      why = content.error().message;
    }
  if (auto content = bundled_file(bases, named.path))
    return ConfigurationFile{.name = named.path, .path = named.path, .content = *std::move(content)};
  return place_error(
      sources, named.place,
      fmt::format("cannot read {}: {}; accepted: a file below the root folder (--root)", base::quote(named.path), why));
}

}  // namespace

base::Result<ComposedSettings> compose_settings(const BaseFiles& bases, const ConfigurationFile& file,
                                                const std::vector<std::string>& sources,
                                                std::vector<syntax::Word> words, ComposedSettings settings,
                                                const syntax::FileReader& read) {
  const auto bundled = std::make_shared<std::vector<std::string>>();
  if (file.printed) {
    settings.tree = {.sources = {file.name}, .root = *file.printed};
  } else {
    DOVETAIL_TRY(
        settings.tree,
        syntax::compose_configuration(
            {.path = file.path, .read = with_bundled(read, file, bases, bundled), .words = {}, .sources = sources}));
  }
  std::vector<int> own;
  for (std::size_t i = sources.size(); i < settings.tree.sources.size(); ++i) {
    std::string& source = settings.tree.sources[i];
    if (std::find(bundled->begin(), bundled->end(), source) != bundled->end()) {
      own.push_back(static_cast<int>(i));
      settings.assumed.push_back(
          {"", fmt::format("{} cannot be read; the bundled copy from {} is used", source, bases.version)});
    }
    if (source == file.path) source = file.name;
  }
  forget_places(settings.tree.root, own);
  settings.tree.root = without_wrapping(std::move(settings.tree.root));
  DOVETAIL_CHECK(merge_overrides(bases, std::move(words), settings));
  DOVETAIL_CHECK(merge_defaults(bases, settings.tree.root));
  DOVETAIL_CHECK(resolve(settings.tree, settings.environment));
  return settings;
}

base::Result<LaunchFile> launch_file(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     std::string_view flag) {
  const std::string joined = fmt::format("{}=", flag);
  LaunchFile file;
  file.place = launch.place;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    syntax::Word word = launch.arguments[i];
    const std::string_view text = is_known(word.text) ? characters(word.text) : std::string_view();
    const std::string shown = describe(word.text);
    if (text == flag && i + 1 < launch.arguments.size())
      word = launch.arguments[++i];
    else if (shown.starts_with(joined))
      word.text.pieces.front().text.erase(0, joined.size());
    else {
      file.words.push_back(std::move(word));
      continue;
    }
    file.place = word.place;
    const std::vector<syntax::TextPiece>& pieces = word.text.pieces;
    // If the folder is unknown, the rest of the path is relative to the root.
    if (!is_known(word.text) && (pieces.size() != 2 || !pieces.front().unknown || pieces.back().unknown ||
                                 !pieces.back().text.starts_with('/')))
      return unknown_error(sources, first_unknown(word.text));
    file.path = is_known(word.text) ? std::string(characters(word.text)) : pieces.back().text.substr(1);
  }
  return file;
}

base::Result<ComposedSettings> composed_of_launch(const BaseFiles& bases, const syntax::Launch& launch,
                                                  const LaunchFile& named, const std::vector<std::string>& sources,
                                                  const RunRequest& request) {
  DOVETAIL_TRY(const ConfigurationFile file, read_launch_file(launch, named, bases, sources, request));
  ComposedSettings settings;
  settings.environment = request.environment;
  for (const auto& [variable, value] : launch.environment)
    if (is_known(value)) settings.environment.emplace(variable, characters(value));
  if (!request.read || !request.read(file.path).ok())
    settings.assumed.push_back(
        {"", fmt::format("{} cannot be read; the bundled copy from {} is used", file.name, bases.version)});
  return compose_settings(bases, file, sources, named.words, std::move(settings), request.read);
}

base::Result<ComposedSettings> composed_of_file(const BaseFiles& bases, const ConfigurationFile& file,
                                                const RunRequest& request) {
  std::vector<syntax::Word> words;
  for (const std::string& argument : request.options.arguments)
    words.push_back({.text = syntax::text_of(argument), .place = {}, .condition = {}});
  ComposedSettings settings;
  settings.environment = request.environment;
  return compose_settings(bases, file, {}, std::move(words), std::move(settings), request.read);
}

}  // namespace dovetail::trainers
