// dovetail what-if: is fusion worth it here, and what would other ways of working give.
#include "study/what_if.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/plan_search.h"
#include "cli/played_plan.h"
#include "cli/progress_line.h"
#include "cli/what_if_report.h"
#include "study/worth.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
  int draws = 3;
};

base::Result<plan::Plan> choose(const Arguments& arguments, const predict::Scenario& scenario, const planner::RankOptions& options) {
  if (arguments.plan.plan) return load_plan(*arguments.plan.plan, scenario.job, scenario.software);
  DOVETAIL_TRY(planner::Ranking ranking, find_plans(scenario, options, arguments.plan.job,
                                                    "; dovetail fit says what is missing, and --plan takes one that does not fit"));
  return std::move(ranking.plans.front().plan);
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_CHECK(check_playable(job, arguments.plan.job));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  std::optional<ProgressLine> line(job.name);
  DOVETAIL_TRY(const planner::RankOptions search, rank_options(arguments.search, job.placements, *line));
  DOVETAIL_TRY(const plan::Plan plan, choose(arguments, scenario, search));

  study::WhatIfOptions options;
  options.simulation.seed = arguments.search.budget.seed;
  options.simulation.draws = arguments.draws;
  options.simulation.on_progress = [&line](std::string_view work) { line->update(work); };
  options.threads = search.search.threads;
  study::WhatIfs what_ifs = study::what_ifs(scenario, plan, options);
  line->update(std::string_view("scheduling the training phase in other ways"));
  study::TrainingWorth training = study::training_worth(scenario, plan, what_ifs.training);
  study::GenerationWorth generation = study::generation_worth(scenario, plan, what_ifs, options.simulation.seed);
  line.reset();
  const WhatIfAnswer answer{
      scenario, plan, options.simulation.seed, arguments.draws, std::move(what_ifs), std::move(training), std::move(generation)};
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(answer)));
  else
    print(to_text(answer));
  return stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_what_if(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "what-if", "is fusion worth it here, and what would older policies or partial rollout give",
                                  "  dovetail what-if examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                                  "  dovetail what-if examples/jobs/grpo-8b.yaml --json");
  add_plan_arguments(*command, arguments->plan, "compare with this plan, a dovetail/plan@1 file, in place of the best that is found");
  add_count_option(*command, "--draws", arguments->draws, 1, 1000, "how often the lengths of all samples are drawn and played");
  add_plan_search_arguments(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
