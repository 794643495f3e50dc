// dovetail forecast: a run of many steps whose responses grow.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/document.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/forecast_report.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/length_cap.h"
#include "cli/output_file.h"
#include "cli/plan_search.h"
#include "cli/progress_line.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
  int steps = 0;
  std::optional<std::string> lengths;
  std::optional<std::string> mean;
  std::optional<std::string> median;
  std::optional<std::string> cap;
  std::vector<std::string> pauses;
  std::optional<double> restart_seconds;
  int searches = study::ForecastOptions{}.searches;
  std::optional<std::string> output;
};

/// "0:1,500:2.5", or where there is no colon a file's name.
base::Result<study::Growth> read_growth(const std::string& option, const std::string& text, study::GrowthFigure figure) {
  if (figure == study::GrowthFigure::factor && text.find(':') == std::string::npos) {
    if (std::error_code none; text != "-" && !std::filesystem::exists(text, none))
      return base::bad_input(
          fmt::format("{}: {} is neither factors nor a file; accepted: STEP:FACTOR, separated by commas, such as "
                      "0:1,500:2.5, or a CSV file",
                      option, base::quote(text)));
    DOVETAIL_TRY(const std::string content, base::read_file(text));
    return study::parse_growth_table(content, base::display_path(text));
  }
  auto growth = study::parse_growth(text, figure);
  if (!growth.ok()) return base::bad_input(option + ": " + growth.error().message);
  return growth;
}

base::Result<study::Growth> growth_of(const Arguments& arguments) {
  if (arguments.lengths) return read_growth("--lengths", *arguments.lengths, study::GrowthFigure::factor);
  if (arguments.mean) return read_growth("--mean", *arguments.mean, study::GrowthFigure::mean);
  if (arguments.median) return read_growth("--p50", *arguments.median, study::GrowthFigure::median);
  return study::Growth{};
}

/// Where responses end: what is asked for; else the job's longest, where so many end there that it is a cap. Lengths that are all one say
/// nothing of it.
base::Result<std::optional<std::int64_t>> cap_of(const Arguments& arguments, const plan::Job& job) {
  const workflow::LengthDistribution& lengths = job.workload.response_length;
  constexpr double min_at_cap = 0.001;
  const double at_longest = lengths.survival(lengths.longest() - 1);
  const bool capped = at_longest >= min_at_cap && lengths.shortest() < lengths.longest();
  return parse_length_cap(arguments.cap.value_or(capped ? "keep" : "scale"), job);
}

base::Result<std::vector<study::Pause>> read_pauses(const std::vector<std::string>& texts) {
  std::vector<study::Pause> pauses;
  for (const std::string& text : texts) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::optional<std::int32_t> every = base::parse_index(text.substr(0, colon));
    const auto seconds = parse_seconds(colon < text.size() ? text.substr(colon + 1) : "");
    if (!every || *every < 1 || !seconds.ok())
      return base::bad_input(
          fmt::format("--pause: {} is no pause; accepted: STEPS:TIME, such as 100:5m for five minutes every 100 steps", base::quote(text)));
    pauses.push_back({*every, seconds.value()});
  }
  return pauses;
}

std::vector<std::optional<std::string>> inputs_of(const Arguments& arguments) {
  return {arguments.plan.job, arguments.plan.plan, arguments.lengths, arguments.mean, arguments.median};
}

base::Status check_arguments(const Arguments& arguments) {
  if (arguments.steps == 0) return base::bad_input("how many steps is missing: --steps N");
  if (arguments.lengths.has_value() + arguments.mean.has_value() + arguments.median.has_value() > 1)
    return base::bad_input("--lengths, --mean and --p50 say the same in different ways; accepted: one of them");
  if (arguments.searches == 0 && !arguments.plan.plan) return base::bad_input("--searches 0 keeps the plan of --plan, which is missing");
  return check_standard_input(inputs_of(arguments));
}

/// The file of plan number `index`: "run.A.plan.json" of "run".
std::string plan_path(const std::string& prefix, std::size_t index) { return prefix + "." + plan_letter(index) + ".plan.json"; }

base::Status check_prefix(const std::string& prefix) {
  std::error_code none;
  if (prefix.empty() || prefix.back() == '/' || is_standard_output(prefix) || std::filesystem::is_directory(prefix, none))
    return base::bad_input(
        fmt::format("-o {} names no file; accepted: what the names of plans begin with, as run of run.A.plan.json", base::quote(prefix)));
  return check_output_path(plan_path(prefix, 0));
}

base::Status check_no_plan_is_input(const Arguments& arguments) {
  constexpr std::size_t max_plans = 26;  // as many as there are letters
  for (std::size_t plan = 0; arguments.output && plan < max_plans; ++plan)
    DOVETAIL_CHECK(check_no_input(plan_path(*arguments.output, plan), {arguments.plan.plan}));
  return {};
}

base::Status write_plans(const std::string& prefix, const ForecastRun& run) {
  std::vector<OutputFile> files;
  for (std::size_t index = 0; index < run.forecast.plans.size(); ++index)
    files.push_back({plan_path(prefix, index), plan::plan_to_json(run.forecast.plans[index].plan, run.scenario.job)});
  const auto written = write_outputs(files);
  return written.ok() ? base::Status() : written.error();
}

base::Result<study::ForecastOptions> options_of(const Arguments& arguments) {
  study::ForecastOptions options;
  options.steps = arguments.steps;
  DOVETAIL_TRY(options.pauses, read_pauses(arguments.pauses));
  options.restart_seconds = arguments.restart_seconds.value_or(0);
  options.searches = arguments.searches;
  return options;
}

base::Result<study::Forecast> forecast_of(const Arguments& arguments, const predict::Scenario& scenario,
                                          const study::LengthGrowth& growth) {
  ProgressLine line(scenario.job.name);
  DOVETAIL_TRY(study::ForecastOptions options, options_of(arguments));
  DOVETAIL_TRY(options.rank, rank_options(arguments.search, scenario.job.placements, line));
  std::optional<plan::Plan> plan;
  if (arguments.plan.plan) {
    DOVETAIL_TRY(plan, load_plan(*arguments.plan.plan, scenario.job, scenario.software));
  }
  options.on_search = [&](std::int64_t step) { line.set_label(fmt::format("{}, plans for step {}", scenario.job.name, step)); };
  auto forecast = study::forecast(scenario, plan ? &*plan : nullptr, growth, options);
  if (forecast.ok() || !forecast.error().path.empty()) return forecast;
  base::Error error = std::move(forecast).error();
  error.path = base::display_path(arguments.plan.job);
  return error;
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_CHECK(check_arguments(arguments));
  if (arguments.output) DOVETAIL_CHECK(check_prefix(*arguments.output));
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  DOVETAIL_TRY(study::Growth asked, growth_of(arguments));
  DOVETAIL_TRY(const std::optional<std::int64_t> cap, cap_of(arguments, job));
  DOVETAIL_TRY(const study::LengthGrowth growth, study::LengthGrowth::of(job.workload.response_length, std::move(asked), cap));
  DOVETAIL_CHECK(check_no_plan_is_input(arguments));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  DOVETAIL_TRY(study::Forecast forecast, forecast_of(arguments, scenario, growth));
  const ForecastRun run{scenario, arguments.steps, cap, std::move(forecast)};
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(run)));
  else
    print(to_text(run));
  if (arguments.output) DOVETAIL_CHECK(write_plans(*arguments.output, run));
  if (stop_on_interrupt().requested()) return exit_interrupted;
  return run.forecast.steps < run.steps ? exit_infeasible : exit_done;
}

}  // namespace

void add_forecast(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, "forecast", "what a run of many steps takes as its responses grow, and when to plan again",
                  "  dovetail forecast examples/jobs/grpo-8b.yaml --steps 1000 --lengths 500:2.5,1000:4 --cap 16384\n"
                  "  dovetail forecast examples/jobs/ppo-7b.yaml --steps 2000 --p50 2000:800 --pause 100:5m --restart 10m -o run");
  add_plan_arguments(*command, arguments->plan, "begin with this plan, a dovetail/plan@1 file");
  add_count_option(*command, "--steps", arguments->steps, 1, static_cast<int>(study::max_step_number), "how many steps (iterations)");
  add_text_option(
      *command, "--lengths", arguments->lengths, "GROWTH",
      "factors of all response lengths at steps, linear between them: 0:1,500:2.5,1000:4; or a CSV file with the columns step and "
      "factor, mean or p50");
  add_text_option(*command, "--mean", arguments->mean, "GROWTH", "the same by the mean response, in tokens: 500:2000");
  add_text_option(*command, "--p50", arguments->median, "GROWTH", "the same by the length that half of them reach: 500:1500");
  add_text_option(*command, "--cap", arguments->cap, "TOKENS",
                  "where responses end: tokens, keep (the job's longest, the default where lengths vary) or scale (none)");
  add_name_list(*command, "--pause", arguments->pauses, "STEPS:TIME",
                "every so many steps the run stands still so long, for checkpoints or evaluation: 100:5m (may be given several times)");
  add_seconds_option(*command, "--restart", "what a change of the plan takes (none)", arguments->restart_seconds);
  add_count_option(*command, "--searches", arguments->searches, 0, 100,
                   "at how many lengths plans are searched, from the first to the longest; 0: the plan is kept");
  add_text_option(*command, "-o,--output", arguments->output, "PREFIX", "write the schedule's plans: PREFIX.A.plan.json, ...");
  add_plan_search_arguments(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
