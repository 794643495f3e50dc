// What a script has set so far. Private to shell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "syntax/shell/script_tree.h"

namespace dovetail::syntax {

struct Variable {
  enum class Kind { unset, scalar, indexed, associative };
  Kind kind = Kind::unset;
  bool is_exported = false;
  bool is_whole = false;                 ///< `declare -i`: what is assigned is computed
  std::map<std::int64_t, Word> indexed;  ///< of a scalar: element 0
  std::map<std::string, Word> associative;

  bool operator==(const Variable&) const = default;
};

/// How a command ended. Where it is not known, `unknown` says why.
struct ExitStatus {
  int code = 0;
  std::optional<Unknown> unknown;
  bool is_effect = false;  ///< of a command that is run for what it does: success is expected
  std::vector<std::string> defaulted;

  bool operator==(const ExitStatus&) const = default;
};

using Variables = std::map<std::string, Variable>;

/// All that the next command may depend on. A branch whose condition is unknown works on a copy.
struct ShellState {
  Variables variables;
  std::map<std::string, const ShellNode*> functions;  ///< null: not known which
  std::vector<Word> parameters;                       ///< `$1`, ...
  Text directory;
  std::optional<Text> input;  ///< what `read` and `cat` would take; none: not known
  Text output;                ///< of the command substitution that is being evaluated
  ExitStatus status;
  bool stops_on_error = false;                                         ///< `set -e`
  std::vector<std::map<std::string, std::optional<Variable>>> hidden;  ///< by `local`, for each function that runs
};

/// How many bytes the state takes, about.
std::size_t size_of(const ShellState& state);

/// The elements of a variable in their order.
std::vector<Word> elements_of(const Variable& variable);
/// A variable that is a list of words.
Variable list_variable(std::vector<Word> words);

/// The state after one of two branches, depending on `why`.
ShellState either(ShellState one, const ShellState& other, const Unknown& why);

}  // namespace dovetail::syntax
