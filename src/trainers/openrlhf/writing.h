// Plans as flags of OpenRLHF, and jobs as whole files of it (docs/trainer-openrlhf.md).
#pragma once

#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter openrlhf_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> openrlhf_ways(const WaysRequest& request);

/// A file of the job; an Error where OpenRLHF does not run it, or not without settings that only its users know.
base::Result<WholeFile> openrlhf_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
