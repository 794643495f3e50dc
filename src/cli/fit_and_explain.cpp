// dovetail fit: checks whether a job fits its cluster or a plan fits device memory, and what sets the limit.
// dovetail explain: explains why a plan is slow or does not fit, and what to change.
#include <memory>

#include "answer/plans/explanation.h"
#include "answer/plans/fit.h"
#include "cli/options.h"
#include "cli/question_progress.h"

namespace dovetail::cli {
namespace {

struct FitArguments {
  answer::FitRequest request;
  bool json = false;
};

base::Result<int> run_fit(const FitArguments& arguments) {
  DOVETAIL_TRY(const answer::FitAnswer answer, answer_to(arguments.request, "fit"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<FitArguments>();
  CLI::App* command = add_command(program, "fit", "check whether a job or a plan fits in memory",
                                  "  dovetail fit examples/jobs/ppo-7b.yaml\n"
                                  "  dovetail fit examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_fit(*arguments); });
}

namespace {

struct ExplainArguments {
  answer::ExplanationRequest request;
  bool json = false;
};

base::Result<int> run_explain(const ExplainArguments& arguments) {
  DOVETAIL_TRY(const answer::ExplanationAnswer answer, answer_to(arguments.request, "explain"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      add_command(program, "explain", "explain why a plan is slow or does not fit, and what to change",
                  "  dovetail explain examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_explain(*arguments); });
}

}  // namespace dovetail::cli
