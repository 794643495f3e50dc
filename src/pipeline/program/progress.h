// Inside check: whether the programs of all ranks come to their end, run beside each other.
#pragma once

#include <optional>
#include <span>

#include "pipeline/program/check.h"

namespace dovetail::pipeline {

/// A rank that waits for ever. What each waits for does not depend on times, so that one run stands for all.
/// REQUIRES: find_disagreement found nothing.
std::optional<ProgramFault> find_deadlock(std::span<const Program> programs, Delivery delivery);

}  // namespace dovetail::pipeline
