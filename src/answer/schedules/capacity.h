// Texts about schedules that do not fit the memory.
#pragma once

#include <vector>

#include "answer/question/section.h"
#include "base/quantity.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::answer {

/// Minimum capacity per device for any schedule to fit: resident memory plus one micro-batch of one pipeline.
std::vector<base::Memory> min_capacities(const pipeline::Problem& problem);
/// The same as a line, or as a table if devices differ.
Sections min_capacity_sections(const pipeline::Problem& problem);

/// Message if no schedule can fit (fuse::find_impossible); a table follows.
inline constexpr const char* impossible_message =
    "no schedule fits the memory: a single micro-batch exceeds the capacity";

/// Largest excess over all devices; 0 if all fit.
base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess);

/// Peak memory and capacity of the devices that do not fit.
Table excess_table(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::answer
