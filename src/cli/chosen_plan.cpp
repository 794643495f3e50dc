#include "cli/chosen_plan.h"

#include <utility>

#include "base/file.h"
#include "cli/output.h"
#include "plan/plan_file.h"

namespace dovetail::cli {

base::Result<plan::Plan> load_plan(const std::string& path, const plan::Job& job) {
  DOVETAIL_TRY(const std::string text, base::read_file(path));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, base::display_path(path), job));
  if (plan::is_for_another_job(plan, job))
    print_note("the plan was made for another job, or for this one before it was changed; what follows is of this job");
  return plan;
}

base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const std::string& job_path, const std::string& advice) {
  auto ranking = planner::rank_plans(scenario, planner::with_share_of_time(options, scenario, 2));
  if (!ranking.ok()) {
    base::Error error = std::move(ranking).error();
    if (error.path.empty()) error.path = base::display_path(job_path);
    return error;
  }
  if (ranking->plans.empty())
    return base::Error{base::Failure::infeasible, base::display_path(job_path), 0, 0, "no plan of this job fits" + advice};
  return ranking;
}

}  // namespace dovetail::cli
