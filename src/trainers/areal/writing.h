// Plans as settings of AReaL, and jobs as whole files of it (docs/trainer-areal.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter areal_writer;

/// A file of the job; an Error where AReaL does not run it, or not without settings that only its users know.
base::Result<WholeFile> areal_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
