// Jobs as whole configurations of NeMo-RL (docs/trainer-nemo-rl.md).
#pragma once

#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

/// A file of the job; an Error where NeMo-RL does not run it, or not without settings that only its users know.
base::Result<WholeFile> nemo_rl_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
