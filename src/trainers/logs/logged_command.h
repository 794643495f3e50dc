// The command that started a run, where its log has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "syntax/shell/launch.h"

namespace dovetail::trainers {

struct LoggedCommand {
  /// The command at its lines and columns, with the variables that lines before it set; all other lines are empty.
  std::string script;
  int line = 0;
  bool is_traced = false;  ///< `set -x` printed it, and all that it says is in it
};

/// The first command of a log that starts a trainer: as bash prints it ("+ python3 -m verl.trainer.main_ppo ..."), or
/// as somebody wrote it there, on several lines too. Nothing where there is none.
std::optional<LoggedCommand> find_logged_command(std::string_view content, const syntax::TrainerTest& is_trainer);

}  // namespace dovetail::trainers
