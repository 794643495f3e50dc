// The trainer's command among those that a script reaches, behind whatever starts it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/shell/shell.h"

namespace dovetail::syntax {

/// What Python is asked to run.
struct EntryPoint {
  std::string name;                ///< "verl.trainer.main_ppo", or the path of a script
  bool is_module = false;          ///< behind `-m`; else the path of a script
  bool has_configuration = false;  ///< `--config` is among its arguments
};

/// Whether an entry point is a trainer's.
using TrainerTest = std::function<bool(const EntryPoint& entry)>;

/// A trainer that a script starts.
struct Launch {
  EntryPoint entry;
  std::vector<Word> arguments;  ///< what the trainer gets
  std::map<std::string, Text> environment;
  Text directory;
  Place place;                   ///< of the entry point
  std::optional<Unknown> doubt;  ///< what decides whether it is started
};

/// Adds the launches of an outcome in their order: commands themselves, behind what starts others (`uv run`, `ray job
/// submit`, `srun`, `torchrun`, `accelerate launch`, `nohup`, `env`, ...), and in scripts that `bash -c` or `bash FILE`
/// run, which are evaluated in their turn. Their sources and unread files are added to the outcome.
base::Result<std::vector<Launch>> find_launches(ScriptOutcome& outcome, const ScriptRequest& request,
                                                const TrainerTest& is_trainer);

/// The one launch that a script is about: the only one, or one of several that are the same. An Error where there is
/// none, where several differ, or where something unknown decides about it.
base::Result<Launch> only_launch(const ScriptOutcome& outcome, const std::vector<Launch>& launches);

}  // namespace dovetail::syntax
