// The fewest changes that make a plan fit, where no single one does.
#pragma once

#include <optional>

#include "planner/advice/changes.h"

namespace dovetail::planner {

/// Changes one task after the other, always the one by which the least is missing then, until the plan fits; gives back
/// what it would fit without, and makes what is left as fast as it can be. First with other settings alone; then with
/// other layouts on the same devices; then on any. Nothing where that leads nowhere.
std::optional<Change> repair(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around);

}  // namespace dovetail::planner
