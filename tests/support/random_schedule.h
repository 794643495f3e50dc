// Random valid schedules of a problem.
#pragma once

#include <cstdint>

#include "pipeline/schedule/schedule.h"

namespace dovetail::test {

/// Returns a schedule with an order drawn from `seed`, each op as early as possible. Each split backward is whole or
/// split at random.
pipeline::Schedule random_schedule(const pipeline::Problem& problem, std::uint64_t seed);

}  // namespace dovetail::test
