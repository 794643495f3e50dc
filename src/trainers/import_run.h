// Reads the configuration of any supported trainer as a job and a plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/options.h"

namespace dovetail::trainers {

/// A job and a plan, with their origin.
struct Import {
  std::string trainer;             ///< "verl"
  std::string why;                 ///< reason for recognizing the trainer: "it starts verl.trainer.main_ppo on line 12"
  std::string file;                ///< path as given by the user
  std::vector<std::string> files;  ///< files that were read, starting with those that places refer to
  ImportedRun run;
  std::string text;  ///< the job in dovetail/job@1
  plan::Job job;
  plan::Plan plan;
  std::optional<syntax::Launch> launch = std::nullopt;  ///< for a launch script; its places refer to `files`
  syntax::SettingTree settings = {};                    ///< see ReadRun
};

/// Returns whether import_run should read the file. This is the case if `path` names a trainer ("verl:run.sh",
/// "nemo-rl:grpo.yaml") or the file is a shell script. Otherwise, the content must not be a job, and must be a
/// trainer's configuration, or a log with a configuration or the command of a run.
bool is_foreign(const std::string& path, std::string_view content);

/// Returns `path` without a leading name of a trainer ("verl:").
std::string file_of(const std::string& path);

/// Reads a configuration, a launch script, or a log that contains either. Scripts are evaluated but never run. Only
/// files below the options' `root` are read. It defaults to the repository that contains the file, or else the file's
/// folder. Models are also looked up in `hub_cache`, Hugging Face's download cache (import/models.h), unless it is
/// empty. Errors have a location if possible.
base::Result<Import> import_run(const std::string& path, const std::string& content, const ImportOptions& options,
                                const std::string& hub_cache = {});

/// Describes how the file was read: "run.sh is read as a configuration of verl: it starts verl.trainer.main_ppo on line
/// 12".
std::string reading_text(const Import& import);
/// Returns a finding with its place: "actor_rollout_ref.actor.strategy: fsdp2: ... (run.sh:12)".
std::string finding_text(const Import& import, const Finding& finding);

}  // namespace dovetail::trainers
