// JSON members that several answers about schedules share.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/schedules/schedule_question.h"
#include "fuse/solution/variation.h"

namespace dovetail::answer {

/// JSON of a solver's record.
Json solver_json(const pipeline::SolverRecord& solver);

/// Adds the objective, and if set, the deadline and the weight of robustness.
void add_question(const ScheduleQuestion& question, Json& object);

/// Adds `bounds`, which hold for any schedule.
void add_bounds(const ScheduleQuestion& question, Json& object);

/// Adds `excess` and `smallest_capacity` for a schedule of `problem` that does not fit.
void add_excess(const pipeline::Problem& problem, const std::vector<pipeline::CapacityExcess>& excess, Json& object);
/// Peak memory and capacity of the devices that do not fit.
Json excess_json(const std::vector<pipeline::CapacityExcess>& excess);

/// Makespan when durations vary by this many thousandths.
Json variation_json(int thousandths, const fuse::Variation& variation, base::TimeUnit unit);

/// Adds `timing`, with the search speed if it is known.
void add_timing(double seconds, double iterations_per_second, Json& object);

/// A dovetail/schedule-report@1 object which says that no schedule can satisfy the request.
std::string impossible_json(const ScheduleQuestion& question, const Impossible& impossible);

}  // namespace dovetail::answer
