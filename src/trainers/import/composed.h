// Settings composed from a YAML file, its parents, and overrides in Hydra's grammar on the command line.
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
  syntax::SettingTree tree;  ///< with interpolations resolved; line 0 marks defaults and values of bundled files
  std::vector<Finding> assumed;
  std::map<std::string, std::string> environment;  ///< environment variables of the trainer
};

/// Configuration files that ship with a trainer and that other files inherit from.
struct BaseFiles {
  std::string_view version;  ///< version of the bundled files: "NeMo-RL 7ea279abf"
  /// Returns the content of the bundled file for a path, or nullopt. Null: no files are bundled.
  std::optional<std::string> (*bundled)(const std::string& path) = nullptr;
  /// Returns whether a setting affects neither time nor memory. Such settings may be missing in a bundled file.
  bool (*has_no_effect)(std::string_view key) = nullptr;
  /// Returns default values for the settings composed from the file and the command line. Null: no defaults.
  base::Result<syntax::Setting> (*defaults)(const syntax::Setting& root) = nullptr;
};

/// Composes `file`, applies `words` as overrides, and resolves interpolations with the environment of `settings`.
/// Returns `settings` with further assumptions and with the tree, whose sources start with `sources`. Words without a
/// place are attributed to the command line. Returns an Error if an override changes a key that does not exist.
base::Result<ComposedSettings> compose_settings(const BaseFiles& bases, const ConfigurationFile& file,
                                                const std::vector<std::string>& sources,
                                                std::vector<syntax::Word> words, ComposedSettings settings,
                                                const syntax::FileReader& read);

/// Composes the settings of a file. `request.options.arguments` are overrides.
base::Result<ComposedSettings> composed_of_file(const BaseFiles& bases, const ConfigurationFile& file,
                                                const RunRequest& request);

/// The configuration file of a launch, and the other words of its command.
struct LaunchFile {
  std::string path;  ///< empty: no file is given
  syntax::Place place;
  std::vector<syntax::Word> words;
};
/// Returns the file given by `flag` ("--config"). If only the start of its path is unknown, as in $FOLDER/run.yaml, the
/// rest is the path. Otherwise an unknown path is an Error.
base::Result<LaunchFile> launch_file(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     std::string_view flag);

/// Composes the settings of a launch with the file `named`. The file is looked up in the working directory of the
/// launch, then in the root folder, then among the bundled files.
base::Result<ComposedSettings> composed_of_launch(const BaseFiles& bases, const syntax::Launch& launch,
                                                  const LaunchFile& named, const std::vector<std::string>& sources,
                                                  const RunRequest& request);

}  // namespace dovetail::trainers
