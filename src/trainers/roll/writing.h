// Plans as settings of ROLL, and jobs as whole files of it (docs/trainer-roll.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter roll_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> roll_ways(const WaysRequest& request);

/// The rounds of a step of a role that trains so, with which it is of the job's samples; nothing where ROLL counts
/// samples.
std::optional<Setter> roll_steps(const syntax::SettingTree& settings, const std::string& role, const plan::Job& job,
                                 const plan::TaskPlan& trained);

/// A file of the job; an Error where ROLL does not run it, or not without settings that only its users know.
base::Result<WholeFile> roll_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
