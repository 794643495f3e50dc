// dovetail simulate: simulates a plan event by event and shows how every device spends its time.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>

#include "answer/runs/simulation.h"
#include "cli/options.h"
#include "cli/question_progress.h"
#include "report/iteration/job_page.h"
#include "report/page/page.h"
#include "report/schedule/gantt.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

struct SimulateArguments {
  answer::SimulationRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// The format for a file name; an Error for an unknown extension.
enum class SimulationFormat { json, chrome, svg, html };
base::Result<SimulationFormat> simulation_format(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return SimulationFormat::chrome;
  if (path.ends_with(".json") || is_standard_output(path)) return SimulationFormat::json;
  if (path.ends_with(".svg")) return SimulationFormat::svg;
  if (path.ends_with(".html")) return SimulationFormat::html;
  return base::bad_input(fmt::format("cannot tell the format of '{}'; use .json, .trace.json, .svg or .html", path));
}

std::string content_of(const answer::SimulationAnswer& answer, SimulationFormat format) {
  switch (format) {
    case SimulationFormat::json:
      return timeline_json(answer) + "\n";
    case SimulationFormat::chrome:
      return timeline::render_chrome_trace(report::timeline_of(answer));
    case SimulationFormat::svg:
      return report::render_svg(report::timeline_of(answer));
    case SimulationFormat::html:
      return report::render_html(report::job_page(answer));
  }
  DOVETAIL_ASSERT(false);
}

base::Result<int> run_simulate(const SimulateArguments& arguments) {
  SimulationFormat format = SimulationFormat::json;
  if (arguments.output) {
    DOVETAIL_TRY(format, simulation_format(*arguments.output));
  }
  DOVETAIL_TRY(const answer::SimulationAnswer answer, answer_to(arguments.request, "simulate", {arguments.output}));
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, [&] { return content_of(answer, format); }}));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command =
      add_command(program, "simulate", "simulate a plan event by event",
                  "  dovetail simulate examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                  "  dovetail simulate examples/jobs/rlhfuse-33b-13b.yaml --fuse both --time-limit 30s \\\n"
                  "    -o iteration.trace.json");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "timeline to write: .json, .svg, .html, or .trace.json for Perfetto");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_simulate(*arguments); });
}

}  // namespace dovetail::cli
