// dovetail fit: whether a job fits on its cluster, or a plan into the memory of its devices, with what margin, and what
// sets the limit.
#include "answer/plans/fit.h"

#include <memory>

#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct FitArguments {
  answer::FitRequest request;
  bool json = false;
};

base::Result<int> run_fit(const FitArguments& arguments) {
  DOVETAIL_TRY(const answer::FitAnswer answer, ask(arguments.request, "fit"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<FitArguments>();
  CLI::App* command =
      add_command(program, "fit", "whether a job or a plan fits into memory, with what margin, and what sets the limit",
                  "  dovetail fit examples/jobs/ppo-7b.yaml\n"
                  "  dovetail fit examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_fit(*arguments); });
}

}  // namespace dovetail::cli
