// Reads command lines as Python's argparse does: flags with types and defaults become a tree of settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"
#include "syntax/tree.h"

namespace dovetail::syntax {

/// Value that a flag expects.
enum class FlagKind {
  on,       ///< no value: true if given (store_true)
  either,   ///< no value: `--x` is true, `--no-x` is false (BooleanOptionalAction)
  integer,  ///< an integer
  number,   ///< a number
  text,     ///< one word
  path,     ///< path or name of a model; if only its folder is unknown, the value is the rest of the path
  pair,     ///< two numbers
  list      ///< any number of words
};

struct Flag {
  std::string_view name;  ///< "--actor.num_nodes"
  FlagKind kind = FlagKind::text;
  std::string_view fallback = {};     ///< default value; empty: false for `on`, otherwise null
  std::string_view accepted = {};     ///< accepted values, separated by |; empty: all
  std::string_view older_names = {};  ///< names in older versions, separated by |
};

/// A word of a command line that is neither a known flag nor the value of one.
struct StrayArgument {
  std::string text;
  Place place;
};

struct Arguments {
  SettingTree tree;                      ///< values by current flag name; line 0 marks a default
  std::vector<StrayArgument> unknown;    ///< unknown flags, and words with known text that belong to no flag
  std::vector<StrayArgument> uncertain;  ///< words that belong to no flag and whose text is not fully known
};

/// Returns the values that `words` give to `flags`, and the defaults of all other flags. A flag and its value have the
/// form `--x value` or `--x=value`. A name may be shortened to an unambiguous prefix. If a flag occurs several times,
/// the last occurrence wins. A word that starts with `-` is a flag, unless it is `-` alone, a negative number, or has a
/// space before any `=`. Returns an Error at the word at which argparse would stop: if a value is missing, has the
/// wrong type or is not accepted, if a switch has a value, or if a prefix is ambiguous.
base::Result<Arguments> parse_arguments(std::span<const Flag> flags, std::span<const Word> words,
                                        const std::vector<std::string>& sources);

}  // namespace dovetail::syntax
