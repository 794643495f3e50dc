// Evaluator of shell scripts. Finds the commands that a script reaches, and their words, without running anything.
//
// The evaluator computes what bash would compute from the script alone: variables, arrays, arithmetic, conditions,
// loops, functions, here-documents, and a few commands (`echo`, `printf`, `seq`, `dirname`, `cd`, ...). It starts no
// process and writes nothing. It reads only files named by `source`, through the given reader. The output and status of
// any other command are unknown. A word that contains such output has an unknown piece there. If a condition is
// unknown, both branches are evaluated. Values that differ afterwards are unknown, and commands in the branches are
// conditional.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/files.h"
#include "syntax/text.h"

namespace dovetail::syntax {

/// Cost of an evaluation: steps (commands and expansions, weighted by size) and bytes of memory.
struct ScriptCost {
  std::int64_t steps = 0;
  std::int64_t bytes = 0;
};

struct ScriptRequest {
  std::string path;  ///< path of the script as invoked: its `$0`, and its name in messages
  std::string content;
  std::string directory;  ///< working directory at the start; empty: unknown
  /// Environment variables given by the user. They also replace unknown values of variables that the script sets.
  std::map<std::string, std::string> environment;
  std::vector<std::string> arguments;                   ///< arguments of the script: `"$@"`
  FileReader read;                                      ///< reader for `source`; empty: no file is read
  Place begin = {.source = 0, .line = 1, .column = 1};  ///< place of the first character of the content
  ScriptCost before = {};                               ///< cost of the scripts that started this one
};

/// A command that the script reaches and that the evaluator does not compute.
struct ReachedCommand {
  std::vector<Word> words;  ///< the command and its arguments; at least one word
  std::map<std::string, Text> environment;
  Text directory;
  std::optional<Text> input;         ///< standard input; nullopt: unknown
  std::vector<Word> outputs;         ///< files that receive the output
  std::optional<Unknown> condition;  ///< condition that decides whether it is reached; nullopt: always reached
};

/// A variable that the user must set, because the script would exit without it. Its value is unknown.
struct RequiredVariable {
  std::string name;
  Place place;  ///< place where the script would exit
};

/// A file that the script includes but that could not be read.
struct UnreadFile {
  Text name;
  Place place;
  std::string reason;
};

/// The place where the script exits early, and the reason.
struct ScriptEnd {
  Place place;
  std::string reason;
};

struct ScriptOutcome {
  std::vector<std::string> sources;  ///< files that places refer to: the script, then included files
  std::vector<ReachedCommand> commands;
  std::map<std::string, std::vector<Word>> variables;  ///< final values; one word unless it is an array
  std::vector<RequiredVariable> required;
  std::vector<UnreadFile> unread;
  std::optional<ScriptEnd> end;
  ScriptCost cost;  ///< total cost, including ScriptRequest::before
};

/// Evaluates a script. Returns an Error with a location if the script violates bash syntax, or if it exceeds a limit on
/// steps, memory or nesting.
base::Result<ScriptOutcome> evaluate_script(const ScriptRequest& request);

}  // namespace dovetail::syntax
