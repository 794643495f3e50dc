// dovetail report: shows schedules, traces, jobs and runs in one HTML file.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "answer/runs/simulation.h"
#include "answer/schedules/input_files.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/question_progress.h"
#include "cli/run_results.h"
#include "pipeline/schedule/evaluate.h"
#include "records/metric_table.h"
#include "report/iteration/job_page.h"
#include "report/overlay/overlay.h"
#include "report/page/page.h"
#include "report/run/run_page.h"
#include "report/schedule/schedule_page.h"
#include "timeline/chrome_trace_file.h"
#include "timeline/schedule_timeline.h"
#include "trainers/import_run.h"

namespace dovetail::cli {
namespace {

using answer::ScheduleText;

struct ReportArguments {
  std::vector<std::string> files;
  std::vector<std::string> plans;
  std::string output = "report.html";
  std::optional<std::string> title;
  std::optional<answer::Input> problem;
  std::optional<std::string> format;
  bool overlay = false;
  trainers::ImportOptions import;  ///< for trainer configurations
  answer::ChosenPlanOptions plan_options;
};

/// Content of a file on the command line, ready to be shown.
struct Input {
  std::string name;
  std::variant<pipeline::Schedule, timeline::Timeline, answer::SimulationAnswer, report::RunReport> content;
};

/// Input named on the command line, before any simulation.
using Source = std::variant<ScheduleText, report::RunReport>;

base::Result<Input> read_trace(const ScheduleText& text) {
  const std::string name = base::display_path(text.input.path);
  DOVETAIL_TRY(timeline::Timeline trace, timeline::parse_chrome_trace(text.content, name));
  for (const std::string& note : trace.notes) print_note(fmt::format("{}: {}", name, note));
  return Input{name, std::move(trace)};
}

answer::JobInput job_input(const ScheduleText& text, const ReportArguments& arguments) {
  answer::JobInput job(text.input.path, text.content);
  job.import = arguments.import;
  return job;
}

/// Simulates the plan at `plan`. Without it, simulates the plan of a trainer's configuration, or the best plan found
/// for a job file.
base::Result<Input> simulate_job(const ScheduleText& text, const std::optional<std::string>& plan,
                                 const ReportArguments& arguments, const parallel::Cancellation& stop) {
  answer::SimulationRequest request{
      .job = job_input(text, arguments), .plan_options = arguments.plan_options, .compared = !arguments.overlay};
  if (plan) request.plan = answer::Input{*plan};
  QuestionProgress progress("report", {arguments.output}, PlainLines::none);
  answer::Callbacks callbacks = progress.callbacks();
  callbacks.cancellation = &stop;
  DOVETAIL_TRY(answer::SimulationAnswer simulated, answer_to(request, callbacks));
  return Input{base::display_path(plan.value_or(text.input.path)), std::move(simulated)};
}

base::Result<Input> read_input(const ScheduleText& text, const ReportArguments& arguments) {
  if (!arguments.format && timeline::is_chrome_trace(text.content)) return read_trace(text);
  DOVETAIL_TRY(answer::LoadedSchedule loaded, answer::load_valid_schedule(text, arguments.problem, note_callbacks()));
  return Input{std::move(loaded.path), std::move(loaded.file.schedule)};
}

base::Result<Source> read_source(const std::string& path, std::optional<answer::ScheduleFormat> forced) {
  if (is_run_folder(path)) {
    DOVETAIL_TRY(report::RunReport run, read_run(path));
    return Source(std::move(run));
  }
  DOVETAIL_TRY(ScheduleText text, answer::read_schedule_text({trainers::file_of(path)}, forced));
  text.input.path = path;
  if (answer::named_format(text.content) == "dovetail/plan")
    return base::Error{base::Failure::bad_input, base::display_path(path), 0, 0,
                       fmt::format("a plan needs its job; use dovetail report JOB --plan {}", path)};
  return Source(std::move(text));
}

/// Reads all inputs before any simulation, to report a mistake in the last file early.
base::Result<std::vector<Source>> read_sources(const ReportArguments& arguments) {
  DOVETAIL_TRY(const auto forced, answer::format_to_read(arguments.format));
  std::vector<Source> sources;
  for (const std::string& path : arguments.files) {
    DOVETAIL_TRY(Source source, read_source(path, forced));
    sources.push_back(std::move(source));
  }
  return sources;
}

/// The text of a job file or of a trainer's configuration; null for other inputs.
const ScheduleText* job_of(const Source& source) {
  const auto* const text = std::get_if<ScheduleText>(&source);
  if (text == nullptr) return nullptr;
  const std::string format = answer::named_format(text->content);
  if (!format.empty()) return format == "dovetail/job" ? text : nullptr;
  const bool is_schedule = text->format || timeline::is_chrome_trace(text->content);
  return !is_schedule && trainers::is_foreign(text->input.path, text->content) ? text : nullptr;
}

base::Result<Input> input_of(const Source& source, const ReportArguments& arguments) {
  if (const auto* const run = std::get_if<report::RunReport>(&source)) return Input{run->name, *run};
  return read_input(std::get<ScheduleText>(source), arguments);
}

base::Result<std::vector<Input>> read_inputs(const ReportArguments& arguments, const parallel::Cancellation& stop) {
  DOVETAIL_TRY(const std::vector<Source> sources, read_sources(arguments));
  const auto jobs = std::count_if(sources.begin(), sources.end(), [](const Source& source) { return job_of(source); });
  if (!arguments.plans.empty() && jobs != 1)
    return base::bad_input(fmt::format("--plan needs exactly one job among the files, got {}", jobs));
  std::vector<Input> inputs;
  for (const Source& source : sources) {
    const ScheduleText* const job = job_of(source);
    if (job == nullptr) {
      DOVETAIL_TRY(Input input, input_of(source, arguments));
      inputs.push_back(std::move(input));
      continue;
    }
    std::vector<std::optional<std::string>> plans(arguments.plans.begin(), arguments.plans.end());
    if (plans.empty()) plans.emplace_back();
    for (const std::optional<std::string>& plan : plans) {
      DOVETAIL_TRY(Input input, simulate_job(*job, plan, arguments, stop));
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

report::Page page_of(const Input& input) {
  if (const auto* trace = std::get_if<timeline::Timeline>(&input.content))
    return report::trace_page(*trace, input.name);
  if (const auto* simulated = std::get_if<answer::SimulationAnswer>(&input.content))
    return report::job_page(*simulated);
  if (const auto* run = std::get_if<report::RunReport>(&input.content)) return report::run_page(*run);
  return report::schedule_page(std::get<pipeline::Schedule>(input.content), input.name);
}

timeline::Timeline timeline_of(const Input& input) {
  if (const auto* trace = std::get_if<timeline::Timeline>(&input.content)) return *trace;
  if (const auto* simulated = std::get_if<answer::SimulationAnswer>(&input.content))
    return report::iteration_chart(report::timeline_of(*simulated), "").timeline;
  if (const auto* run = std::get_if<report::RunReport>(&input.content))
    return records::run_timeline(run->tables.metrics, run->tables.evaluations);
  const auto& schedule = std::get<pipeline::Schedule>(input.content);
  return timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), input.name);
}

report::Page build(const std::vector<Input>& inputs, bool overlay) {
  if (overlay)
    return report::overlay_page({inputs[0].name, timeline_of(inputs[0])}, {inputs[1].name, timeline_of(inputs[1])},
                                fmt::format("{} and {}", inputs[0].name, inputs[1].name));
  std::vector<report::Page> pages;
  for (const Input& input : inputs) pages.push_back(page_of(input));
  return pages.size() == 1 ? std::move(pages.front()) : report::join_pages(std::move(pages));
}

/// Checks that --overlay has two timelines. Each plan of a job counts as one.
base::Status check_overlay(const ReportArguments& arguments) {
  const std::size_t timelines = arguments.files.size() + std::max<std::size_t>(arguments.plans.size(), 1) - 1;
  if (!arguments.overlay || timelines == 2) return {};
  return base::bad_input(fmt::format("--overlay needs exactly two timelines, got {}", timelines));
}

base::Result<int> run_report(const ReportArguments& arguments) {
  DOVETAIL_CHECK(check_overlay(arguments));
  std::vector<std::optional<std::string>> paths(arguments.files.begin(), arguments.files.end());
  paths.insert(paths.end(), arguments.plans.begin(), arguments.plans.end());
  std::vector<std::optional<answer::Input>> inputs_read;
  for (const std::optional<std::string>& path : paths) inputs_read.push_back(answer::Input{*path});
  DOVETAIL_CHECK(answer::check_standard_input(inputs_read));
  if (!is_standard_output(arguments.output) && !arguments.output.ends_with(".html") &&
      !arguments.output.ends_with(".htm"))
    return base::bad_input(fmt::format("-o must end in .html or .htm, or be '-', got '{}'", arguments.output));
  DOVETAIL_CHECK(check_output_path(arguments.output));
  DOVETAIL_CHECK(check_no_input(arguments.output, paths));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.plan_options.search.budget.time_limit);
  DOVETAIL_TRY(const std::vector<Input> inputs, read_inputs(arguments, stop));
  report::Page page = build(inputs, arguments.overlay);
  if (arguments.title) page.title = *arguments.title;
  DOVETAIL_TRY(const std::string written, write_output(arguments.output, report::render_html(page)));
  if (!is_standard_output(arguments.output)) print(fmt::format("written: {}; open it in a browser\n", written));
  const auto is_simulated = [](const Input& input) {
    return std::holds_alternative<answer::SimulationAnswer>(input.content);
  };
  const bool simulated = std::any_of(inputs.begin(), inputs.end(), is_simulated);
  return simulated && stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command =
      add_command(program, "report", "write a self-contained HTML report of jobs, schedules or runs",
                  "  dovetail report run.sh -o as-configured.html\n"
                  "  dovetail report examples/jobs/ppo-7b.yaml --time-limit 30s -o iteration.html\n"
                  "  dovetail report examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json -o grpo.html\n"
                  "  dovetail schedule exp5 -o schedule.json\n"
                  "  dovetail report schedule.json -o schedule.html\n"
                  "  dovetail convert schedule.json trace.txt\n"
                  "  dovetail report schedule.json trace.txt --problem exp5 --overlay -o both.html");
  add_positional_list(*command, "FILE", arguments->files,
                      "jobs, trainer files, schedules, traces or run folders ('-': stdin)");
  add_name_list(*command, "--plan", arguments->plans, "PLAN",
                "plan for the job (repeatable; default: the trainer's, or best found)");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "HTML file to write, '-' for stdout (default: report.html)");
  add_text_option(*command, "--title", arguments->title, "TEXT", "title of the report (default: from its content)");
  add_flag(*command, "--overlay", arguments->overlay, "overlay and compare two timelines");
  add_problem_option(*command, arguments->problem, "problem of the schedules (default: the one in the files)");
  add_text_option(*command, "--format", arguments->format, answer::read_formats,
                  "format of the schedules (default: detected from their content)");
  add_import_options(*command, arguments->import);
  add_request(*command, arguments->plan_options);
  set_action(*command, action, [arguments] { return run_report(*arguments); });
}

}  // namespace dovetail::cli
