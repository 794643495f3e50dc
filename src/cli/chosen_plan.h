// The plan that a command works with: the one that it is given, or the best that a search finds.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"
#include "planner/rank/rank.h"

namespace dovetail::cli {

/// Reads a plan of the job; a note where it was made for another.
base::Result<plan::Plan> load_plan(const std::string& path, const plan::Job& job);

/// planner::rank_plans, within half of the time that is left, if that is limited: the rest is for what is done with the plan. Errors have
/// the job's path, and that no plan fits is one. `advice` says what to do then, or is empty.
base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const std::string& job_path, const std::string& advice);

}  // namespace dovetail::cli
