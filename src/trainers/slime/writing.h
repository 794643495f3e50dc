// Plans as flags of slime, and jobs as whole files of it (docs/trainer-slime.md).
#pragma once

#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter slime_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> slime_ways(const WaysRequest& request);

/// A file of the job; an Error where slime does not run it, or not without settings that only its users know.
base::Result<WholeFile> slime_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
