// dovetail export: a plan as what has to change in a trainer's configuration.
#include <memory>
#include <optional>
#include <string>

#include "answer/plans/exporting.h"
#include "cli/arguments.h"
#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct ExportArguments {
  answer::ExportRequest request;
  std::optional<std::string> output;
  bool json = false;
};

base::Result<int> run_export(const ExportArguments& arguments) {
  DOVETAIL_TRY(const answer::ExportAnswer answer, ask(arguments.request, "export", {arguments.output}));
  const auto file = [&]() -> base::Result<std::string> { return exported_file(answer, *arguments.output); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, file}));
  return exit_done;
}

}  // namespace

void add_export(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command =
      add_command(program, "export", "write a plan as changes of a trainer's configuration, or as a whole one",
                  "  dovetail plan run.sh --gpu H100 -o plan.json\n"
                  "  dovetail export plan.json --to verl --base run.sh --gpu H100 -o tuned.sh\n"
                  "  dovetail export plan.json --to nemo-rl --base grpo.yaml -o tuned.yaml\n"
                  "  dovetail export plan.json --to areal --base grpo.yaml -o tuned.yaml\n"
                  "  dovetail export plan.json --base run.sh --gpu H100 --allow backend -o tuned.sh\n"
                  "  dovetail export plan.json --to verl --base run.sh --format args -o -\n"
                  "  dovetail export plan.json --to verl --job job.yaml -o run.sh");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the configuration there ('-': standard output)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_export(*arguments); });
}

}  // namespace dovetail::cli
