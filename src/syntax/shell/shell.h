// Shell scripts, evaluated and never run: which commands a script reaches, with which words.
//
// The evaluator computes what bash would without asking anything but the script itself: variables, arrays, arithmetic,
// conditions, loops, functions, here-documents, and a few commands (`echo`, `printf`, `seq`, `dirname`, `cd`, ...). It
// starts no process, writes nothing, and reads only what `source` names, through the reader that it is given. What any
// other command prints or answers is unknown, and stays a piece of the words that it reaches. Where a condition is
// unknown both branches are evaluated: what they leave different is unknown, the commands within are in doubt.
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

/// What an evaluation took: commands and expansions by their size, and bytes that were held.
struct ScriptEffort {
  std::int64_t steps = 0;
  std::int64_t bytes = 0;
};

struct ScriptRequest {
  std::string path;       ///< of the script, as it would be called: its `$0`, and its name in messages
  std::string content;    ///< of the script
  std::string directory;  ///< where it would be started; empty: not known
  /// What the user says of the environment. A variable that the script sets to something unknown takes its value from
  /// here, too.
  std::map<std::string, std::string> environment;
  std::vector<std::string> arguments;                   ///< its `"$@"`
  FileReader read;                                      ///< for `source`; none: nothing is read
  Place begin = {.source = 0, .line = 1, .column = 1};  ///< of the content's first character
  ScriptEffort before = {};                             ///< of the scripts that led to this one
};

/// A command that the script reaches and that the evaluator does not compute itself.
struct ReachedCommand {
  std::vector<Word> words;  ///< the command and its arguments; at least one
  std::map<std::string, Text> environment;
  Text directory;
  std::optional<Text> input;     ///< a here-document or a here-string
  std::vector<Word> outputs;     ///< the files that its output goes to
  std::optional<Unknown> doubt;  ///< what decides whether it is reached
};

/// A variable without which the script stops itself: its value is taken as unknown.
struct DemandedVariable {
  std::string name;
  Place place;  ///< where the script would stop
};

/// A file that the script includes and that was not read.
struct UnreadFile {
  Text name;
  Place place;
  std::string reason;
};

/// Where and how the script stops itself, if it does.
struct ScriptEnd {
  Place place;
  std::string reason;
};

struct ScriptOutcome {
  std::vector<std::string> sources;  ///< what a Place counts: the script, then what it included
  std::vector<ReachedCommand> commands;
  std::map<std::string, std::vector<Word>> variables;  ///< at the end; an array has any number of words, others one
  std::vector<DemandedVariable> demanded;
  std::vector<UnreadFile> unread;
  std::optional<ScriptEnd> end;
  ScriptEffort effort;  ///< with that of the scripts before
};

/// Evaluates a script. An Error at its place where it is not in the syntax of bash, or takes, with those before it,
/// more steps or memory than any launch script does.
base::Result<ScriptOutcome> evaluate_script(const ScriptRequest& request);

}  // namespace dovetail::syntax
