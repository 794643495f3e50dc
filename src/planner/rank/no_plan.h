// Why there is no plan: of a task that no layout fits, and of a placement that was asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rank/finalists.h"
#include "planner/search/placements.h"

namespace dovetail::planner {

/// What rank_plans says of a job whose impossible_task is `task`. Infeasible: its layouts are too large (with what it
/// needs at least), host memory is too small, those that share its devices do not fit there, or the framework has no
/// layout for it. Bad input: what the job fixes leaves none.
base::Error nothing_to_choose(const SearchSpace& space, std::size_t task, OptionSet option_set);

/// A named placement with the fastest of its selections that fit, else the one that comes nearest; without any where it
/// cannot be had.
struct TriedPlacement {
  Placement placement = Placement::co_located;
  std::optional<Selection> selection;
};

/// A placement that was asked for and of which there is no plan.
struct AbsentPlacement {
  Placement placement = Placement::searched;
  std::string why;  ///< "does not fit: ...", "does not apply: ...", of the search that it found nothing faster
};

/// Of the placements that were asked for those that none of `plans` is of, in the order of all_placements. REQUIRES:
/// each named placement that was asked for was tried, and co_located where rlhfuse was.
std::vector<AbsentPlacement> absent_placements(const SearchSpace& space, OptionSet option_set,
                                               const std::vector<Placement>& asked,
                                               const std::vector<TriedPlacement>& tried,
                                               const std::vector<RankedPlan>& plans);

}  // namespace dovetail::planner
