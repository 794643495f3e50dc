// dovetail plan: the plans of a job, searched and ranked; or what a given plan costs, phase by phase.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/plan_search.h"
#include "cli/prediction_report.h"
#include "cli/ranking_report.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  std::optional<std::string> output;
  std::vector<std::string> placements;
  int shown = static_cast<int>(place::RankOptions{}.shown);
  PlanSearchArguments search;
};

base::Result<int> run_prediction(const PlanArguments& arguments) {
  DOVETAIL_TRY(const Prediction prediction, predict(arguments));
  if (arguments.json)
    print_json(to_json(prediction));
  else
    print(to_text(prediction));
  return exit_done;
}

base::Result<int> run_ranking(const Arguments& arguments) {
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan.job));
  DOVETAIL_TRY(const place::Software software, load_software(job, arguments.plan.job));
  const place::Ground ground = place::ground_of(job, software);
  DOVETAIL_TRY(place::RankOptions options,
               rank_options(arguments.search, arguments.placements.empty() ? job.placements : arguments.placements));
  options.shown = static_cast<std::size_t>(arguments.shown);
  auto ranking = place::rank_plans(ground, options);
  if (!ranking.ok()) {
    base::Error error = std::move(ranking).error();
    if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
    return error;
  }
  RankedJob ranked{ground, std::move(ranking).value(), {}};
  if (!options.search.cancellation->requested()) ranked.flips = place::find_flips(ground, ranked.ranking);
  if (arguments.plan.json)
    print_json(to_json(ranked));
  else
    print(to_text(ranked));
  if (ranked.ranking.plans.empty()) return exit_infeasible;
  if (arguments.output) {
    const std::string text = plan::plan_to_json(ranked.ranking.plans.front().plan, job);
    if (auto written = base::write_file(*arguments.output, text); !written.ok()) return written.error();
  }
  return options.search.cancellation->requested() ? exit_interrupted : exit_done;
}

base::Result<int> run(const Arguments& arguments) { return arguments.plan.plan ? run_prediction(arguments.plan) : run_ranking(arguments); }

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "plan", "find and rank plans of an RLHF job, or predict what a given plan costs",
                                  "  dovetail plan examples/jobs/ppo-7b.yaml -o plan.json\n"
                                  "  dovetail plan examples/jobs/ppo-7b.yaml --placement co-located --placement disaggregated\n"
                                  "  dovetail plan examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, arguments->plan, "predict this plan, a dovetail/plan@1 file, in place of searching");
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "write the best plan there, as dovetail/plan@1");
  add_name_list(*command, "--placement", arguments->placements, "PLACEMENT",
                "only this family of plans (may be given several times): co-located, interleaving, disaggregated, megatron, searched");
  add_count_option(*command, "--top", arguments->shown, 1, 1000, "how many plans to show at most");
  add_plan_search_arguments(*command, arguments->search);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
