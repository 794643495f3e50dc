// The plan that a command works with: the one that it is given, or the best that a search finds.
#pragma once

#include <string>

#include "base/result.h"
#include "place/rank/rank.h"
#include "plan/plan.h"

namespace dovetail::cli {

/// Reads a plan of the job; a note where it was made for another.
base::Result<plan::Plan> load_plan(const std::string& path, const plan::Job& job);

/// place::rank_plans, within half of the time that is left, if that is limited: the rest is for what is done with the plan. Errors have the
/// job's path, and that no plan fits is one. `advice` says what to do then, or is empty.
base::Result<place::Ranking> find_plans(const place::Ground& ground, const place::RankOptions& options, const std::string& job_path,
                                        const std::string& advice);

}  // namespace dovetail::cli
