// Configuration at the start of a log: printed by Python, printed as YAML, or in the command that started the run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// Returns whether a log contains `key` as Python prints the key of a member: in quotes, followed by a colon.
bool has_printed_configuration(std::string_view content, std::string_view key);

/// Reads the first object with the member `key` that Python printed. pprint may have split it into many lines of one
/// process. Ray's prefixes, and lines of other processes in between, are skipped. Places refer to the log as source 0.
/// Returns an Error if the start of the object is missing, and at the place where the object is not closed or is
/// malformed. REQUIRES: has_printed_configuration(content, key).
base::Result<syntax::Setting> read_printed_configuration(std::string_view content, const std::string& path,
                                                         std::string_view key);

/// Returns the YAML printed in a log: the block of YAML lines around the first line that starts with `key:`. Lines of
/// the log before the block become empty, so places are those of the log. Returns nullopt if no line starts with
/// `key:`. Also returns nullopt if no log line ("[2026-02-03 10:00:00] [pipeline.py (838)] [INFO] ...") follows, since
/// the file may then itself be a configuration.
std::optional<std::string> yaml_of_log(std::string_view content, std::string_view key);

struct LoggedCommand {
  /// The command, and earlier lines that set variables, at their lines and columns in the log. All other lines are
  /// empty. A command that Hydra printed begins at column 1.
  std::string script;
  int line = 0;
  bool is_traced = false;  ///< printed by `set -x` or by Hydra, so variables are already expanded
};

/// Returns the first command of a log that starts a trainer: traced by bash ("+ python3 -m verl.trainer.main_ppo ..."),
/// written by a user, possibly on several lines, or printed by Hydra when a verl run failed. Returns nullopt if the log
/// contains none.
std::optional<LoggedCommand> find_logged_command(std::string_view content, const syntax::TrainerTest& is_trainer);

}  // namespace dovetail::trainers
