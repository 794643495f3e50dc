// What a trainer's folder gives to write its configurations; trainers/writers.h lists them all.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "syntax/arguments.h"
#include "syntax/tree.h"
#include "trainers/export/change.h"
#include "trainers/export/ways.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

/// How the plans of a job are said in a trainer's configuration.
struct TrainerWriter {
  std::string_view name;  ///< "verl"
  /// All settings that say how the plan's tasks run, whatever a configuration has of them already. `settings` are those
  /// of the base, which decide what is said by which key: its backends and engines.
  std::vector<Change> (*changes_of)(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings);
  /// Other ways to run the job of a configuration; null: there are none. What comes of them is read again by who asks:
  /// some may be none that the trainer takes.
  std::vector<OtherWay> (*ways_of)(const WaysRequest& request) = nullptr;
  /// The flags of its command, where it is configured by flags in launch scripts; else settings are laid over as words.
  std::span<const syntax::Flag> (*flags)() = nullptr;
  /// Its YAML is changed in place (export/yaml_edit.h): it has no way to begin from another file.
  bool patches = false;
  bool takes_words = true;  ///< its command takes settings behind the file's
  /// A file of a job alone; null: none is written without a base.
  base::Result<WholeFile> (*whole)(const JobFacts& facts) = nullptr;
};

}  // namespace dovetail::trainers
