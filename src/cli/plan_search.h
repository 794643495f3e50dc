// The options of commands that search plans, and what such a search shows of itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/progress_line.h"
#include "planner/rank/rank.h"

namespace dovetail::cli {

struct PlanSearchArguments {
  std::string means = "all";
  int simulated = 5;  ///< RankOptions::simulated: the same of all commands, so that they mean the same first plan
  SearchBudget budget{.chains = planner::SearchOptions{}.chains, .seed = planner::SearchOptions{}.seed};
};

/// Adds --means, --chains, --iterations, --time-limit, --threads and --seed.
void add_plan_search_arguments(CLI::App& command, PlanSearchArguments& arguments);

/// What they say, with `placements`, by their names (none: all); on a terminal `line` shows how far it is.
/// An Error for a placement that there is not.
base::Result<planner::RankOptions> rank_options(const PlanSearchArguments& arguments, const std::vector<std::string>& placements,
                                                ProgressLine& line);

/// planner::rank_plans, within half of the time that is left, if that is limited: the rest is for what is done with the plan. Errors have
/// the job's path, and that no plan fits is one. `advice` says what to do then, or is empty.
base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const std::string& job_path, const std::string& advice);

}  // namespace dovetail::cli
