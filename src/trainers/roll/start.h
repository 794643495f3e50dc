// What stops ROLL before its first step (roll/configs/{base_config,worker_config}.py,
// roll/pipeline/rlvr/rlvr_config.py, roll/distributed/strategy), beside what layouts are checked for.
#pragma once

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// An Error at the key for which ROLL's RLVR pipeline would stop.
base::Status check_roll_start(const syntax::SettingTree& tree);

}  // namespace dovetail::trainers
