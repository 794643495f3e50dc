// dovetail measured: compares the phase times that a trainer or dovetail train logged with the prediction.
// dovetail calibrate: fits efficiencies to measured runs and reports the remaining error.
#include "answer/measured/measured.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer/measured/calibration.h"
#include "base/fields.h"
#include "base/utf8.h"
#include "cli/options.h"
#include "cli/question_progress.h"

namespace dovetail::cli {
namespace {

constexpr double min_every = 0.01;
constexpr double max_every = 3600;

struct MeasuredArguments {
  answer::MeasuredRequest request;
  std::optional<std::string> output;
  std::optional<std::string> name;
  bool json = false;
  bool follow = false;
  std::optional<double> every;  ///< seconds
};

/// Rejects options that cannot be combined with --follow.
base::Status check_follow(const MeasuredArguments& arguments) {
  const std::vector<answer::Input>& logs = arguments.request.logs;
  if (logs.size() != 1 || logs.front().path == "-")
    return base::bad_input("--follow needs exactly one log file, not standard input");
  if (arguments.json) return base::bad_input("--follow and --json cannot be combined");
  if (arguments.every && (*arguments.every < min_every || *arguments.every > max_every))
    return base::bad_input(fmt::format("--every must be from {:g} s to {:g} s", min_every, max_every));
  return {};
}

base::Status check_measured(const MeasuredArguments& arguments) {
  if (arguments.name && !base::is_name(*arguments.name))
    return base::bad_input(
        fmt::format("--name must be non-empty without control characters, got {}", base::quote(*arguments.name)));
  if (arguments.every && !arguments.follow) return base::bad_input("--every needs --follow");
  if (arguments.follow) DOVETAIL_CHECK(check_follow(arguments));
  if (!arguments.output) return {};
  if (const auto fault = answer::find_measurement_fault(arguments.request)) return base::bad_input(*fault);
  return {};
}

/// Follows a growing log until Ctrl-C, which is its normal end.
base::Result<int> run_following(const MeasuredArguments& arguments) {
  QuestionProgress progress("measured", {arguments.output}, PlainLines::none);
  answer::Callbacks callbacks = progress.callbacks();
  callbacks.on_label = {};
  const answer::FollowOptions options{.poll_seconds = arguments.every.value_or(answer::FollowOptions{}.poll_seconds),
                                      .on_line = [](const std::string& line) {
                                        print(line + "\n");
                                        flush_output();
                                      }};
  DOVETAIL_TRY(const std::optional<answer::MeasuredAnswer> answer, follow(arguments.request, options, callbacks));
  if (!answer) return exit_done;
  print("\n");
  const auto file = [&] { return answer::measurement_file(*answer, *arguments.output, arguments.name); };
  DOVETAIL_CHECK(deliver(*answer, false, {arguments.output, file}));
  return exit_done;
}

base::Result<int> run_measured(const MeasuredArguments& arguments) {
  DOVETAIL_CHECK(check_measured(arguments));
  if (arguments.follow) return run_following(arguments);
  DOVETAIL_TRY(const answer::MeasuredAnswer answer, answer_to(arguments.request, "measured", {arguments.output}));
  const auto file = [&] { return answer::measurement_file(answer, *arguments.output, arguments.name); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, file}));
  return exit_done;
}

}  // namespace

void add_measured(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<MeasuredArguments>();
  CLI::App* command =
      add_command(program, "measured", "compare logged phase times with the prediction",
                  "  dovetail measured examples/measurements/verl-ppo.jsonl\n"
                  "  dovetail measured examples/measurements/nemo-rl-grpo.jsonl --job examples/jobs/grpo-8b.yaml \\\n"
                  "    --plan examples/jobs/grpo-8b.plan.json -o run.yaml\n"
                  "  dovetail train examples/train/tiny-ppo -o run\n"
                  "  dovetail measured run/metrics.jsonl --job run/job.yaml --plan run/plan.json\n"
                  "  dovetail measured --follow run/metrics.jsonl");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "dovetail/measurement@1 file to write for calibrate (.json: JSON)");
  add_text_option(*command, "--name", arguments->name, "NAME",
                  "name of the row in the -o file (default: names of job and log)");
  add_option(*command, {"--follow", "follow the log of a running job and print a line per step"}, answer::Flag{},
             arguments->follow);
  add_option(*command, {"--every", "polling interval of --follow (default: 1s)"}, answer::Seconds{}, arguments->every);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_measured(*arguments); });
}

namespace {

struct CalibrateArguments {
  answer::CalibrationRequest request;
  std::optional<std::string> output;
  bool json = false;
};

base::Result<int> run_calibrate(const CalibrateArguments& arguments) {
  DOVETAIL_TRY(const answer::CalibrationAnswer answer, answer_to(arguments.request, "calibrate", {arguments.output}));
  DOVETAIL_CHECK(
      deliver(answer, arguments.json, {arguments.output, [&answer] { return answer::efficiency_file(answer); }}));
  if (answer.outcome == answer::Outcome::interrupted)
    print_warning("interrupted: these are the best values so far, without cross-validation");
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_calibrate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command = add_command(program, "calibrate", "fit efficiencies to measured runs",
                                  "  dovetail calibrate examples/measurements/nemo-rl-dense.yaml -o h100.json\n\n"
                                  "A job uses the file as `software: {efficiency: FILE}`.");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "output file for the fitted efficiencies");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_calibrate(*arguments); });
}

}  // namespace dovetail::cli
