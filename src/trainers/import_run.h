// Configurations of trainers, whosever they are, as jobs and plans.
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

/// A job and a plan with what they were read from.
struct Import {
  std::string trainer;             ///< "verl"
  std::string why;                 ///< "it starts verl.trainer.main_ppo"
  std::string file;                ///< as its path was given
  std::vector<std::string> files;  ///< that were read; what a Place counts comes first
  ImportedRun run;
  std::string text;  ///< the job, as dovetail/job@1
  plan::Job job;
  plan::Plan plan;
  std::optional<syntax::Launch> launch = std::nullopt;  ///< of a launch script, whose places count `files`
  syntax::SettingTree settings = {};                    ///< as ReadRun has them
};

/// Whether `content` is to be read by import_run: `path` says so ("verl:run.sh", "nemo-rl:grpo.yaml"), or it is a
/// launch script or the configuration of a trainer, and no job.
bool is_foreign(const std::string& path, std::string_view content);

/// `path` without what is said of the trainer.
std::string file_of(const std::string& path);

/// Reads a launch script, which is evaluated and never run, or a configuration. Only files below the options' `root`
/// are read; where it is not given, below the folder of the repository that the file is in, or its own folder. A model
/// that is none of these may be one below `hub_cache`, where Hugging Face's libraries keep what they fetched
/// (import/hub_cache.h; empty: none is looked for). Every mistake is an Error, with its place where it has one.
base::Result<Import> import_run(const std::string& path, const std::string& content, const ImportOptions& options,
                                const std::string& hub_cache = {});

/// "run.sh is read as verl's launch script: it starts verl.trainer.main_ppo".
std::string reading_words(const Import& import);
/// A finding with its place: "actor_rollout_ref.actor.strategy: fsdp2: ... (run.sh:12)".
std::string finding_words(const Import& import, const Finding& finding);

}  // namespace dovetail::trainers
