// dovetail report: schedules and traces as one HTML file.
#include <fmt/format.h>

#include <memory>
#include <variant>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/output.h"
#include "pipeline/evaluate.h"
#include "report/html.h"
#include "report/overlay.h"
#include "report/schedule_page.h"
#include "report/several.h"
#include "report/trace_page.h"
#include "timeline/chrome_trace_file.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output = "report.html";
  std::optional<std::string> title;
  std::optional<std::string> problem;
  std::optional<std::string> format;
  bool overlay = false;
};

/// What a file of the command line holds.
struct Input {
  std::string name;
  std::variant<pipeline::Schedule, timeline::ChromeTrace> content;
};

base::Result<Input> read_trace(const ScheduleText& text) {
  const std::string name = base::display_path(text.argument);
  DOVETAIL_TRY(timeline::ChromeTrace trace, timeline::parse_chrome_trace(text.content, name));
  for (const std::string& note : trace.notes) print_note(fmt::format("{}: {}", name, note));
  return Input{name, std::move(trace)};
}

base::Result<Input> read_input(const std::string& path, const Arguments& arguments) {
  std::optional<ScheduleFormat> forced;
  if (arguments.format) {
    DOVETAIL_TRY(forced, format_to_read(*arguments.format));
  }
  DOVETAIL_TRY(const ScheduleText text, read_schedule_text(path, forced));
  if (!forced && timeline::is_chrome_trace(text.content)) return read_trace(text);
  DOVETAIL_TRY(LoadedSchedule loaded, load_valid_schedule(text, arguments.problem));
  return Input{std::move(loaded.path), std::move(loaded.file.schedule)};
}

report::Page page_of(const Input& input) {
  if (const auto* trace = std::get_if<timeline::ChromeTrace>(&input.content)) return report::trace_page(*trace, input.name);
  return report::schedule_page(std::get<pipeline::Schedule>(input.content), input.name);
}

report::NamedChart chart_of(const Input& input) {
  if (const auto* trace = std::get_if<timeline::ChromeTrace>(&input.content)) return {input.name, report::trace_chart(*trace, input.name)};
  const auto& schedule = std::get<pipeline::Schedule>(input.content);
  return {input.name,
          report::schedule_chart(timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), input.name), input.name)};
}

report::Page build(const std::vector<Input>& inputs, bool overlay) {
  if (overlay)
    return report::overlay_page(chart_of(inputs[0]), chart_of(inputs[1]), fmt::format("{} and {}", inputs[0].name, inputs[1].name));
  std::vector<report::Page> pages;
  for (const Input& input : inputs) pages.push_back(page_of(input));
  return pages.size() == 1 ? std::move(pages.front()) : report::join_pages(std::move(pages));
}

base::Result<int> run(const Arguments& arguments) {
  if (arguments.overlay && arguments.files.size() != 2) {
    return base::bad_input(fmt::format("--overlay lays two timelines over each other, and {} given; accepted: --overlay A B",
                                       arguments.files.size() == 1 ? "one is" : fmt::format("{} are", arguments.files.size())));
  }
  DOVETAIL_CHECK(check_output_path(arguments.output));
  std::vector<Input> inputs;
  for (const std::string& path : arguments.files) {
    DOVETAIL_TRY(Input input, read_input(path, arguments));
    inputs.push_back(std::move(input));
  }
  report::Page page = build(inputs, arguments.overlay);
  if (arguments.title) page.title = *arguments.title;
  DOVETAIL_TRY(const std::string written, write_output(arguments.output, report::render_html(page)));
  if (!is_standard_output(arguments.output)) print(fmt::format("written: {}; open it in a browser\n", written));
  return exit_done;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "report", "write schedules or traces as an HTML report, one file that needs nothing else",
                                  "  dovetail report schedule.json -o schedule.html\n"
                                  "  dovetail report planned.json measured.trace.json --overlay -o both.html");
  command->add_option("FILE", arguments->files, "schedules (JSON, FlexFusion trace, PyTorch CSV) or Chrome traces; '-': standard input")
      ->required()
      ->option_text(" ");
  command->add_option("-o,--output", arguments->output, "file to write, '-' for standard output (default: report.html)")
      ->option_text("FILE");
  add_text_option(*command, "--title", arguments->title, "TEXT", "title of the report (default: the names of the files)");
  command->add_flag("--overlay", arguments->overlay, "lay two timelines over each other, and list how they differ");
  add_text_option(*command, "--problem", arguments->problem, "PROBLEM", "problem that the schedules are of (default: as the files say)");
  add_text_option(*command, "--format", arguments->format, read_formats, "format of the schedules (default: told from their content)");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
