// What answers say of schedules that do not fit the memory.
#pragma once

#include <vector>

#include "answer/question/section.h"
#include "base/quantity.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::answer {

/// The least capacity of each device with which a schedule of any length fits: what is resident, and one micro-batch of
/// one pipeline.
std::vector<base::Memory> min_capacities(const pipeline::Problem& problem);
/// The same in words, a line or a table.
Sections min_capacity_sections(const pipeline::Problem& problem);

/// What is said where no schedule at all fits (fuse::find_impossible); a table follows.
inline constexpr const char* impossible_message =
    "no schedule fits the memory: one micro-batch alone holds more than there is";

/// The largest excess over the devices; 0 where all fit.
base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess);

/// What the devices that do not fit hold and may hold.
Table excess_table(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::answer
