// Composes YAML configurations from several files. The `defaults:` key of a file names the files that it builds on, as
// Hydra's list or as paths of parent files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/files.h"
#include "syntax/override.h"
#include "syntax/tree.h"

namespace dovetail::syntax {

struct ConfigurationRequest {
  std::string path;                  ///< path of the main file; paths in it are relative to its folder
  FileReader read;                   ///< reader of this file and the files that it names
  std::vector<Word> words;           ///< the trainer's arguments; words that are not overrides are ignored
  std::vector<std::string> sources;  ///< sources that the places of `words` refer to
};

/// Composes a configuration. `defaults:` holds the path of a parent relative to the file, a list of such paths, or
/// Hydra's list: `_self_`, names of files in the same folder, `group: choice`, `group@package: choice`, `optional`,
/// `override`, and choices that contain `${group}`. An entry with `override` replaces the choice of its group in its
/// own list, at any position, and in the files read after this list, unless the command line or an earlier `override`
/// sets that choice. Arguments that choose from groups apply before those that change values. Interpolations stay as
/// written; call resolve() next. The sources of the tree are those of the request, followed by the files read.
base::Result<SettingTree> compose_configuration(const ConfigurationRequest& request);

/// Replaces interpolations by their values: `${a.b}`, `${.sibling}`, `${..uncle}`, `${oc.env:NAME,default}`,
/// `${oc.select:a.b,default}`, `${oc.decode:text}`, and arithmetic (`mul`, `add`, `sum`, `sub`, `div`, `max`, `min`).
/// Other resolvers, missing keys and circular references become unknown values. Returns an Error if the result exceeds
/// the size limit.
base::Status resolve(SettingTree& tree, const std::map<std::string, std::string>& environment);

}  // namespace dovetail::syntax
