// Plans as settings of verl, and jobs as whole files of it (docs/trainer-verl.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter verl_writer;

/// A file of the job; an Error where verl does not run it, or not without settings that only its users know.
base::Result<WholeFile> verl_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
