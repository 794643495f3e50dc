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
  std::string why;                 ///< how the trainer was recognized: "it starts verl.trainer.main_ppo"
  std::string file;                ///< path as given
  std::vector<std::string> files;  ///< files that were read; those that places refer to come first
  ImportedRun run;
  std::string text;  ///< the job in dovetail/job@1
  plan::Job job;
  plan::Plan plan;
  std::optional<syntax::Launch> launch =
      std::nullopt;                   ///< the launch, for a launch script; its places refer to `files`
  syntax::SettingTree settings = {};  ///< see ReadRun
};

/// Returns whether import_run should read `content`: if `path` names a trainer ("verl:run.sh", "nemo-rl:grpo.yaml"), or
/// if the content is a launch script or a trainer's configuration and not a job.
bool is_foreign(const std::string& path, std::string_view content);

/// Returns `path` without the name of a trainer before it.
std::string file_of(const std::string& path);

/// Reads a configuration, or a launch script, which is evaluated but never run. Only files below the options' `root`
/// are read; by default that is the repository that contains the file, or the file's folder. Other models may be in
/// `hub_cache`, the download cache of Hugging Face (import/models.h); if it is empty, no cache is used. Errors have a
/// place if possible.
base::Result<Import> import_run(const std::string& path, const std::string& content, const ImportOptions& options,
                                const std::string& hub_cache = {});

/// "run.sh is read as a configuration of verl: it starts verl.trainer.main_ppo".
std::string reading_words(const Import& import);
/// A finding with its place: "actor_rollout_ref.actor.strategy: fsdp2: ... (run.sh:12)".
std::string finding_words(const Import& import, const Finding& finding);

}  // namespace dovetail::trainers
