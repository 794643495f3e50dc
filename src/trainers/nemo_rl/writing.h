// Plans as settings of NeMo-RL, and jobs as whole files of it (docs/trainer-nemo-rl.md).
#pragma once

#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

extern const TrainerWriter nemo_rl_writer;

/// A file of the job; an Error where NeMo-RL does not run it, or not without settings that only its users know.
base::Result<WholeFile> nemo_rl_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
