// What a plan needs of a trainer's configuration, setting by setting, in the trainer's own words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/job.h"
#include "plan/plan.h"
#include "trainers/syntax/arguments.h"

namespace dovetail::trainers {

/// One setting. Hydra's prefix says that it may be one that the configuration does not have: "++key".
struct Setter {
  std::string key;    ///< of a flag its name: "--ds.zero_stage"
  std::string value;  ///< as it is written: "4", "True"; empty: of a flag that takes none

  bool operator==(const Setter&) const = default;
};

/// A setting, and others without which the trainer stops at it or does not heed it.
struct Change {
  Setter set;
  std::vector<Setter> with = {};
  bool removes = false;  ///< the flag goes

  bool operator==(const Change&) const = default;
};

/// How the plans of a job are said in a trainer's configuration.
struct TrainerWriter {
  std::string_view name;  ///< "verl"
  /// All settings that say how the plan's tasks run, whatever a configuration has of them already.
  std::vector<Change> (*changes_of)(const plan::Job& job, const plan::Plan& plan);
  /// The flags of its command, where it is configured by flags in launch scripts; else settings are laid over as words.
  std::span<const Flag> (*flags)() = nullptr;
};

/// "True" and "False", as Python and Hydra have them.
std::string flag_text(bool value);

/// The part of the task of that name; null where the job has none.
const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task);

}  // namespace dovetail::trainers
