// dovetail simulate: a plan played event by event, and where every second of every device goes.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "answer/runs/simulation.h"
#include "cli/asking.h"
#include "cli/options.h"
#include "report/iteration/job_page.h"
#include "report/page/html.h"
#include "report/schedule/svg.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

struct SimulateArguments {
  answer::SimulationRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// How a file of this name is written; an Error for another name.
enum class OutputFormat { json, chrome, svg, html };
base::Result<OutputFormat> format_of(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return OutputFormat::chrome;
  if (path.ends_with(".json") || is_standard_output(path)) return OutputFormat::json;
  if (path.ends_with(".svg")) return OutputFormat::svg;
  if (path.ends_with(".html")) return OutputFormat::html;
  return base::bad_input(
      fmt::format("the extension of '{}' does not tell the format; accepted: .json, .trace.json, .svg, .html", path));
}

std::string content_of(const answer::SimulationAnswer& answer, OutputFormat format) {
  switch (format) {
    case OutputFormat::json:
      return timeline_json(answer) + "\n";
    case OutputFormat::chrome:
      return timeline::render_chrome_trace(report::timeline_of(answer));
    case OutputFormat::svg:
      return report::render_svg(report::timeline_of(answer));
    case OutputFormat::html:
      return report::render_html(report::job_page(answer));
  }
  DOVETAIL_ASSERT(false);
}

base::Result<int> run_simulate(const SimulateArguments& arguments) {
  OutputFormat format = OutputFormat::json;
  if (arguments.output) {
    DOVETAIL_TRY(format, format_of(*arguments.output));
    DOVETAIL_CHECK(check_output_path(*arguments.output));
  }
  DOVETAIL_TRY(const answer::SimulationAnswer answer, ask(arguments.request, "simulate", {arguments.output}));
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, [&] { return content_of(answer, format); }}));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command =
      add_command(program, "simulate", "play a plan event by event: where every second of every device goes",
                  "  dovetail simulate examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                  "  dovetail simulate examples/jobs/rlhfuse-33b-13b.yaml --fuse both -o iteration.trace.json");
  add_request(*command, arguments->request);
  add_text_option(
      *command, "-o,--output", arguments->output, "FILE",
      "write what every device does there: .json, .svg, .html, or .trace.json for Perfetto and chrome://tracing");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_simulate(*arguments); });
}

}  // namespace dovetail::cli
