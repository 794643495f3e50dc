// Finds the commands of a script that start a trainer, directly or through a launcher such as torchrun.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/shell/shell.h"

namespace dovetail::syntax {

/// Module or script that Python runs.
struct EntryPoint {
  std::string name;                ///< "verl.trainer.main_ppo", or the path of a script
  bool is_module = false;          ///< whether the name follows `-m`
  bool has_configuration = false;  ///< whether the arguments include `--config`
  bool has_overrides = false;      ///< whether the first argument is a Hydra override
};

/// Returns whether an entry point belongs to a trainer.
using TrainerTest = std::function<bool(const EntryPoint& entry)>;

/// A trainer that a script starts.
struct Launch {
  EntryPoint entry;
  std::vector<Word> arguments;  ///< arguments passed to the trainer
  std::map<std::string, Text> environment;
  Text directory;
  Place place;                       ///< place of the entry point
  std::optional<Unknown> condition;  ///< condition that decides whether it starts; nullopt: always starts
};

/// Returns the launches among the commands of `outcome`, in order. Finds trainers that are started directly, by a
/// launcher (`uv run`, `ray job submit`, `srun`, `torchrun`, `accelerate launch`, `nohup`, `env`, ...), or by another
/// script. Scripts run by `bash -c` or `bash FILE` are evaluated too. Their sources and unread files are added to
/// `outcome`.
base::Result<std::vector<Launch>> find_launches(ScriptOutcome& outcome, const ScriptRequest& request,
                                                const TrainerTest& is_trainer);

/// Returns whether two launches start the same program with the same arguments.
bool is_same(const Launch& one, const Launch& other);

/// Returns the only unconditional launch of a script. Launches that are the same (is_same) count as one. Returns an
/// Error if no launch is unconditional, or if unconditional launches differ.
base::Result<Launch> only_launch(const ScriptOutcome& outcome, const std::vector<Launch>& launches);

}  // namespace dovetail::syntax
