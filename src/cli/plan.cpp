// dovetail plan: searches and ranks plans for a job, or predicts the cost of a given plan.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "answer/plans/exporting.h"
#include "answer/plans/prediction.h"
#include "answer/plans/ranking.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/processes.h"
#include "cli/question_progress.h"
#include "plan/plan_file.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

struct PlanArguments {
  answer::RankingRequest request;
  std::optional<answer::Input> plan;
  std::optional<std::string> output;
  std::optional<std::string> exported;  ///< file for the changed configuration
  int pick = 1;                         ///< number of a plan, counted from 1
  bool json = false;
  MpiArguments mpi;
};

/// Rejects options that cannot be combined.
base::Status check_plan(const PlanArguments& arguments) {
  if (arguments.plan && arguments.output)
    return base::bad_input("--plan and -o cannot be combined: -o saves a plan that was searched for");
  if (arguments.pick > 1 && !arguments.output && !arguments.exported)
    return base::bad_input("--pick needs -o or --export: it selects the plan that they write");
  if (arguments.plan && (!arguments.request.allowed.empty() || arguments.request.alternative > 0))
    return base::bad_input("--allow and --way need a search; they cannot be combined with --plan");
  if (arguments.plan && arguments.exported)
    return base::bad_input("--plan and --export cannot be combined; use dovetail export PLAN --base JOB");
  if (arguments.exported && arguments.request.job.path == "-")
    return base::bad_input("--export needs the configuration as a file, not from standard input");
  if (arguments.plan && arguments.mpi.enabled)
    return base::bad_input("--plan and --mpi cannot be combined: --mpi distributes a search");
  if (arguments.mpi.enabled && arguments.request.job.path == "-")
    return base::bad_input("--mpi needs the job as a file: only one process has standard input");
  return {};
}

base::Result<int> run_prediction(const PlanArguments& arguments) {
  DOVETAIL_TRY(const answer::PredictionAnswer answer,
               answer_to(answer::PredictionRequest{arguments.request.job, *arguments.plan}, "plan"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

/// Makes a distributed search keep its best plan so far in `output`, if that file can be rewritten.
void keep_best(BestFile& file, const std::string& output, answer::RankingRequest& request,
               answer::Callbacks& callbacks) {
  if (!can_be_rewritten(output)) return;
  request.on_better = [&file, output](const plan::Plan& plan, const plan::Job& job) {
    file.take([output, plan, &job] { (void)write_output(output, plan::plan_to_json(plan, job)); });
  };
  callbacks.on_figures = [&file, show = callbacks.on_figures](const answer::Figures& figures) {
    show(figures);
    file.catch_up();
  };
}

/// Computes the ranking. Checks the output only after the input is read, so that all processes return the same Error.
base::Result<answer::RankingAnswer> rank(const PlanArguments& arguments) {
  answer::RankingRequest request = arguments.request;
  QuestionProgress progress("plan", {arguments.output, arguments.exported}, PlainLines::none);
  answer::Callbacks callbacks = progress.callbacks();
  BestFile file;
  if (arguments.output && request.exchange != nullptr) keep_best(file, *arguments.output, request, callbacks);
  return answer_to(request, callbacks);
}

base::Result<const planner::RankedPlan*> picked_plan(const planner::Ranking& ranking, int number) {
  const std::size_t count = ranking.plans.size();
  if (static_cast<std::size_t>(number) > count)
    return base::bad_input(
        fmt::format("--pick must be from 1 to {1}, the number of plans in the ranking; got {0}", number, count));
  return &ranking.plans[static_cast<std::size_t>(number) - 1];
}

/// Prints the ranking and writes the picked plan, if any plan was found.
base::Status deliver_ranking(const answer::RankingAnswer& answer, const PlanArguments& arguments) {
  if (!arguments.output || (answer.ranking.plans.empty() && arguments.json)) return deliver(answer, arguments.json);
  if (answer.ranking.plans.empty()) {
    print_unless_stdout(arguments.output, report::text_of(sections(answer)));
    return {};
  }
  DOVETAIL_TRY(const planner::RankedPlan* const picked, picked_plan(answer.ranking, arguments.pick));
  const plan::Job& job = answer.scenario.job;
  return deliver(answer, arguments.json,
                 {arguments.output, [picked, &job] { return plan::plan_to_json(picked->plan, job); }});
}

/// Writes the picked plan as changes to the configuration of the job, and prints the changes.
base::Status deliver_export(const answer::RankingAnswer& answer, const PlanArguments& arguments) {
  if (!arguments.exported || answer.ranking.plans.empty()) return {};
  DOVETAIL_TRY(const planner::RankedPlan* const picked, picked_plan(answer.ranking, arguments.pick));
  DOVETAIL_TRY(const answer::ExportAnswer made,
               answer::export_found(arguments.request.job, answer.scenario, picked->plan, answer.switches));
  const std::string& target = *arguments.exported;
  DOVETAIL_TRY(const std::string written, write_output(target, exported_file(made, target)));
  const bool on_stderr = arguments.json || is_standard_output(target);
  print_unless_stdout(on_stderr ? std::optional<std::string>("-") : std::nullopt,
                      fmt::format("\n{}written: {}\n", report::text_of(sections(made)), written));
  return {};
}

base::Result<int> run_ranking(const PlanArguments& arguments) {
  DOVETAIL_TRY(const answer::RankingAnswer answer, rank(arguments));
  DOVETAIL_CHECK(deliver_ranking(answer, arguments));
  DOVETAIL_CHECK(deliver_export(answer, arguments));
  if (const base::Error* const lost = answer.lost_process()) return *lost;
  return exit_code_of(answer.outcome);
}

base::Result<int> run_plan(const PlanArguments& given) {
  DOVETAIL_TRY(const std::optional<parallel::Exchange> exchange, connect_processes(given.mpi));
  DOVETAIL_CHECK(check_plan(given));
  if (given.plan) return run_prediction(given);
  if (!exchange) return run_ranking(given);
  PlanArguments arguments = given;
  arguments.request.exchange = &*exchange;
  if (exchange->rank > 0) {
    arguments.output.reset();
    arguments.exported.reset();
  }
  auto code = run_ranking(arguments);
  if (!code.ok() && code.error().failure == base::Failure::lost) wait_for_the_first(*exchange);
  return code;
}

}  // namespace

void add_plan(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      add_command(program, "plan", "find and rank plans for a job, or predict a given plan",
                  "  dovetail plan examples/jobs/ppo-7b.yaml -o plan.json\n"
                  "  dovetail plan examples/jobs/ppo-7b.yaml --placement co-located --time-limit 30s\n"
                  "  dovetail plan examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json\n"
                  "  dovetail plan examples/trainers/verl-grpo.sh --response-length mean=900,p90=2000 \\\n"
                  "    --export tuned.sh\n"
                  "  mpirun -n 4 dovetail plan examples/jobs/real-70b.yaml --mpi -o plan.json");
  add_option(*command, {"--plan", "dovetail/plan@1 file to predict instead of searching"}, answer::File{},
             [&plan = arguments->plan](answer::Input input) { plan = std::move(input); });
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "output file for the best plan (dovetail/plan@1), '-' for stdout");
  add_text_option(*command, "--export", arguments->exported, "FILE",
                  "trainer's configuration to write, changed to run the best plan");
  add_count_option(*command, "--pick", arguments->pick, 1, 1000,
                   "number of the plan that -o and --export write (default: 1)");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  add_mpi_options(*command, arguments->mpi);
  set_action(*command, action, [arguments] { return run_plan(*arguments); });
}

}  // namespace dovetail::cli
