// Command lines as Python's argparse reads them: flags with types and defaults, as a tree of settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"
#include "syntax/tree.h"

namespace dovetail::syntax {

/// What stands behind a flag.
enum class FlagKind {
  on,      ///< nothing: it is true where it is given (store_true)
  either,  ///< nothing: `--x` is true, `--no-x` false (BooleanOptionalAction)
  whole,   ///< a whole number
  number,  ///< a number
  text,    ///< a word
  path,    ///< the path or name of a model: of a path whose folder is unknown the last name is known
  pair,    ///< two numbers
  list     ///< any number of words
};

struct Flag {
  std::string_view name;              ///< "--actor.num_nodes"
  FlagKind kind = FlagKind::text;     ///< what it takes
  std::string_view fallback = {};     ///< what holds where nobody gives it; empty: null, or false of a switch
  std::string_view accepted = {};     ///< the only values, with | between them; empty: all
  std::string_view older_names = {};  ///< that versions have for it, with | between them
};

/// A word of a command line with its place.
struct StrayWord {
  std::string text;
  Place place;
};

struct Arguments {
  SettingTree tree;                 ///< by the flags' present names; what has line 0 is a default
  std::vector<StrayWord> unknown;   ///< flags that the table does not have, and words that belong to none
  std::vector<StrayWord> doubtful;  ///< words of which only running would tell what they are
};

/// What `words` say over the defaults of `flags`: `--x value`, `--x=value`, an unambiguous beginning of a name, the
/// last of several. Words that look like flags are no values, negative numbers are. An Error at its place where
/// argparse would stop: a value is missing or not of its type, a switch has one, a beginning is that of several flags.
base::Result<Arguments> parse_arguments(std::span<const Flag> flags, std::span<const Word> words,
                                        const std::vector<std::string>& sources);

}  // namespace dovetail::syntax
