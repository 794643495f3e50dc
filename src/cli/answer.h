// A solver's answer as schedule, compare and show need it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question/json.h"
#include "base/result.h"
#include "cli/output.h"
#include "fuse/bounds/bounds.h"
#include "fuse/solve.h"
#include "fuse/solver.h"

namespace dovetail::cli {

using fuse::Solved;

/// The least capacity of each device with which a schedule of any length fits: what is resident, and one micro-batch of one pipeline.
std::vector<base::Memory> min_capacities(const pipeline::Problem& problem);
/// The same in words, a line or a table.
std::string min_capacity_text(const pipeline::Problem& problem);

/// What is said where no schedule at all fits (fuse::find_impossible); a table follows.
inline constexpr const char* impossible_message = "no schedule fits the memory: one micro-batch alone holds more than there is";

/// "annealing, seed 1, 4 chains x 120000 iterations", as far as the record goes.
std::string describe(const pipeline::SolverRecord& solver);

/// A solver's record, for JSON.
answer::Json to_json(const pipeline::SolverRecord& solver);

/// Adds what was asked for: the objective, and where they are set the deadline, in `unit`, and the weight of robustness.
void add_request(answer::Json& object, const fuse::SolveOptions& options, base::TimeUnit unit);

/// The largest excess over the devices; 0 where all fit.
base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess);

/// What the devices that do not fit hold and may hold: a table, and the same for JSON.
std::string excess_table(const std::vector<pipeline::CapacityExcess>& excess);
answer::Json excess_json(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::cli
