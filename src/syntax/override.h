// Overrides on a command line, in Hydra's grammar: `key=value`, `+key=value`, `++key=value`, `~key`, `group=choice`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"
#include "syntax/tree.h"

namespace dovetail::syntax {

struct Override {
  /// Form of the override: `key=value`, `+key=value`, `++key=value` or `~key`.
  enum class Kind { change, add, force, remove };
  Kind kind = Kind::change;
  std::string key;               ///< `actor.optim.lr`, or a group: `db/engine`
  std::string package;           ///< for a group: the text after `@`
  std::optional<Setting> value;  ///< nullopt for `~key` without a value
  Place place;
};

/// Returns whether a word has the form of an override: a key and `=`, possibly after plus signs, or `~` and a key.
/// parse_override() rejects all other words, and more than two plus signs.
bool is_override(const Word& word);

/// Parses one override. If part of the value is unknown, the whole value is unknown. The value of a conditional word
/// depends on the same condition. Values are null, booleans, numbers, quoted and plain text, `[...]`, `{...}` and
/// `${...}`. Sweeps over several runs (`a,b`, `range(...)`) are Errors at their place. `sources` are the file names for
/// messages.
base::Result<Override> parse_override(const Word& word, const std::vector<std::string>& sources);

/// Parses a value without a key.
base::Result<Setting> parse_value(std::string_view text, const Place& place, const std::vector<std::string>& sources);

/// Applies overrides to a tree, in order and by Hydra's rules. `change` and `remove` require that the key exists. `add`
/// requires that the key is missing or null, or that the new value is a map or a list. `force` works with or without
/// the key. The value of a `remove`, if given, must be the current value. A violation is an Error at its place.
base::Status apply_overrides(SettingTree& tree, const std::vector<Override>& overrides);

}  // namespace dovetail::syntax
