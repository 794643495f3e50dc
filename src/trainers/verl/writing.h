// Plans as settings of verl, and jobs as whole files of it (docs/trainer-verl.md).
#pragma once

#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter verl_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> verl_ways(const WaysRequest& request);

/// A file of the job; an Error where verl does not run it, or not without settings that only its users know.
base::Result<WholeFile> verl_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
