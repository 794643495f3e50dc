// Interface of the code that reads one trainer's configurations. import_run.cpp lists all readers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/roles.h"

namespace dovetail::trainers {

/// A file that configures a run.
struct ConfigurationFile {
  std::string name;  ///< path as written by the user, for messages
  std::string path;  ///< path for the request's reader; paths in the configuration are relative to its folder
  std::string content;
  /// Settings that were read from a log, which replace `content`; their places refer to the log.
  std::optional<syntax::Setting> printed = {};
};

/// A run, and the files that its places refer to.
struct ReadRun {
  ImportedRun run;
  std::vector<std::string> sources;
  syntax::SettingTree settings = {};  ///< all settings, for writers that depend on existing keys; may be empty
};

/// The configuration reader of one trainer.
struct TrainerReader {
  std::string_view name;  ///< "verl"
  /// Returns whether an entry point is one of the trainer's programs, including programs that this reader rejects.
  bool (*is_entry)(const syntax::EntryPoint& entry);
  /// Reads the run of a launch, whose places refer to `sources`.
  base::Result<ReadRun> (*of_launch)(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     const RunRequest& request);
  /// Returns whether a file looks like the trainer's configuration. Null: the trainer has only launch scripts.
  bool (*is_configuration)(std::string_view content) = nullptr;
  std::string_view recognized_by = {};  ///< keys by which is_configuration recognizes a file: "actor_rollout_ref"
  base::Result<ReadRun> (*of_configuration)(const ConfigurationFile& file, const RunRequest& request) = nullptr;
  /// Returns whether an entry point may be a user's own program for this trainer. Used only if no trainer's is_entry
  /// matches. Null: never.
  bool (*may_be_entry)(const syntax::EntryPoint& entry) = nullptr;
  /// Member by which the configuration printed at the start of a log is recognized. Empty: the trainer prints none.
  std::string_view printed_by = {};
};

}  // namespace dovetail::trainers
