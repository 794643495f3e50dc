// Internal interface of the shell script evaluator: its state, and the functions that its source files share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/shell/script_tree.h"
#include "syntax/shell/shell.h"

namespace dovetail::syntax {

// state.cpp: variables, and the state of an evaluation
struct Variable {
  enum class Kind { unset, scalar, indexed, associative };
  Kind kind = Kind::unset;
  bool is_exported = false;
  bool is_whole = false;                 ///< set by `declare -i`: assignments are evaluated as arithmetic
  std::map<std::int64_t, Word> indexed;  ///< elements by index; a scalar is element 0
  std::map<std::string, Word> associative;

  bool operator==(const Variable&) const = default;
};

/// Exit status of a command. If it is unknown, `unknown` says why.
struct ExitStatus {
  int code = 0;
  std::optional<Unknown> unknown;
  bool is_effect = false;              ///< the command is run for its effect, so it is assumed to succeed
  std::vector<std::string> defaulted;  ///< unset variables whose defaults affected the status

  bool operator==(const ExitStatus&) const = default;
};

using Variables = std::map<std::string, Variable>;

/// Everything that the next command may depend on. A branch with an unknown condition is evaluated on a copy.
struct ShellState {
  Variables variables;
  std::map<std::string, const ShellNode*> functions;  ///< bodies by name; null: several definitions are possible
  std::vector<Word> parameters;                       ///< positional parameters: `$1`, ...
  Text directory;
  std::optional<Text> input;  ///< input of `read` and `cat`; nullopt: unknown
  Text output;                ///< output of the command substitution in progress
  ExitStatus status;
  bool stops_on_error = false;  ///< whether `set -e` is in effect
  /// Variables that `local` hides, per active function; nullopt: unset.
  std::vector<std::map<std::string, std::optional<Variable>>> hidden;
};

/// Returns the approximate memory used by the state, in bytes.
std::size_t size_of(const ShellState& state);

/// Returns the elements of a variable in order.
std::vector<Word> elements_of(const Variable& variable);
/// Returns an array variable that holds the words.
Variable list_variable(std::vector<Word> words);

/// Merges the states after two branches, where `why` decides which branch runs.
ShellState either(ShellState one, const ShellState& other, const Unknown& why);

/// How control continues after a command.
struct Flow {
  enum class Kind { normal, broken, continued, returned, exited };
  Kind kind = Kind::normal;
  int levels = 0;  ///< number of enclosing loops still to leave, for broken and continued

  bool is_normal() const { return kind == Kind::normal; }
};

/// A loop, an iteration of a loop, a subshell, or a function or script in progress, with the branches that may have
/// left it early.
struct ShellFrame {
  enum class Kind { iteration, loop, function, subshell };
  Kind kind = Kind::subshell;
  std::size_t conditions = 0;  ///< size of Shell::conditions at the start of the frame
  struct EarlyExit {
    Flow flow;
    ShellState state;
    Unknown why;
  };
  std::vector<EarlyExit> early_exits;
};

/// A decision that depended on the defaults of unset variables.
struct ShellDecision {
  Place place;
  std::vector<std::string> defaulted;
};

/// An evaluation in progress.
struct Shell {
  const ScriptRequest* request = nullptr;
  ScriptOutcome outcome;
  ShellTrees trees;
  ShellState state;
  std::vector<ShellFrame> frames;
  std::vector<Unknown> conditions;
  std::vector<ShellDecision> decisions;
  std::vector<RequiredVariable> newly_required;  ///< variables whose defaults led to the last `exit`
  std::vector<Word> outputs;                     ///< files that receive the output
  Place exit_place;                              ///< place of the last `exit`
  int source = 0;                                ///< index of the source in evaluation
  bool captures = false;                         ///< whether output is captured
  int tested = 0;  ///< nesting depth of conditions; failures in them do not stop the script
  int depth = 0;
  ScriptCost cost;
  std::optional<base::Error> error;
};

/// Adds to the cost of the evaluation. Sets an error and returns false if the cost exceeds a limit.
bool spend(Shell& shell, const Place& place, std::int64_t steps, std::int64_t bytes = 0);
void fail(Shell& shell, const Place& place, std::string message);

/// Increases the nesting depth during its lifetime. Sets an error if the depth exceeds the limit.
class ShellDepth {
 public:
  ShellDepth(Shell& shell, const Place& place);
  ShellDepth(const ShellDepth&) = delete;
  ShellDepth& operator=(const ShellDepth&) = delete;
  ~ShellDepth() { --shell_.depth; }

 private:
  Shell& shell_;
};

// run.cpp: lists, branches, loops and subshells
Flow run(Shell& shell, const ShellNode& node);
/// Runs two branches, where `why` decides which one is taken, and merges their states.
Flow run_either(Shell& shell, const Unknown& why, const std::function<Flow()>& one, const std::function<Flow()>& other);
/// Runs a node in a copy of the state. Returns its output if `captures` is set, otherwise an empty text.
Text run_in_subshell(Shell& shell, const ShellNode& node, bool captures);
/// Runs `body` in a new frame. Merges the states of branches that left early with the state at the end.
Flow run_framed(Shell& shell, ShellFrame::Kind kind, const std::function<Flow()>& body);
/// Runs `body`, which depends on the status of another command. While it runs, Shell::decisions includes this decision
/// if the status depends on the defaults of unset variables.
Flow run_decided(Shell& shell, const ExitStatus& status, const Place& place, const std::function<Flow()>& body);
Flow run_script_text(Shell& shell, std::string_view content, const std::string& path, Place begin);

// simple.cpp: simple commands, assignments and redirections
Flow run_simple(Shell& shell, const ShellNode& node);
void assign(Shell& shell, const Assignment& assignment);
void assign_text(Shell& shell, const std::string& name, Text value, const Place& place);
void write(Shell& shell, const Text& text);
/// Records a command that the evaluator does not compute. Its status is unknown, and so is its output, except for
/// commands such as `mkdir` that print nothing.
Flow record_command(Shell& shell, std::vector<Word> words);
/// Runs a function or a builtin, or records the command.
Flow run_words(Shell& shell, std::vector<Word> words, const ShellNode& node);
Flow run_redirected(Shell& shell, const std::vector<Redirection>& redirections, const std::function<Flow()>& body);

// expand.cpp: expansion of words

/// Expands a word to words: braces, parameters, field splitting.
void expand(Shell& shell, const ShellWord& word, std::vector<Word>& words);
/// Expands a word without field splitting.
Text expand_text(Shell& shell, const WordParts& parts);
/// Expands a word without field splitting. Escapes quoted characters that are special in a pattern or, if `is_regex`,
/// in a regular expression.
Text expand_pattern(Shell& shell, const WordParts& parts, bool is_regex = false);
Text command_output(Shell& shell, const WordPart& part);
/// Splits a string into words at the characters in IFS.
std::vector<Word> split(const Shell& shell, const Text& text, const Place& place);
/// Splits a string into at most `count` fields, like `read`. The last field holds the rest.
std::vector<std::string> split_off(const Shell& shell, std::string_view text, std::size_t count);

// parameter.cpp: parameters such as `$1` and `${name:-default}`
struct ParameterValue {
  bool is_list = false;    ///< a list of elements: `$@`, `$*`, `${a[@]}`, `${a[*]}`
  bool is_joined = false;  ///< `$*`, `${a[*]}`: in double quotes, the elements are joined to one word
  std::vector<Word> words;
  const WordParts* operand = nullptr;  ///< operand to expand instead; null: use `words`
};
ParameterValue parameter_value(Shell& shell, const WordPart& part);
/// Returns the variable as set by the script or the given environment; null if neither sets it.
const Variable* find_variable(const Shell& shell, const std::string& name);
/// Returns the unknown value of a variable that neither the script nor the given environment sets.
Text unset_text(const Shell& shell, const std::string& name, const Place& place);

// arithmetic.cpp: expressions such as `$((n + 1))`
struct ArithmeticValue {
  std::int64_t value = 0;
  std::optional<Unknown> unknown;
};
ArithmeticValue compute(Shell& shell, const Text& expression, const Place& place);
Text to_text(const ArithmeticValue& value);

// condition.cpp: `test`, `[ ... ]` and `[[ ... ]]`
ExitStatus test_tree(Shell& shell, const TestTree& tree);
ExitStatus test_words(Shell& shell, const std::vector<Word>& words, const Place& place);

// builtins.cpp: builtins such as `echo`

/// Runs a command that the evaluator computes. Returns nullopt for any other command.
std::optional<Flow> run_builtin(Shell& shell, const std::vector<Word>& words, const ShellNode& node);

// pattern.cpp: patterns with `*`, `?` and `[a-z]`, in which a backslash escapes the next character
/// Returns whether the pattern matches the whole text.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// Match to remove from a string: the shortest or longest one at its start or its end.
enum class PatternPlace { min_prefix, max_prefix, min_suffix, max_suffix };
std::string remove_pattern(std::string_view text, std::string_view pattern, PatternPlace place);

/// Matches to replace in a string: the first one, all, or the one at its start or its end.
enum class ReplacePlace { first, all, prefix, suffix };
std::string replace_pattern(std::string_view text, std::string_view pattern, std::string_view replacement,
                            ReplacePlace place);

/// Matches an extended POSIX regular expression. Returns the match and its groups, or an empty list if it does not
/// match. Returns nullopt if the expression is invalid or could be slow.
std::optional<std::vector<std::string>> find_regex(const std::string& regex, const std::string& text);

}  // namespace dovetail::syntax
