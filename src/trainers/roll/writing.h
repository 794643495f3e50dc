// Plans as settings of ROLL, and jobs as whole files of it (docs/trainer-roll.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter roll_writer;

/// A file of the job; an Error where ROLL does not run it, or not without settings that only its users know.
base::Result<WholeFile> roll_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
