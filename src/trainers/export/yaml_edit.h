// In-place edits of values in a YAML file. All other bytes are unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// A new value for a key.
struct YamlEdit {
  std::string key;           ///< "actor_train.strategy_args.strategy_config.tensor_model_parallel_size"
  std::string value;         ///< a number, `true`, `false`, `null`, or the characters of a string
  std::string comment = {};  ///< comment on a separate line above the value; empty: no comment
};

/// Returns the content with the edits. The value of an existing key is replaced and keeps its quotes. A new key is
/// added in the style of its map: at the start of a map in braces, otherwise after the last member whose value is on
/// the line of its key. If the map is an alias or interpolation, it is first replaced by the map to which it refers in
/// `resolved`. Parsing the result gives exactly the new values and no other changes. Returns an Error with a location
/// if the content is not YAML, if a key leads through a value that is not a map, or if a value is shared by an anchor
/// or extends over several lines.
base::Result<std::string> edit_yaml(std::string_view content, const std::string& path,
                                    const std::vector<YamlEdit>& edits, const syntax::SettingTree& resolved);

}  // namespace dovetail::trainers
