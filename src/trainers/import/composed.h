// Settings that a file and the command line make together: YAML with what it begins from, and overrides in Hydra's
// grammar.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

struct ComposedSettings {
  syntax::SettingTree tree;  ///< without interpolations; what has line 0 is of a bundled file
  std::vector<Finding> assumed;
  std::map<std::string, std::string> environment;  ///< of the trainer
};

/// The files that a trainer ships, which others begin from.
struct BaseFiles {
  std::string_view version;  ///< of the bundled files: "NeMo-RL 7ea279abf"
  /// The bundled file of a path's name; null: there are none.
  std::optional<std::string> (*bundled)(const std::string& path) = nullptr;
  /// Whether a setting changes neither time nor memory, so that it may be one that a bundled file lacks.
  bool (*has_no_effect)(std::string_view key) = nullptr;
  /// What holds where neither file nor command line says otherwise, for a tree that both have made. Null: nothing.
  base::Result<syntax::Setting> (*defaults)(const syntax::Setting& root) = nullptr;
};

/// Composes `file`, whose content is taken from it, lays the words over it and resolves interpolations. Places count
/// `sources` first; words without a place are those of the command line. An Error where a word changes what the file
/// does not have.
base::Result<ComposedSettings> compose_settings(const BaseFiles& bases, const ConfigurationFile& file,
                                                const std::vector<std::string>& sources,
                                                std::vector<syntax::Word> words, ComposedSettings settings,
                                                const syntax::FileReader& read);

/// The settings of a file: the options' arguments are overrides.
base::Result<ComposedSettings> composed_of_file(const BaseFiles& bases, const ConfigurationFile& file,
                                                const RunRequest& request);

/// The file that a launch names by a flag, and the words that are none of it. An Error where only running would tell
/// it.
struct LaunchFile {
  std::string path;  ///< empty: it names none
  syntax::Place place;
  std::vector<syntax::Word> words;
};
base::Result<LaunchFile> launch_file(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     std::string_view flag);

/// The settings of a launch with that file, which is found from where the launch is started, else from the root, else
/// among the bundled ones.
base::Result<ComposedSettings> composed_of_launch(const BaseFiles& bases, const syntax::Launch& launch,
                                                  const LaunchFile& named, const std::vector<std::string>& sources,
                                                  const RunRequest& request);

}  // namespace dovetail::trainers
