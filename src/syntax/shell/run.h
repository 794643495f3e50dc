// The evaluator of shell scripts: its parts call each other through here. Private to shell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/shell/script_tree.h"
#include "syntax/shell/shell.h"
#include "syntax/shell/state.h"

namespace dovetail::syntax {

/// How the evaluation goes on after a command.
struct Flow {
  enum class Kind { normal, broken, continued, returned, exited };
  Kind kind = Kind::normal;
  int levels = 0;  ///< of broken and continued: how many more loops

  bool is_normal() const { return kind == Kind::normal; }
};

/// What a loop, a function, a subshell or the script gathers of branches that left it early and may not have been
/// taken.
struct ShellFrame {
  enum class Kind { iteration, loop, function, subshell };
  Kind kind = Kind::subshell;
  std::size_t doubts = 0;  ///< how many there were at its begin
  struct Early {
    Flow flow;
    ShellState state;
    Unknown why;
  };
  std::vector<Early> early;
};

/// A decision that was taken as some variables have defaults.
struct ShellDecision {
  Place place;
  std::vector<std::string> defaulted;
};

/// An evaluation under way.
struct Shell {
  const ScriptRequest* request = nullptr;
  ScriptOutcome outcome;
  ShellTrees trees;
  ShellState state;
  std::vector<ShellFrame> frames;
  std::vector<Unknown> doubts;
  std::vector<ShellDecision> decisions;
  std::vector<DemandedVariable> newly_demanded;  ///< by the last `exit`
  std::vector<Word> outputs;                     ///< files that the output goes to
  Place exit_place;                              ///< of the last `exit`
  int source = 0;                                ///< that is being evaluated
  bool captures = false;                         ///< output is wanted
  int tested = 0;  ///< how many conditions are being evaluated: failures do not stop the script there
  int depth = 0;
  ScriptEffort effort;
  std::optional<base::Error> error;
};

/// Counts work; false, with an error, once it is too much.
bool spend(Shell& shell, const Place& place, std::int64_t steps, std::int64_t bytes = 0);
void fail(Shell& shell, const Place& place, std::string message);

/// One level deeper while it stands; an error where that is too deep.
class ShellDepth {
 public:
  ShellDepth(Shell& shell, const Place& place);
  ShellDepth(const ShellDepth&) = delete;
  ShellDepth& operator=(const ShellDepth&) = delete;
  ~ShellDepth() { --shell_.depth; }

 private:
  Shell& shell_;
};

// run.cpp
Flow run(Shell& shell, const ShellNode& node);
/// Runs what may or may not be run, depending on `why`, and puts both together.
Flow run_either(Shell& shell, const Unknown& why, const std::function<Flow()>& one, const std::function<Flow()>& other);
/// Runs in a copy of the state; its output where it is wanted.
Text run_in_subshell(Shell& shell, const ShellNode& node, bool captures);
/// Runs in a frame of its own: what left early is put together with what went on.
Flow run_framed(Shell& shell, ShellFrame::Kind kind, const std::function<Flow()>& body);
/// Runs what another command decides; the decision is remembered where defaults led to it.
Flow run_decided(Shell& shell, const ExitStatus& status, const Place& place, const std::function<Flow()>& body);
Flow run_script_text(Shell& shell, std::string_view content, const std::string& path, Place begin);

// loops.cpp
Flow run_loop(Shell& shell, const ShellNode& node);

// simple.cpp
Flow run_simple(Shell& shell, const ShellNode& node);
void assign(Shell& shell, const Assignment& assignment);
void assign_text(Shell& shell, const std::string& name, Text value, const Place& place);
void write(Shell& shell, const Text& text);
/// Records a command that is not computed; its status and its output are unknown.
Flow reach(Shell& shell, std::vector<Word> words);
/// Runs a function, a command that is computed, or another one.
Flow run_words(Shell& shell, std::vector<Word> words, const ShellNode& node);
Flow run_redirected(Shell& shell, const std::vector<Redirection>& redirections, const std::function<Flow()>& body);

// expand.cpp
/// The words that a word becomes: braces, parameters, splitting.
void expand(Shell& shell, const ShellWord& word, std::vector<Word>& words);
/// What it becomes without splitting.
Text expand_text(Shell& shell, const WordParts& parts);
/// The same, with a backslash before each quoted character that a pattern, or else a regular expression, would obey.
Text expand_pattern(Shell& shell, const WordParts& parts, bool is_regex = false);
Text command_output(Shell& shell, const WordPart& part);
/// Words at blanks or at what IFS says.
std::vector<Word> split(const Shell& shell, const Text& text, const Place& place);
/// As many fields as there are variables, the last one with all that is left, as `read` has them.
std::vector<std::string> split_off(const Shell& shell, std::string_view text, std::size_t count);
/// The word once for each choice of its braces.
std::vector<WordParts> expand_braces(Shell& shell, const ShellWord& word);

// parameter.cpp
struct ParameterValue {
  bool is_list = false;    ///< "$@", "${a[@]}": each a word of its own
  bool is_joined = false;  ///< "$*", "${a[*]}"
  std::vector<Word> words;
  const WordParts* operand = nullptr;  ///< what is expanded in its place; null for the words themselves
};
ParameterValue parameter_value(Shell& shell, const WordPart& part);
/// The variable of a name as it stands, or of the environment.
const Variable* find_variable(const Shell& shell, const std::string& name);
/// What `$NAME` is where nobody has set it.
Text unset_text(const Shell& shell, const std::string& name, const Place& place);

// arithmetic.cpp
struct ArithmeticValue {
  std::int64_t value = 0;
  std::optional<Unknown> unknown;
};
ArithmeticValue compute(Shell& shell, const Text& expression, const Place& place);
Text to_text(const ArithmeticValue& value);

// condition.cpp
ExitStatus test_tree(Shell& shell, const TestTree& tree);
ExitStatus test_words(Shell& shell, const std::vector<Word>& words, const Place& place);

// builtins.cpp
/// Runs a command that the evaluator computes itself; nothing where it is another one.
std::optional<Flow> run_builtin(Shell& shell, const std::vector<Word>& words, const ShellNode& node);

// printing.cpp: what a command prints; nothing where it is not computed.
std::optional<Text> format_words(Shell& shell, const std::vector<Word>& words, const Place& place);
std::optional<std::string> sequence(Shell& shell, const std::vector<Word>& words, const Place& place);
}  // namespace dovetail::syntax
