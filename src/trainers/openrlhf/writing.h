// Plans as flags of OpenRLHF, and jobs as whole files of it (docs/trainer-openrlhf.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter openrlhf_writer;

/// A file of the job; an Error where OpenRLHF does not run it, or not without settings that only its users know.
base::Result<WholeFile> openrlhf_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
