// dovetail simulate: a plan played event by event, and where every second of every device goes.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/output_file.h"
#include "cli/played_plan.h"
#include "cli/progress_line.h"
#include "cli/simulation_report.h"
#include "report/iteration/job_page.h"
#include "report/page/html.h"
#include "report/schedule/svg.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlayArguments play;
  std::optional<std::string> output;
};

/// How a file of this name is written; an Error for another name.
enum class OutputFormat { json, chrome, svg, html };
base::Result<OutputFormat> format_of(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return OutputFormat::chrome;
  if (path.ends_with(".json") || is_standard_output(path)) return OutputFormat::json;
  if (path.ends_with(".svg")) return OutputFormat::svg;
  if (path.ends_with(".html")) return OutputFormat::html;
  return base::bad_input(fmt::format("the extension of '{}' does not tell the format; accepted: .json, .trace.json, .svg, .html", path));
}

/// Before anything is simulated for it.
base::Status check_output(const std::string& path) {
  const auto format = format_of(path);
  return format.ok() ? check_output_path(path) : format.error();
}

base::Status write(const std::string& path, const SimulatedPlan& simulated) {
  DOVETAIL_TRY(const OutputFormat format, format_of(path));
  const report::JobPicture picture{
      simulated.scenario, simulated.plan, simulated.simulation, simulated.bound, simulated.variants, simulated.notes, nullptr, nullptr};
  const std::string text = format == OutputFormat::chrome ? timeline::render_chrome_trace(report::timeline_of(picture))
                           : format == OutputFormat::svg  ? report::render_svg(report::timeline_of(picture))
                           : format == OutputFormat::html ? report::render_html(report::job_page(picture))
                                                          : answer::json_text(to_json(simulated, true)) + "\n";
  const auto written = write_output(path, text);
  return written.ok() ? base::Status() : written.error();
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_CHECK(check_output_options(arguments.output, std::nullopt, arguments.plan.json));
  if (arguments.output) DOVETAIL_CHECK(check_output(*arguments.output));
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  DOVETAIL_CHECK(check_no_input(arguments.output, {arguments.plan.plan}));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.play.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  std::optional<ProgressLine> line(job.name);
  DOVETAIL_TRY(ChosenPlan chosen, choose_plan(arguments.play, arguments.plan.job, arguments.plan.plan, scenario, false, *line));
  DOVETAIL_TRY(PlayedPlan played, play_plan(arguments.play, scenario, chosen.plan, *line));
  line.reset();
  const SimulatedPlan simulated{scenario,
                                chosen.plan,
                                !arguments.plan.plan,
                                arguments.play.search.budget.seed,
                                chosen.bound,
                                std::move(played.simulation),
                                std::move(played.variants),
                                std::move(chosen.notes)};
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(simulated, false)));
  else
    print_beside(arguments.output, to_text(simulated));
  if (arguments.output) DOVETAIL_CHECK(write(*arguments.output, simulated));
  return stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "simulate", "play a plan event by event: where every second of every device goes",
                                  "  dovetail simulate examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                                  "  dovetail simulate examples/jobs/rlhfuse-33b-13b.yaml --fuse both -o iteration.trace.json");
  add_plan_arguments(*command, arguments->plan, "play this plan, a dovetail/plan@1 file, in place of the best that is found");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write what every device does there: .json, .svg, .html, or .trace.json for Perfetto and chrome://tracing");
  add_play_arguments(*command, arguments->play);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
