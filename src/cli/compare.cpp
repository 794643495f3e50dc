// dovetail compare: one table of all solvers.
#include <memory>

#include "answer/schedules/comparison.h"
#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct CompareArguments {
  answer::ComparisonRequest request;
  bool json = false;
};

base::Result<int> run_compare(const CompareArguments& arguments) {
  DOVETAIL_TRY(const answer::ComparisonAnswer answer,
               ask(arguments.request, "compare", {}, PlainLines::every_few_seconds));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = add_command(
      program, "compare", "compare the schedules of all solvers",
      "  dovetail compare exp5\n  dovetail compare problem.yaml --solver greedy --solver auto --time-limit 1m");
  add_request(*command, arguments->request);
  exclude_option(*command, "--all", "--solver");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_compare(*arguments); });
}

}  // namespace dovetail::cli
