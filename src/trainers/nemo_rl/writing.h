// Plans as settings of NeMo-RL, and jobs as whole files of it (docs/trainer-nemo-rl.md).
#pragma once

#include <vector>

#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

extern const TrainerWriter nemo_rl_writer;

/// Other ways to run a configuration's job (TrainerWriter::ways_of).
std::vector<OtherWay> nemo_rl_ways(const WaysRequest& request);

/// A file of the job; an Error where NeMo-RL does not run it, or not without settings that only its users know.
base::Result<WholeFile> nemo_rl_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
