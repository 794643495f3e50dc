// dovetail explain: why a plan is not the best, or why it does not fit, and what to change.
#include <memory>

#include "answer/plans/explanation.h"
#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct ExplainArguments {
  answer::ExplanationRequest request;
  bool json = false;
};

base::Result<int> run_explain(const ExplainArguments& arguments) {
  DOVETAIL_TRY(const answer::ExplanationAnswer answer, ask(arguments.request, "explain"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_explain(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      add_command(program, "explain", "why a plan is not the best, or does not fit, and what to change",
                  "  dovetail explain examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_explain(*arguments); });
}

}  // namespace dovetail::cli
