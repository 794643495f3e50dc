// Inside check: whether the tables of all ranks say the same.
#pragma once

#include <optional>
#include <span>

#include "pipeline/program/check.h"

namespace dovetail::pipeline {

/// Models, stages, channels or reductions on which two ranks differ. REQUIRES: check_tables and check_rank found
/// nothing.
std::optional<ProgramFault> find_disagreement(std::span<const Program> programs);

}  // namespace dovetail::pipeline
