// Why one plan of a job takes longer than another, in a few words.
#pragma once

#include <string>

#include "planner/advice/comparison.h"

namespace dovetail::report {

/// "idle time +1.9 s, actor_train +1.2 s (bubbles +0.9 s)": what makes `plan` slower than `other`, or faster: idle time
/// of the average device; the critical activities that differ most that way, what one of both fuses taken together;
/// tasks that run side by side in one of them and follow one another in the other. At most three; that nothing does
/// where there is none.
std::string reasons_against(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                            const planner::EstimatedPlan& other);

}  // namespace dovetail::report
