// Random valid schedules of a problem.
#pragma once

#include <cstdint>

#include "pipeline/schedule/schedule.h"

namespace dovetail::test {

/// Returns a schedule with an order drawn from `seed`, in which each op starts as early as possible. Backwards that may
/// be split are whole or split at random.
pipeline::Schedule random_schedule(const pipeline::Problem& problem, std::uint64_t seed);

}  // namespace dovetail::test
