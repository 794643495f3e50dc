// Figures of ranked plans for their table and JSON.
#pragma once

#include <cstdint>

#include "planner/rank/rank.h"

namespace dovetail::answer {

/// Seconds from the first start to the last end of the tasks of a kind, within an iteration; 0 without such tasks.
double phase_seconds(const plan::Job& job, const predict::Estimate& estimate, workflow::TaskKind kind);

/// Max host memory over the nodes, in bytes.
std::int64_t max_host_bytes(const predict::Estimate& estimate);

/// Whether any rule of the job takes time.
bool has_timed_rule(const plan::Job& job);

}  // namespace dovetail::answer
