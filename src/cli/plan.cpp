// dovetail plan: the plans of a job, searched and ranked; or what a given plan costs, phase by phase.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/best_file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/output_file.h"
#include "cli/plan_search.h"
#include "cli/prediction_report.h"
#include "cli/processes.h"
#include "cli/progress_line.h"
#include "cli/ranking_report.h"
#include "parallel/agreement.h"
#include "plan/job_canonical.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  std::optional<std::string> output;
  int pick = 1;  // number of a plan
  std::vector<std::string> placements;
  int shown = static_cast<int>(planner::RankOptions{}.shown);
  PlanSearchArguments search;
  MpiArguments mpi;
};

base::Result<int> run_prediction(const PlanArguments& arguments) {
  DOVETAIL_TRY(const Prediction prediction, predict(arguments));
  if (arguments.json)
    print_json(answer::json_text(to_json(prediction)));
  else
    print(to_text(prediction));
  return exit_done;
}

/// A job with what is known of its software, all that a search needs.
struct Request {
  plan::Job job;
  predict::Software software;
  planner::RankOptions options;
};

/// Options that do not go together.
base::Status check_combination(const Arguments& arguments) {
  if (arguments.plan.plan && arguments.output)
    return base::bad_input("-o is for the best plan that is found; with --plan none is searched");
  if (arguments.pick > 1 && !arguments.output) return base::bad_input("--pick says which plan -o writes; name a file with -o");
  if (arguments.plan.plan && arguments.mpi.asked) return base::bad_input("--mpi shares out a search; with --plan none is searched");
  if (arguments.mpi.asked && arguments.plan.job == "-")
    return base::bad_input("with --mpi every process reads the job, and only one has standard input; name a file");
  return check_output_options(arguments.output, std::nullopt, arguments.plan.json);
}

base::Result<Request> prepare(const Arguments& arguments, ProgressLine& line) {
  if (arguments.output) DOVETAIL_CHECK(check_output_path(*arguments.output));
  DOVETAIL_TRY(plan::Job job, load_job(arguments.plan));
  line.set_label(job.name);
  DOVETAIL_TRY(predict::Software software, load_software(job, arguments.plan.job));
  DOVETAIL_CHECK(check_no_input(arguments.output));
  DOVETAIL_TRY(planner::RankOptions options,
               rank_options(arguments.search, arguments.placements.empty() ? job.placements : arguments.placements, line));
  options.shown = static_cast<std::size_t>(arguments.shown);
  return Request{std::move(job), std::move(software), std::move(options)};
}

/// Prepares one of several processes, of which only the first writes; all end alike.
base::Result<Request> prepare_as_one_of(const parallel::Exchange& exchange, Arguments& arguments, ProgressLine& line) {
  if (exchange.rank > 0) arguments.output.reset();
  base::Result<Request> request = prepare(arguments, line);
  DOVETAIL_CHECK(parallel::agree_on_input(
      exchange, request.ok() ? base::Result<std::string>(plan::canonical_job(request->job)) : request.error(), "another job"));
  request->options.search.exchange = &exchange;
  if (arguments.search.budget.threads == 0) request->options.search.threads = 1;
  note_idle_processes(exchange, request->options.search.chains);
  return request;
}

base::Result<planner::Ranking> rank(const Arguments& arguments, const Request& request, const predict::Scenario& scenario) {
  planner::RankOptions options = request.options;
  BestFile file;
  if (options.search.exchange != nullptr && arguments.output && can_be_rewritten(*arguments.output)) {
    options.on_better = [&](const plan::Plan& plan) {
      file.take([&, plan] { (void)write_output(*arguments.output, plan::plan_to_json(plan, request.job)); });
    };
    options.search.on_progress = [&](const planner::SearchProgress& progress) {
      request.options.search.on_progress(progress);
      file.catch_up();
    };
  }
  auto ranking = planner::rank_plans(scenario, options);
  if (ranking.ok()) return ranking;
  base::Error error = std::move(ranking).error();
  if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
  return error;
}

base::Result<const planner::RankedPlan*> picked_plan(const planner::Ranking& ranking, int number) {
  const std::size_t count = ranking.plans.size();
  if (static_cast<std::size_t>(number) > count)
    return base::bad_input(fmt::format("--pick: there is no plan {} in the answer; accepted: 1 to {}", number, count));
  return &ranking.plans[static_cast<std::size_t>(number) - 1];
}

base::Result<int> rank_and_report(const Arguments& arguments, const Request& request, std::optional<ProgressLine>& line) {
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(request.job, request.software, &stop);
  DOVETAIL_TRY(planner::Ranking ranking, rank(arguments, request, scenario));
  line.reset();
  const std::size_t asked = request.options.simulated;
  RankedJob ranked{scenario, std::move(ranking), {}, asked > 0 && planner::playable(request.job, asked) == 0};
  const std::optional<planner::SearchRun>& search = ranked.ranking.search;
  ranked.flips = planner::find_flips(scenario, ranked.ranking, request.options.search.threads);
  if (arguments.output && !ranked.ranking.plans.empty()) {
    DOVETAIL_TRY(const planner::RankedPlan* const picked, picked_plan(ranked.ranking, arguments.pick));
    const std::string text = plan::plan_to_json(picked->plan, request.job);
    DOVETAIL_CHECK(write_output(*arguments.output, text));
  }
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(ranked)));
  else
    print_beside(arguments.output, to_text(ranked));
  // With all processes there might have been a better answer.
  if (search && search->lost_process) return *search->lost_process;
  if (ranked.ranking.plans.empty()) return exit_infeasible;
  const bool shared_interrupt = search && search->stopped_by == pipeline::StoppedBy::interrupt;
  return shared_interrupt || stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

base::Result<int> run(const Arguments& given) {
  DOVETAIL_TRY(const std::optional<parallel::Exchange> exchange, connect_processes(given.mpi));
  DOVETAIL_CHECK(check_combination(given));
  if (given.plan.plan) return run_prediction(given.plan);
  Arguments arguments = given;
  std::optional<ProgressLine> line(std::in_place, "plan");
  DOVETAIL_TRY(const Request request, exchange ? prepare_as_one_of(*exchange, arguments, *line) : prepare(arguments, *line));
  auto code = rank_and_report(arguments, request, line);
  if (exchange && !code.ok() && code.error().failure == base::Failure::io) wait_for_the_first(*exchange);
  return code;
}

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "plan", "find and rank plans of an RLHF job, or predict what a given plan costs",
                                  "  dovetail plan examples/jobs/ppo-7b.yaml -o plan.json\n"
                                  "  dovetail plan examples/jobs/ppo-7b.yaml --time-limit 30s -o plan.json\n"
                                  "  mpirun -n 4 dovetail plan examples/jobs/real-70b.yaml --mpi -o plan.json\n"
                                  "  dovetail plan examples/jobs/ppo-7b.yaml --placement co-located --placement disaggregated\n"
                                  "  dovetail plan examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, arguments->plan, "predict this plan, a dovetail/plan@1 file, in place of searching");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the first plan there, as dovetail/plan@1 ('-': standard output)");
  add_count_option(*command, "--pick", arguments->pick, 1, 1000, "with -o: write plan N of the table in place of the first");
  add_name_list(
      *command, "--placement", arguments->placements, "PLACEMENT",
      "only this family of plans (may be given several times): co-located, interleaving, disaggregated, megatron, rlhfuse, searched");
  add_count_option(*command, "--top", arguments->shown, 1, 1000, "how many plans to show at most");
  add_count_option(
      *command, "--simulate", arguments->search.simulated, 0, 1000,
      "of the first plans that are ties, how many to play event by event at most, and to order by that (default 5, as other commands do)");
  add_plan_search_arguments(*command, arguments->search);
  add_mpi_options(*command, arguments->mpi);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
