// dovetail forecast: a run of many steps whose responses grow.
#include "answer/runs/forecast.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "cli/asking.h"
#include "cli/options.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

struct ForecastArguments {
  answer::ForecastRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// The file of plan number `index`: "run.A.plan.json" of "run".
std::string plan_path(const std::string& prefix, std::size_t index) {
  return prefix + "." + answer::plan_letter(index) + ".plan.json";
}

base::Status check_prefix(const std::string& prefix) {
  std::error_code none;
  if (prefix.empty() || prefix.back() == '/' || is_standard_output(prefix) ||
      std::filesystem::is_directory(prefix, none))
    return base::bad_input(
        fmt::format("-o {} names no file; accepted: what the names of plans begin with, as run of run.A.plan.json",
                    base::quote(prefix)));
  return check_output_path(plan_path(prefix, 0));
}

/// Files that may be written.
std::vector<std::optional<std::string>> outputs_of(const std::optional<std::string>& prefix) {
  constexpr std::size_t max_plans = 26;  // as many as there are letters
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
  DOVETAIL_TRY(const answer::ForecastAnswer answer, ask(arguments.request, "forecast", outputs_of(arguments.output)));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  if (arguments.output) DOVETAIL_CHECK(write_plans(*arguments.output, answer));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_forecast(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ForecastArguments>();
  CLI::App* command = add_command(
      program, "forecast", "what a run of many steps takes as its responses grow, and when to plan again",
      "  dovetail forecast examples/jobs/grpo-8b.yaml --steps 1000 --lengths 500:2.5,1000:4 --cap 16384\n"
      "  dovetail forecast examples/jobs/ppo-7b.yaml --steps 2000 --p50 2000:800 --pause 100:5m --restart 10m -o run");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "PREFIX",
                  "write the schedule's plans: PREFIX.A.plan.json, ...");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_forecast(*arguments); });
}

}  // namespace dovetail::cli
