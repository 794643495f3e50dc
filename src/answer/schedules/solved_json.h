// What the JSON of several answers has of schedules and solvers.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/schedules/asked.h"
#include "fuse/solution/variation.h"

namespace dovetail::answer {

/// A solver's record.
Json solver_json(const pipeline::SolverRecord& solver);

/// Adds what was asked for: the objective, and where they are set the deadline and the weight of robustness.
void add_asked(const Asked& asked, Json& object);

/// Adds `bounds`: of any schedule.
void add_bounds(const Asked& asked, Json& object);

/// Adds `excess` and `smallest_capacity`, of a schedule of `problem` that does not fit.
void add_excess(const pipeline::Problem& problem, const std::vector<pipeline::CapacityExcess>& excess, Json& object);
/// What the devices that do not fit hold and may hold.
Json excess_json(const std::vector<pipeline::CapacityExcess>& excess);

/// The makespan when durations vary by as many thousandths.
Json variation_json(int thousandths, const fuse::Variation& variation, base::TimeUnit unit);

/// Adds `timing`; the speed of a search, where it told one.
void add_timing(double seconds, double iterations_per_second, Json& object);

/// A dovetail/schedule-report@1 object: that no schedule can do what is asked.
std::string impossible_json(const Asked& asked, const Impossible& impossible);

}  // namespace dovetail::answer
