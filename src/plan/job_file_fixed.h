// `fixed` of a job file.
#pragma once

#include "base/document.h"
#include "base/result.h"
#include "plan/job.h"

namespace dovetail::plan {

/// Reads the value of `fixed` into `job`, whose other members are there. Every mistake, also one that find_fault finds
/// in a task's part, is an Error at its line and column.
base::Status read_fixed(const base::Node& node, Job& job);

}  // namespace dovetail::plan
