// Valid schedules of a problem that no solver would find.
#pragma once

#include <cstdint>

#include "pipeline/schedule/schedule.h"

namespace dovetail::test {

/// Ops in an order drawn from `seed`, each as early as it then can be; split backwards drawn whole or apart.
pipeline::Schedule random_schedule(const pipeline::Problem& problem, std::uint64_t seed);

}  // namespace dovetail::test
