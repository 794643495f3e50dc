// dovetail explain: why a plan is not the best, or why it does not fit, and what to change.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/explain_report.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/plan_search.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
  int shown = 10;
};

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  DOVETAIL_TRY(const plan::Plan plan, load_plan(*arguments.plan.plan, job, software));
  std::optional<ProgressLine> line(job.name);
  DOVETAIL_TRY(const planner::RankOptions options, rank_options(arguments.search, job.placements, *line));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  auto explanation = planner::explain(scenario, plan, options);
  line.reset();
  if (!explanation.ok()) {
    base::Error error = std::move(explanation).error();
    if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
    return error;
  }
  const ExplainedPlan explained{scenario, plan, std::move(explanation).value(), static_cast<std::size_t>(arguments.shown)};
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(explained)));
  else
    print(to_text(explained));
  if (stop_on_interrupt().requested()) return exit_interrupted;
  return explained.explanation.best ? exit_done : exit_infeasible;
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "explain", "why a plan is not the best, or does not fit, and what to change",
                                  "  dovetail explain examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, arguments->plan, "the plan, a dovetail/plan@1 file");
  require_option(*command, "--plan");
  add_count_option(*command, "--top", arguments->shown, 1, 1000, "how many changes to show at most");
  add_plan_search_arguments(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
