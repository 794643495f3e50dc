// What a trainer's folder gives to read its configurations; trainers/import_run.h lists them all.
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

/// A file that says how a run is configured.
struct ConfigurationFile {
  std::string name;     ///< as the user wrote its path: for messages
  std::string path;     ///< as the request's reader has it: what it names is found from there
  std::string content;  ///< of the file
  /// What it says, where it was read already: out of a log, at whose places it stands.
  std::optional<syntax::Setting> printed = {};
};

/// A run with the files that its places count.
struct ReadRun {
  ImportedRun run;
  std::vector<std::string> sources;
  syntax::SettingTree settings = {};  ///< all of it, for who writes plans by the keys that it has; may be empty
};

/// The configurations of one trainer.
struct TrainerReader {
  std::string_view name;  ///< "verl"
  /// Whether Python is asked to run one of its programs, also where that is one that is not read.
  bool (*is_entry)(const syntax::EntryPoint& entry);
  /// The run of a launch whose places count `sources`.
  base::Result<ReadRun> (*of_launch)(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     const RunRequest& request);
  /// Whether a file looks like its configuration; null where it is configured by launch scripts alone.
  bool (*is_configuration)(std::string_view content) = nullptr;
  std::string_view told_by = {};  ///< by what that is told: "actor_rollout_ref"
  base::Result<ReadRun> (*of_configuration)(const ConfigurationFile& file, const RunRequest& request) = nullptr;
  /// Whether it may be one of its programs where no trainer's is_entry says whose it is: users write programs of their
  /// own. Null: none is.
  bool (*may_be_entry)(const syntax::EntryPoint& entry) = nullptr;
  /// The member by which the configuration is told that the trainer prints at the head of its log; empty: it prints
  /// none.
  std::string_view printed_by = {};
};

/// Whether a line of the content begins with `key:`, as members of the whole do in YAML.
bool has_top_key(std::string_view content, std::string_view key);

/// A configuration as W&B keeps it has each member as {desc: ..., value: ...}: without that.
syntax::Setting without_wrapping(syntax::Setting root);

}  // namespace dovetail::trainers
