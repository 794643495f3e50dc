// dovetail measured: the phase times that a trainer or a run of ours logged, beside what is predicted of the job and
// plan.
#include "answer/measured/measured.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/utf8.h"
#include "cli/asking.h"
#include "cli/options.h"

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

/// What does not go with a log that grows.
base::Status check_follow(const MeasuredArguments& arguments) {
  const std::vector<answer::Input>& logs = arguments.request.logs;
  if (logs.size() != 1 || logs.front().path == "-")
    return base::bad_input("--follow reads one log as it grows; accepted: one file, not standard input");
  if (arguments.json) return base::bad_input("--follow prints a line a step; accepted: without --json");
  if (arguments.every && (*arguments.every < min_every || *arguments.every > max_every))
    return base::bad_input(fmt::format("--every: accepted: a time from {:g} s to {:g} s", min_every, max_every));
  return {};
}

base::Status check_measured(const MeasuredArguments& arguments) {
  if (arguments.name && !base::is_name(*arguments.name))
    return base::bad_input(
        fmt::format("--name {} is no name; accepted: a text without control characters", base::quote(*arguments.name)));
  if (arguments.every && !arguments.follow)
    return base::bad_input("--every is how often --follow looks at the log; accepted: with --follow");
  if (arguments.follow) DOVETAIL_CHECK(check_follow(arguments));
  if (!arguments.output) return {};
  if (const auto fault = answer::find_measurement_fault(arguments.request)) return base::bad_input(*fault);
  return {};
}

/// Ctrl-C ends it as it is meant to end.
base::Result<int> run_following(const MeasuredArguments& arguments) {
  Asking asking("measured", {arguments.output}, PlainLines::none);
  answer::Watch watch = asking.watch();
  watch.on_label = {};
  const answer::FollowOptions options{.look_every = arguments.every.value_or(answer::FollowOptions{}.look_every),
                                      .say = [](const std::string& line) {
                                        print(line + "\n");
                                        flush_output();
                                      }};
  DOVETAIL_TRY(const std::optional<answer::MeasuredAnswer> answer, follow(arguments.request, options, watch));
  if (!answer) {
    print_note("no step was logged");
    return exit_done;
  }
  print("\n");
  const auto file = [&] { return answer::measurement_file(*answer, *arguments.output, arguments.name); };
  DOVETAIL_CHECK(deliver(*answer, false, {arguments.output, file}));
  return exit_done;
}

base::Result<int> run_measured(const MeasuredArguments& arguments) {
  DOVETAIL_CHECK(check_measured(arguments));
  if (arguments.follow) return run_following(arguments);
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
      "  dovetail measured verl.log --gpu A100-80 -o run.yaml\n"
      "  dovetail measured verl.log --job run.sh\n"
      "  dovetail measured --follow verl.log --plan plan.json\n"
      "  dovetail measured run-1-tag-timing_s_gen.csv timing_s/step=step.csv");
  add_request(*command, arguments->request);
  add_text_option(
      *command, "-o,--output", arguments->output, "FILE",
      "write a dovetail/measurement@1 file for calibrate, JSON where it ends in .json; needs a job and a plan");
  add_text_option(*command, "--name", arguments->name, "NAME",
                  "of the row in that file (default: the job's name and the log's)");
  add_option(*command,
             {"--follow",
              "watch the log of a running job: a line a step, and a word where a phase takes twice "
              "what is predicted, until Ctrl-C"},
             answer::Flag{}, arguments->follow);
  add_option(*command, {"--every", "with --follow: how often to look at the log (default 1s)"}, answer::Seconds{},
             arguments->every);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_measured(*arguments); });
}

}  // namespace dovetail::cli
