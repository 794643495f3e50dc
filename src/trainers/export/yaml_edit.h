// Values of a YAML file, changed where they stand: all else of it stays as it is, to the byte.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// A value that the file is to have.
struct YamlEdit {
  std::string key;           ///< "actor_train.strategy_args.strategy_config.tensor_model_parallel_size"
  std::string value;         ///< a number, `true`, `false`, `null`, or the characters of a string
  std::string comment = {};  ///< stands above it in a line of its own; empty: none
};

/// The content with the edits. Where the key is there its value alone changes, in the quotes that it has; where it is
/// not it comes behind the last plain member of the map that it belongs to, in that map's style. What stands for a map
/// (an alias, an interpolation) and gets another member gives way to the map that it stands for, as `resolved` has it.
/// The result, read again, has exactly these values and all others as they were. An Error at its place where the
/// content is no YAML, where a key leads through what is no map, or where a value cannot change alone: others have it
/// by an anchor, or it stands on several lines.
base::Result<std::string> edit_yaml(std::string_view content, const std::string& path,
                                    const std::vector<YamlEdit>& edits, const syntax::SettingTree& resolved);

}  // namespace dovetail::trainers
