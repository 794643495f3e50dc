// dovetail measured: the phase times that a trainer or a run of ours logged, beside what is predicted of the job and
// plan.
#include "answer/measured/measured.h"

#include <fmt/format.h>

#include <memory>

#include "base/fields.h"
#include "base/utf8.h"
#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct MeasuredArguments {
  answer::MeasuredRequest request;
  std::optional<std::string> output;
  std::optional<std::string> name;
  bool json = false;
};

base::Status check_measured(const MeasuredArguments& arguments) {
  if (arguments.name && !base::is_name(*arguments.name))
    return base::bad_input(
        fmt::format("--name {} is no name; accepted: a text without control characters", base::quote(*arguments.name)));
  if (!arguments.output) return {};
  if (const auto fault = answer::find_measurement_fault(arguments.request)) return base::bad_input(*fault);
  return {};
}

base::Result<int> run_measured(const MeasuredArguments& arguments) {
  DOVETAIL_CHECK(check_measured(arguments));
  DOVETAIL_TRY(const answer::MeasuredAnswer answer, ask(arguments.request, "measured", {arguments.output}));
  const auto file = [&] { return answer::measurement_file(answer, *arguments.output, arguments.name); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, file}));
  return exit_done;
}

}  // namespace

void add_measured(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<MeasuredArguments>();
  CLI::App* command = add_command(
      program, "measured", "phase times that a trainer or a run logged, beside what is predicted",
      "  dovetail measured examples/measurements/verl-ppo.jsonl\n"
      "  dovetail measured examples/measurements/nemo-rl-grpo.jsonl --job examples/jobs/grpo-8b.yaml --plan "
      "examples/jobs/grpo-8b.plan.json -o run.yaml\n"
      "  dovetail measured runs/first/metrics.jsonl --job runs/first/job.yaml --plan runs/first/plan.json\n"
      "  dovetail measured run-1-tag-timing_s_gen.csv timing_s/step=step.csv");
  add_request(*command, arguments->request);
  add_text_option(
      *command, "-o,--output", arguments->output, "FILE",
      "write a dovetail/measurement@1 file for calibrate, JSON where it ends in .json; needs --job and --plan");
  add_text_option(*command, "--name", arguments->name, "NAME",
                  "of the row in that file (default: the job's name and the log's)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_measured(*arguments); });
}

}  // namespace dovetail::cli
