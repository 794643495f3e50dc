// JSON members that several answers about schedules share.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/schedules/schedule_question.h"
#include "fuse/solution/variation.h"

namespace dovetail::answer {

/// Returns a solver's name with the seed, chains and iterations that were recorded.
Json solver_json(const pipeline::SolverRecord& solver);

/// Adds `objective`. Also adds `deadline` and `robust`, the weight of robustness in percent, if they are set.
void add_question(const ScheduleQuestion& question, Json& object);

/// Adds `bounds`, the lower bounds on makespan and peak activation for any schedule of the problem.
void add_bounds(const ScheduleQuestion& question, Json& object);

/// Adds `excess` and `smallest_capacity` for a schedule of `problem` that does not fit.
void add_excess(const pipeline::Problem& problem, const std::vector<pipeline::CapacityExcess>& excess, Json& object);
/// Returns peak memory, capacity and excess of the devices on which the schedule does not fit.
Json excess_json(const std::vector<pipeline::CapacityExcess>& excess);

/// Returns the median and the 95th percentile of the makespan when durations vary by this many thousandths.
Json variation_json(int thousandths, const fuse::Variation& variation, base::TimeUnit unit);

/// Adds `timing`, with the search speed if it is known.
void add_timing(double seconds, double iterations_per_second, Json& object);

/// A dovetail/schedule-report@1 object which says that no schedule can satisfy the request.
std::string impossible_json(const ScheduleQuestion& question, const Impossible& impossible);

}  // namespace dovetail::answer
