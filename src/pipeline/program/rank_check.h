// Inside check: one rank's program by itself.
#pragma once

#include <optional>

#include "pipeline/program/check.h"

namespace dovetail::pipeline {

/// Whether everything that the program's tables point at is there, so that the other checks can follow it.
std::optional<ProgramFault> check_tables(const Program& program);

/// The first instruction that comes too early, twice or in the wrong order; what is missing at the end; a false peak.
/// REQUIRES: check_tables found nothing.
std::optional<ProgramFault> check_rank(const Program& program);

}  // namespace dovetail::pipeline
