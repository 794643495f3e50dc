// Configurations in YAML that are made of others: `defaults:` as Hydra composes them, or the path of a parent.
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
  std::string path;                  ///< of the configuration; others are found from its folder
  FileReader read;                   ///< for it and for what it names
  std::vector<Word> words;           ///< overrides, as they reach the trainer; what is none is left out
  std::vector<std::string> sources;  ///< that the words' places count
};

/// Composes a configuration. Its `defaults:` are a parent's path (or a list of them), relative to the file, or Hydra's
/// list: `_self_`, names of files beside it, `group: choice`, `group@package: choice`, `optional`, `override`, choices
/// with `${group}` in them. Overrides choose groups first and change values then. Interpolations of values stay as they
/// are written: resolve() is next. The tree's sources are the request's, then each file that was read.
base::Result<SettingTree> compose_configuration(const ConfigurationRequest& request);

/// Puts the values of interpolations in their places: `${a.b}`, `${.sibling}`, `${..uncle}`, `${oc.env:NAME,default}`,
/// `${oc.select:a.b,default}`, and sums (`mul`, `add`, `sub`, `div`, `max`, `min`). What another resolver would give,
/// what is not there, and what goes round in a circle is an unknown value. An Error where the whole grows beyond any
/// configuration.
base::Status resolve(SettingTree& tree, const std::map<std::string, std::string>& environment);

}  // namespace dovetail::syntax
