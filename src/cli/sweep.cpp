// dovetail sweep: one input of a job or of its plan varied, and what each value costs.
#include "answer/runs/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "cli/asking.h"
#include "cli/options.h"
#include "report/drawing/sweep_picture.h"

namespace dovetail::cli {
namespace {

struct SweepArguments {
  answer::SweepRequest request;
  std::optional<std::string> output;
  bool json = false;
};

/// How a file of this name is written; an Error for another name.
enum class OutputFormat { json, csv, svg };
base::Result<OutputFormat> format_of(const std::string& path) {
  if (path.ends_with(".json") || is_standard_output(path)) return OutputFormat::json;
  if (path.ends_with(".csv")) return OutputFormat::csv;
  if (path.ends_with(".svg")) return OutputFormat::svg;
  return base::bad_input(
      fmt::format("the extension of '{}' does not tell the format; accepted: .svg, .json, .csv", path));
}

base::Result<std::string> content_of(const answer::SweepAnswer& answer, OutputFormat format, const std::string& path) {
  if (format == OutputFormat::json) return to_json(answer) + "\n";
  if (format == OutputFormat::csv) return to_csv(answer);
  const auto has_place = [](const study::SweepPoint& point) { return point.value && point.figures; };
  if (std::none_of(answer.sweep.points.begin(), answer.sweep.points.end(), has_place))
    return base::Error{base::Failure::infeasible, path, 0, 0, "there is nothing to draw: no value has a plan"};
  return report::render_curve_svg(report::sweep_picture(answer.sweep, title_of(answer)));
}

base::Result<int> run_sweep(const SweepArguments& arguments) {
  OutputFormat format = OutputFormat::json;
  if (arguments.output) {
    DOVETAIL_TRY(format, format_of(*arguments.output));
    DOVETAIL_CHECK(check_output_path(*arguments.output));
  }
  DOVETAIL_TRY(const answer::SweepAnswer answer, ask(arguments.request, "sweep", {arguments.output}));
  const auto content = [&] { return content_of(answer, format, *arguments.output); };
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, content}));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_sweep(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = add_command(
      program, "sweep", "vary one input of a job or of its plan: what each value costs, and which is best",
      "  dovetail sweep examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml --over length -o lengths.svg\n"
      "  dovetail sweep examples/jobs/rlhfuse-33b-13b.yaml --plan examples/jobs/rlhfuse-33b-13b.plan.json --over "
      "threshold\n"
      "  dovetail sweep examples/jobs/grpo-8b.yaml --over nodes --values 1,2,4");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "write the curves: .svg, .json or .csv");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_sweep(*arguments); });
}

}  // namespace dovetail::cli
