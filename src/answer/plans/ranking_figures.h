// Figures of ranked plans that their table and their JSON have.
#pragma once

#include <cstdint>

#include "planner/rank/rank.h"

namespace dovetail::answer {

/// Seconds from the first beginning to the last end of the tasks of a kind, within an iteration; 0 where there are
/// none.
double phase_seconds(const plan::Job& job, const predict::Estimate& estimate, workflow::TaskKind kind);

/// Bytes of host memory that the node with the most needs.
std::int64_t max_host_bytes(const predict::Estimate& estimate);

/// Whether a rule of the job takes time.
bool has_timed_rule(const plan::Job& job);

}  // namespace dovetail::answer
