// dovetail sweep: varies one input of a job or its plan and compares the results.
// dovetail what-if: estimates the gain of stage fusion, stale policies and partial rollout.
// dovetail forecast: predicts a run of many steps whose responses grow.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer/runs/forecast.h"
#include "answer/runs/sweep.h"
#include "answer/runs/what_if.h"
#include "base/document.h"
#include "cli/options.h"
#include "cli/question_progress.h"
#include "plan/plan_file.h"
#include "report/drawing/curve_svg.h"

namespace dovetail::cli {
namespace {

struct SweepArguments {
  answer::SweepRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// The format for a file name; an Error for an unknown extension.
enum class StudyFormat { json, csv, svg };
base::Result<StudyFormat> study_format(const std::string& path) {
  if (path.ends_with(".json") || is_standard_output(path)) return StudyFormat::json;
  if (path.ends_with(".csv")) return StudyFormat::csv;
  if (path.ends_with(".svg")) return StudyFormat::svg;
  return base::bad_input(fmt::format("cannot tell the format of '{}'; use .svg, .json or .csv", path));
}

base::Result<std::string> content_of(const answer::SweepAnswer& answer, StudyFormat format, const std::string& path) {
  if (format == StudyFormat::json) return to_json(answer) + "\n";
  if (format == StudyFormat::csv) return to_csv(answer);
  const auto has_place = [](const study::SweepPoint& point) { return point.value && point.figures; };
  if (std::none_of(answer.sweep.points.begin(), answer.sweep.points.end(), has_place))
    return base::Error{base::Failure::infeasible, path, 0, 0, "nothing to draw: no value has a prediction"};
  return report::render_curve_svg(report::sweep_picture(answer.sweep, title_of(answer)));
}

base::Result<int> run_sweep(const SweepArguments& arguments) {
  StudyFormat format = StudyFormat::json;
  if (arguments.output) {
    DOVETAIL_TRY(format, study_format(*arguments.output));
  }
  DOVETAIL_TRY(const answer::SweepAnswer answer, answer_to(arguments.request, "sweep", {arguments.output}));
  const auto content = [&] { return content_of(answer, format, *arguments.output); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, content}));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_sweep(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      add_command(program, "sweep", "vary one input of a job or a plan and compare the results",
                  "  dovetail sweep examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml --over length\n"
                  "  dovetail sweep examples/jobs/rlhfuse-33b-13b.yaml --over threshold \\\n"
                  "    --plan examples/jobs/rlhfuse-33b-13b.plan.json -o thresholds.svg\n"
                  "  dovetail sweep examples/jobs/grpo-8b.yaml --over nodes --values 1,2,4");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "output file for the curves: .svg, .json or .csv");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_sweep(*arguments); });
}

namespace {

struct WhatIfArguments {
  answer::WhatIfRequest request;
  bool json = false;
};

base::Result<int> run_what_if(const WhatIfArguments& arguments) {
  DOVETAIL_TRY(const answer::WhatIfAnswer answer, answer_to(arguments.request, "what-if"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_what_if(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<WhatIfArguments>();
  CLI::App* command = add_command(program, "what-if", "estimate the gain of fusion, stale policies and partial rollout",
                                  "  dovetail what-if examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                                  "  dovetail what-if examples/jobs/grpo-8b.yaml --json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_what_if(*arguments); });
}

namespace {

struct ForecastArguments {
  answer::ForecastRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// Path of plan `index` of a forecast: "run.A.plan.json" for the prefix "run".
std::string plan_path(const std::string& prefix, std::size_t index) {
  return prefix + "." + answer::plan_letter(index) + ".plan.json";
}

base::Status check_prefix(const std::string& prefix) {
  std::error_code none;
  if (prefix.empty() || prefix.back() == '/' || is_standard_output(prefix) ||
      std::filesystem::is_directory(prefix, none))
    return base::bad_input(fmt::format("-o {} is not a file name prefix; for example, -o run writes run.A.plan.json",
                                       base::quote(prefix)));
  return check_output_path(plan_path(prefix, 0));
}

/// Files that the forecast may write.
std::vector<std::optional<std::string>> outputs_of(const std::optional<std::string>& prefix) {
  constexpr std::size_t max_plans = 26;  // number of letters
  std::vector<std::optional<std::string>> outputs;
  for (std::size_t plan = 0; prefix && plan < max_plans; ++plan) outputs.emplace_back(plan_path(*prefix, plan));
  return outputs;
}

base::Status write_plans(const std::string& prefix, const answer::ForecastAnswer& answer) {
  std::vector<OutputFile> files;
  for (std::size_t index = 0; index < answer.forecast.plans.size(); ++index)
    files.push_back(
        {plan_path(prefix, index), plan::plan_to_json(answer.forecast.plans[index].plan, answer.scenario.job)});
  const auto written = write_outputs(files);
  return written.ok() ? base::Status() : written.error();
}

base::Result<int> run_forecast(const ForecastArguments& arguments) {
  if (arguments.output) DOVETAIL_CHECK(check_prefix(*arguments.output));
  DOVETAIL_TRY(const answer::ForecastAnswer answer,
               answer_to(arguments.request, "forecast", outputs_of(arguments.output)));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  if (arguments.output) DOVETAIL_CHECK(write_plans(*arguments.output, answer));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_forecast(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ForecastArguments>();
  CLI::App* command =
      add_command(program, "forecast", "predict a long run as responses grow, and when to plan again",
                  "  dovetail forecast examples/jobs/grpo-8b.yaml --steps 1000 --lengths 500:2.5,1000:4 --cap 16384\n"
                  "  dovetail forecast examples/jobs/ppo-7b.yaml --steps 2000 --p50 2000:800 --pause 100:5m \\\n"
                  "    --restart 10m -o run");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "PREFIX",
                  "prefix of the plan files to write: PREFIX.A.plan.json, ...");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_forecast(*arguments); });
}

}  // namespace dovetail::cli
