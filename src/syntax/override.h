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
  enum class Kind { change, add, force, remove };
  Kind kind = Kind::change;
  std::string key;               ///< `actor.optim.lr`, or a group: `db/engine`
  std::string package;           ///< of a group: what follows `@`
  std::optional<Setting> value;  ///< none where `~key` says none
  Place place;
};

/// Whether a word has the form of an override, so that parse_override() is its reader: its key begins as one, and `=`
/// or a leading `~` follows.
bool is_override(const Word& word);

/// Reads one override. A value with unknown pieces is an unknown value, one that stands in doubt keeps the doubt.
/// Values are null, booleans, numbers, quoted and plain texts, `[...]`, `{...}` and `${...}`; what would start several
/// runs (`a,b`, `range(...)`) is an Error at its place. `sources` names the sources for messages.
base::Result<Override> parse_override(const Word& word, const std::vector<std::string>& sources);

/// Reads a value alone.
base::Result<Setting> parse_value(std::string_view text, const Place& place, const std::vector<std::string>& sources);

/// Lays overrides over a tree in their order. `change` needs the key, `add` needs that the key is not there or null,
/// or that the value is a map or a list, as Hydra does;
/// a mistake is an Error at its place.
base::Status apply_overrides(SettingTree& tree, const std::vector<Override>& overrides);

}  // namespace dovetail::syntax
