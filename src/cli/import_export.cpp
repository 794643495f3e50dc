// dovetail import: converts a trainer's configuration into a job and a plan.
// dovetail export: converts a plan into changes to a trainer's configuration.
#include <memory>
#include <optional>
#include <string>

#include "answer/plans/exporting.h"
#include "answer/plans/importing.h"
#include "cli/arguments.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/question_progress.h"

namespace dovetail::cli {
namespace {

struct ImportArguments {
  answer::ImportRequest request;
  std::optional<std::string> output;
  std::optional<std::string> plan_output;
  bool json = false;
};

base::Result<int> run_import(const ImportArguments& arguments) {
  DOVETAIL_TRY(const answer::ImportAnswer answer,
               answer_to(arguments.request, "import", {arguments.output, arguments.plan_output}));
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
  CLI::App* command =
      add_command(program, "import", "convert a trainer's configuration into a job and a plan",
                  "  dovetail import examples/trainers/verl-grpo.sh --gpu H100 -o job.yaml --plan-out plan.json\n"
                  "  dovetail import examples/trainers/verl-grpo.sh -- trainer.nnodes=4\n"
                  "  dovetail import examples/trainers/verl-grpo.sh --response-length mean=900,p90=2000");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "output file for the job (dovetail/job@1), '-' for stdout");
  add_text_option(*command, "--plan-out", arguments->plan_output, "FILE",
                  "output file for the plan (dovetail/plan@1), '-' for stdout");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_import(*arguments); });
}

namespace {

struct ExportArguments {
  answer::ExportRequest request;
  std::optional<std::string> output;
  bool json = false;
};

base::Result<int> run_export(const ExportArguments& arguments) {
  DOVETAIL_TRY(const answer::ExportAnswer answer, answer_to(arguments.request, "export", {arguments.output}));
  const auto file = [&]() -> base::Result<std::string> { return exported_file(answer, *arguments.output); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, file}));
  return exit_done;
}

}  // namespace

void add_export(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command =
      add_command(program, "export", "write a plan as a trainer's configuration or as changes to one",
                  "  dovetail plan examples/trainers/verl-grpo.sh --time-limit 30s -o plan.json\n"
                  "  dovetail export plan.json --base examples/trainers/verl-grpo.sh -o tuned.sh\n"
                  "  dovetail export plan.json --base examples/trainers/verl-grpo.sh --format args -o -\n"
                  "  dovetail import examples/trainers/verl-grpo.sh -o job.yaml\n"
                  "  dovetail export plan.json --to verl --job job.yaml -o run.sh");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "configuration file to write, '-' for stdout");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_export(*arguments); });
}

}  // namespace dovetail::cli
