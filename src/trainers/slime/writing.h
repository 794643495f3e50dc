// Plans as flags of slime, and jobs as whole files of it (docs/trainer-slime.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter slime_writer;

/// A file of the job; an Error where slime does not run it, or not without settings that only its users know.
base::Result<WholeFile> slime_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
