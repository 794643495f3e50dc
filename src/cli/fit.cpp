// dovetail fit: whether a job fits on its cluster, or a plan into the memory of its devices, with what margin, and what sets the limit.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/fit_report.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/plan_search.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
};

template <class Answer>
void print_answer(const Answer& answer, bool json) {
  if (json)
    print_json(to_json(answer));
  else
    print(to_text(answer));
}

base::Result<int> run_plan(const Arguments& arguments, const predict::Scenario& scenario) {
  DOVETAIL_TRY(const plan::Plan plan, load_plan(*arguments.plan.plan, scenario.job, scenario.software));
  const predict::Estimate estimate = predict::estimate(scenario, plan);
  print_answer(FittedPlan{scenario, plan, estimate, planner::grow_lengths(scenario, plan)}, arguments.plan.json);
  return estimate.fits() ? exit_done : exit_infeasible;
}

base::Result<int> run_job(const Arguments& arguments, const predict::Scenario& scenario) {
  std::optional<ProgressLine> line(scenario.job.name);
  DOVETAIL_TRY(const planner::RankOptions options, rank_options(arguments.search, scenario.job.placements, *line));
  auto fit = planner::fit_job(scenario, options);
  line.reset();
  if (!fit.ok()) {
    base::Error error = std::move(fit).error();
    if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
    return error;
  }
  print_answer(FittedJob{scenario, fit.value()}, arguments.plan.json);
  if (stop_on_interrupt().requested()) return exit_interrupted;
  return fit.value().fit() == predict::Fit::does_not_fit ? exit_infeasible : exit_done;
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  return arguments.plan.plan ? run_plan(arguments, scenario) : run_job(arguments, scenario);
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "fit", "whether a job or a plan fits into memory, with what margin, and what sets the limit",
                                  "  dovetail fit examples/jobs/ppo-7b.yaml\n"
                                  "  dovetail fit examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, arguments->plan, "this plan, a dovetail/plan@1 file, in place of searching");
  add_plan_search_arguments(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
