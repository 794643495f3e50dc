// dovetail import: the configuration of a trainer as a job and a plan.
#include <memory>
#include <optional>
#include <string>

#include "answer/plans/importing.h"
#include "cli/arguments.h"
#include "cli/asking.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"

namespace dovetail::cli {
namespace {

struct ImportArguments {
  answer::ImportRequest request;
  std::optional<std::string> output;
  std::optional<std::string> plan_output;
  bool json = false;
};

base::Status check_import(const ImportArguments& arguments) {
  if (arguments.output && arguments.plan_output && *arguments.output == *arguments.plan_output)
    return base::bad_input("-o and --plan-out name the same file; accepted: one for the job, another one for the plan");
  return {};
}

base::Result<int> run_import(const ImportArguments& arguments) {
  DOVETAIL_CHECK(check_import(arguments));
  DOVETAIL_TRY(const answer::ImportAnswer answer,
               ask(arguments.request, "import", {arguments.output, arguments.plan_output}));
  if (arguments.plan_output) {
    DOVETAIL_TRY(const std::string written, write_output(*arguments.plan_output, answer::plan_file(answer)));
    print_error("written: " + written + "\n");
  }
  const auto job = [&] { return answer::job_file(answer, *arguments.output); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, job}));
  return exit_done;
}

}  // namespace

void add_import(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = add_command(program, "import", "read a trainer's configuration as a job and a plan",
                                  "  dovetail import run.sh --gpu H100 -o job.yaml --plan-out plan.json\n"
                                  "  dovetail import run.sh --env DEVICE=gpu -- trainer.nnodes=2\n"
                                  "  dovetail import outputs/config.yaml --response-length mean=900,p90=2000");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the job there, as dovetail/job@1 ('-': standard output)");
  add_text_option(*command, "--plan-out", arguments->plan_output, "FILE",
                  "write the plan there, as dovetail/plan@1 ('-': standard output)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_import(*arguments); });
}

}  // namespace dovetail::cli
