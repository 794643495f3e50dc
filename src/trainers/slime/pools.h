// Which GPUs slime trains on, and which generate (slime/ray/placement_group.py).
#pragma once

#include "base/result.h"
#include "cluster/mesh.h"
#include "syntax/tree.h"
#include "trainers/import/roles.h"

namespace dovetail::trainers {

struct SlimePools {
  cluster::Mesh trainer;
  cluster::Mesh engines;
};

/// Both from the first GPU on where they are colocated, else the engines behind the trainer. Makes the run's cluster
/// what the user says, else nodes as large as the flags have them. An Error at the flag that asks for too many, or of
/// the option that has too few.
base::Result<SlimePools> slime_pools(const syntax::SettingTree& tree, const ImportOptions& options, ImportedRun& run);

}  // namespace dovetail::trainers
