// Tasks that run at the same time in one plan, and follow one another in another.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/advice/comparison.h"

namespace dovetail::planner {

/// Two tasks of a workflow, and how long both run at the same time in an iteration of each of two plans.
struct SideBySide {
  std::size_t one = 0;
  std::size_t two = 0;
  SecondsPair seconds;
};

/// All pairs that run side by side for some time in one plan or the other, those first whose time differs most. Of
/// iterations that overlap a task runs beside those of its neighbours, too.
std::vector<SideBySide> side_by_side(const EstimatedPlan& here, const EstimatedPlan& there);

}  // namespace dovetail::planner
