// Plans as settings of AReaL, and jobs as whole files of it (docs/trainer-areal.md).
#pragma once

#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter areal_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> areal_ways(const WaysRequest& request);

/// A file of the job; an Error where AReaL does not run it, or not without settings that only its users know.
base::Result<WholeFile> areal_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
