// A search space in which a given plan has a place: what its neighbours are compared in.
#pragma once

#include "planner/space/search_space.h"

namespace dovetail::planner {

/// `selection` has the plan's own tasks, in settings and layouts of which the search itself may know nothing.
struct PlanSpace {
  SearchSpace space;
  Selection selection;
};

/// The space that a search looks at, with the plan's meshes, with its tasks among the choices and with all
/// variations_of these. Choices that are not the search's come last, and may not fit even on devices where nothing else
/// is. REQUIRES: the plan has no fault.
PlanSpace space_around(const predict::Scenario& scenario, const plan::Plan& plan, const ChoiceRules& rules,
                       int threads);

}  // namespace dovetail::planner
