// dovetail sweep: one input of a job or of its plan varied, and what each value costs.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/length_cap.h"
#include "cli/output_file.h"
#include "cli/plan_search.h"
#include "cli/played_plan.h"
#include "cli/progress_line.h"
#include "cli/sweep_report.h"
#include "report/drawing/sweep_picture.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
  std::string over;
  std::optional<std::string> values;
  std::optional<std::string> cap;
  std::optional<std::string> output;
  bool simulate = false;
  int draws = 3;
};

/// All inputs, as add_choice_option wants them.
std::string choices() {
  std::vector<std::string_view> names;
  for (const study::SweepInput input : study::sweep_inputs()) names.push_back(name_of(input));
  return fmt::format("{}", fmt::join(names, "|"));
}

/// How a file of this name is written; an Error for another name.
enum class OutputFormat { json, csv, svg };
base::Result<OutputFormat> format_of(const std::string& path) {
  if (path.ends_with(".json") || is_standard_output(path)) return OutputFormat::json;
  if (path.ends_with(".csv")) return OutputFormat::csv;
  if (path.ends_with(".svg")) return OutputFormat::svg;
  return base::bad_input(fmt::format("the extension of '{}' does not tell the format; accepted: .svg, .json, .csv", path));
}

base::Status check_arguments(const Arguments& arguments, study::SweepInput over) {
  DOVETAIL_CHECK(check_output_options(arguments.output, std::nullopt, arguments.plan.json));
  if (arguments.output) {
    const auto format = format_of(*arguments.output);
    if (!format.ok()) return format.error();
    DOVETAIL_CHECK(check_output_path(*arguments.output));
  }
  if (over == study::SweepInput::nodes && arguments.plan.plan)
    return base::bad_input("--over nodes finds a plan for each number of nodes; --plan has no use there");
  if (over != study::SweepInput::length && arguments.cap) return base::bad_input("--cap is for --over length");
  return {};
}

base::Result<study::SweepOptions> options_of(const Arguments& arguments, study::SweepInput over, const plan::Job& job) {
  study::SweepOptions options;
  options.over = over;
  if (arguments.values) {
    DOVETAIL_TRY(options.values, study::parse_values(over, *arguments.values));
  }
  if (arguments.cap) {
    DOVETAIL_TRY(options.cap, parse_length_cap(*arguments.cap, job));
  }
  options.simulate = arguments.simulate || over == study::SweepInput::threshold;
  options.simulation.seed = arguments.search.budget.seed;
  options.simulation.draws = arguments.draws;
  return options;
}

base::Status write(const std::string& path, const SweptPlan& swept) {
  DOVETAIL_TRY(const OutputFormat format, format_of(path));
  const auto has_place = [](const study::SweepPoint& point) { return point.value && point.figures; };
  if (format == OutputFormat::svg && std::none_of(swept.sweep.points.begin(), swept.sweep.points.end(), has_place))
    return base::Error{base::Failure::infeasible, path, 0, 0, "there is nothing to draw: no value has a plan"};
  const std::string text = format == OutputFormat::svg   ? report::render_curve_svg(report::sweep_picture(swept.sweep, title_of(swept)))
                           : format == OutputFormat::csv ? to_csv(swept)
                                                         : answer::json_text(to_json(swept), 2) + "\n";
  const auto written = write_output(path, text);
  return written.ok() ? base::Status() : written.error();
}

base::Result<int> run(const Arguments& arguments) {
  const std::optional<study::SweepInput> asked = study::find_sweep_input(arguments.over);
  if (!asked) return base::bad_input("what varies is missing: --over " + choices());
  const study::SweepInput over = *asked;
  DOVETAIL_CHECK(check_arguments(arguments, over));
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan));
  DOVETAIL_TRY(const predict::Software software, load_software(job, arguments.plan.job));
  DOVETAIL_CHECK(check_no_input(arguments.output, {arguments.plan.plan}));
  const parallel::Cancellation stop(&stop_on_interrupt(), arguments.search.budget.time_limit_seconds);
  const predict::Scenario scenario = predict::scenario_of(job, software, &stop);
  std::optional<ProgressLine> line(job.name);
  DOVETAIL_TRY(study::SweepOptions options, options_of(arguments, over, job));
  if (options.simulate) DOVETAIL_CHECK(check_playable(job, arguments.plan.job));
  DOVETAIL_TRY(options.rank, rank_options(arguments.search, job.placements, *line));
  std::optional<plan::Plan> plan;
  if (arguments.plan.plan) {
    DOVETAIL_TRY(plan, load_plan(*arguments.plan.plan, job, software));
  } else if (over != study::SweepInput::nodes) {
    DOVETAIL_TRY(planner::Ranking ranking, find_plans(scenario, options.rank, arguments.plan.job, "; --plan sweeps one that does not"));
    plan = std::move(ranking.plans.front().plan);
  }
  options.on_point = [&](std::size_t point, std::size_t of) {
    line->set_label(fmt::format("{}, value {} of {}", job.name, point + 1, of));
    line->update(std::string_view(name_of(over)));
  };
  DOVETAIL_TRY(study::Sweep sweep, study::sweep(scenario, plan ? &*plan : nullptr, options));
  line.reset();
  const SweptPlan swept{scenario, plan ? plan->placement : "", std::move(sweep)};
  if (arguments.plan.json)
    print_json(answer::json_text(to_json(swept)));
  else
    print_beside(arguments.output, to_text(swept));
  if (arguments.output) DOVETAIL_CHECK(write(*arguments.output, swept));
  return stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_sweep(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, "sweep", "vary one input of a job or of its plan: what each value costs, and which is best",
                  "  dovetail sweep examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml --over length -o lengths.svg\n"
                  "  dovetail sweep examples/jobs/rlhfuse-33b-13b.yaml --plan examples/jobs/rlhfuse-33b-13b.plan.json --over threshold\n"
                  "  dovetail sweep examples/jobs/grpo-8b.yaml --over nodes --values 1,2,4");
  add_plan_arguments(*command, arguments->plan, "the plan, a dovetail/plan@1 file, in place of the best that is found");
  add_choice_option(*command, "--over", arguments->over, choices(), "what varies; of nodes plans are found anew");
  add_text_option(*command, "--values", arguments->values, "LIST",
                  "its values, separated by commas: 5%,20% of threshold, factors of length, micro-batch and bandwidth, else numbers");
  add_text_option(*command, "--cap", arguments->cap, "TOKENS",
                  "of --over length: where responses end: tokens, keep (the job's longest) or scale (none: the longest grow as all do; the "
                  "default)");
  add_flag(*command, "--simulate", arguments->simulate, "also play every point event by event (of threshold: always)");
  add_count_option(*command, "--draws", arguments->draws, 1, 1000, "how often the lengths of all samples are drawn and played");
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "write the curves: .svg, .json or .csv");
  add_plan_search_arguments(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
