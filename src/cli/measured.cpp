// dovetail measured: the phase times that verl or NeMo-RL logged, beside what is predicted of the job and plan.
#include "measure/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/measured_report.h"
#include "cli/output_file.h"
#include "measure/measured_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::vector<std::string> logs;
  std::optional<std::string> job;
  std::optional<std::string> plan;
  std::optional<std::string> output;
  std::optional<std::string> name;
  std::string format = "auto";
  std::string statistic = "median";
  int skip = -1;  ///< not said
  bool json = false;
};

/// The key and the file of FILE, whose key is not said, or KEY=FILE.
std::pair<std::string, std::string> file_of(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  std::error_code error;
  if (equals == std::string::npos || equals == 0 || std::filesystem::exists(argument, error)) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

base::Result<measure::LogFile> read_log(const std::string& argument) {
  measure::LogFile log;
  std::string path;
  std::tie(log.key, path) = file_of(argument);
  DOVETAIL_TRY(log.content, base::read_file(path));
  log.path = base::display_path(path);
  return log;
}

base::Result<measure::MeasuredRun> read_run(const Arguments& arguments) {
  std::vector<measure::LogFile> logs;
  for (const std::string& argument : arguments.logs) {
    DOVETAIL_TRY(measure::LogFile log, read_log(argument));
    logs.push_back(std::move(log));
  }
  DOVETAIL_TRY(const measure::StepLog log, measure::read_step_log(logs));
  measure::MeasuredOptions options;
  options.format = measure::log_format_named(arguments.format);
  if (arguments.skip >= 0) options.skip = arguments.skip;
  options.statistic = arguments.statistic == "mean" ? measure::Statistic::mean : measure::Statistic::median;
  return measure::measured_run(log, options);
}

/// `path` as a file in the folder of `output` names it.
std::string path_from(const std::string& path, const std::string& output) {
  const std::filesystem::path folder = output == "-" ? std::filesystem::path() : std::filesystem::path(output).parent_path();
  if (std::filesystem::path(path).is_absolute()) return std::filesystem::path(path).lexically_normal().string();
  std::error_code error;
  const std::filesystem::path from = std::filesystem::proximate(path, folder.empty() ? "." : folder, error);
  return error ? path : from.string();
}

base::Status write_measurement(const Arguments& arguments, const Prediction& prediction, const MeasuredAnswer& answer) {
  const std::string& output = *arguments.output;
  const std::string stem = std::filesystem::path(arguments.logs.front()).stem().string();
  measure::MeasurementNames names;
  names.set = fmt::format("{}/{}", prediction.job.cluster.groups.front().gpu.name, name_of(answer.run.format));
  names.row = arguments.name.value_or(prediction.job.name + (stem == "-" ? "" : ", " + base::visible(stem)));
  names.source = fmt::format("log of {}, {} of {} steps", name_of(answer.run.format), arguments.statistic, answer.run.steps.size());
  names.job = path_from(*arguments.job, output);
  names.plan = path_from(*arguments.plan, output);
  const auto write = output.ends_with(".json") ? measure::measurement_to_json : measure::measurement_to_yaml;
  DOVETAIL_TRY(const std::string text, write(names, answer.run, *answer.comparison, prediction.job));
  const auto written = write_output(output, text);
  return written.ok() ? base::Status() : written.error();
}

base::Status check_arguments(const Arguments& arguments) {
  if (arguments.job.has_value() != arguments.plan.has_value())
    return base::bad_input("only one of --job and --plan is there; accepted: both, or neither");
  std::vector<std::optional<std::string>> inputs{arguments.job, arguments.plan};
  for (const std::string& log : arguments.logs) inputs.emplace_back(file_of(log).second);
  DOVETAIL_CHECK(check_standard_input(inputs));
  DOVETAIL_CHECK(check_output_options(arguments.output, std::nullopt, arguments.json));
  if (arguments.name && !base::is_name(*arguments.name))
    return base::bad_input(fmt::format("--name {} is no name; accepted: a text without control characters", base::quote(*arguments.name)));
  if (!arguments.output) return {};
  DOVETAIL_CHECK(check_no_input(*arguments.output, inputs));
  if (!arguments.job) return base::bad_input("a measurement names its job and its plan; accepted: -o with --job and --plan");
  if (*arguments.job == "-" || *arguments.plan == "-")
    return base::bad_input("a measurement names its job and its plan by their files, not standard input; accepted: paths");
  return {};
}

/// Says that the plan is compared without its fusion; an Error where it would be named in a measurement.
base::Status part_stages(const Arguments& arguments, measure::LogFormat format) {
  const std::string reason = fmt::format("the plan fuses stages, and {} runs each by itself", name_of(format));
  if (arguments.output)
    return base::Error{base::Failure::bad_input, base::display_path(*arguments.plan), 0, 0,
                       reason + ": the measurement is of another plan; accepted: a plan without `fusion`"};
  print_note(reason + ": it is compared without its fusion");
  return {};
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_CHECK(check_arguments(arguments));
  DOVETAIL_TRY(measure::MeasuredRun measured, read_run(arguments));
  MeasuredAnswer answer{std::move(measured), {}};
  if (arguments.job) {
    DOVETAIL_TRY(const Prediction prediction, predict({*arguments.job, arguments.plan, arguments.json}, false));
    if (prediction.parted) DOVETAIL_CHECK(part_stages(arguments, answer.run.format));
    answer.efficiency = prediction.software.efficiency.name;
    answer.comparison = measure::compare_measured(answer.run, prediction.job, {prediction.plan, prediction.estimate});
    if (arguments.output) DOVETAIL_CHECK(write_measurement(arguments, prediction, answer));
  }
  if (arguments.json)
    print_json(answer::json_text(to_json(answer)));
  else
    print(to_text(answer));
  return exit_done;
}

}  // namespace

void add_measured(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "measured", "phase times that verl or NeMo-RL logged, beside what is predicted",
                                  "  dovetail measured examples/measurements/verl-ppo.jsonl\n"
                                  "  dovetail measured examples/measurements/nemo-rl-grpo.jsonl --job examples/jobs/grpo-8b.yaml --plan "
                                  "examples/jobs/grpo-8b.plan.json -o run.yaml\n"
                                  "  dovetail measured run-1-tag-timing_s_gen.csv timing_s/step=step.csv");
  add_positional_list(
      *command, "FILE", arguments->logs,
      "logs of one run: JSON lines, one object a step, or CSV as TensorBoard exports it (one scalar a file, KEY=FILE where the "
      "file's name does not say the key); '-' for standard input");
  add_text_option(*command, "--job", arguments->job, "JOB", "the job that ran, for the prediction");
  add_text_option(*command, "--plan", arguments->plan, "FILE", "the plan that it ran by, a dovetail/plan@1 file");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write a dovetail/measurement@1 file for calibrate, JSON where it ends in .json; needs --job and --plan");
  add_text_option(*command, "--name", arguments->name, "NAME", "of the row in that file (default: the job's name and the log's)");
  add_choice_option(*command, "--format", arguments->format, "verl|nemo-rl|auto", "whose log it is (default auto: by its keys)");
  add_choice_option(*command, "--statistic", arguments->statistic, "median|mean", "of the steps (default median)");
  add_count_option(*command, "--skip", arguments->skip, 0, 1'000'000'000,
                   "first steps to leave out as warm-up (default 2, fewer where there are no more steps)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
