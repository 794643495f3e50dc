// dovetail problem: a problem file, from measured times or from one that is there already.
#include <fmt/format.h>

#include <memory>

#include "answer/schedules/input_files.h"
#include "answer/words/figures.h"
#include "base/csv.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/problem/timings.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

struct ProblemArguments {
  std::optional<std::string> source;
  std::optional<std::string> timings;
  std::vector<std::string> microbatches;
  std::vector<std::string> map;
  std::string output = "-";
  bool json = false;
};

/// The two sides of NAME=VALUE.
struct Assignment {
  std::string name;
  std::string value;
};

base::Result<Assignment> parse_assignment(const std::string& option, const std::string& text, const char* example) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return base::bad_input(fmt::format("{} '{}' names no model; accepted: {}", option, text, example));
  }
  return Assignment{text.substr(0, equals), text.substr(equals + 1)};
}

base::Status add_microbatches(const std::string& text, pipeline::TimingsOptions& options) {
  constexpr const char* option = "--microbatches";
  constexpr const char* example = "actor=64";
  DOVETAIL_TRY(const Assignment assignment, parse_assignment(option, text, example));
  const auto count = base::parse_index(assignment.value);
  if (base::is_too_large_index(assignment.value))
    return base::bad_input(fmt::format("{} '{}' is too large; accepted: at most 2147483647", option, text));
  if (!count || *count == 0)
    return base::bad_input(fmt::format("{} '{}' has no positive whole number; accepted: {}", option, text, example));
  if (!options.microbatches.emplace(assignment.name, *count).second) {
    return base::bad_input(fmt::format("{} is given twice for model '{}'", option, assignment.name));
  }
  return {};
}

base::Status add_devices(const std::string& text, pipeline::TimingsOptions& options) {
  constexpr const char* option = "--map";
  constexpr const char* example = "actor=0,1,2,3 (the device of each stage)";
  DOVETAIL_TRY(const Assignment assignment, parse_assignment(option, text, example));
  std::vector<base::DeviceId> devices;
  for (const std::string& item : split(assignment.value, ',')) {
    const auto device = base::parse_index(item);
    if (!device)
      return base::bad_input(
          fmt::format("{} '{}': '{}' is no device number; accepted: {}", option, text, item, example));
    devices.emplace_back(*device);
  }
  if (!options.devices.emplace(assignment.name, std::move(devices)).second) {
    return base::bad_input(fmt::format("{} is given twice for model '{}'", option, assignment.name));
  }
  return {};
}

std::string spread_table(const pipeline::TimedProblem& timed) {
  const base::TimeUnit unit = timed.problem.time_unit;
  std::vector<std::vector<std::string>> rows;
  for (const pipeline::TimingSpread& spread : timed.spread) {
    const auto range = static_cast<double>((spread.most - spread.least).count());
    rows.push_back(
        {spread.model, fmt::format("{}", spread.stage), std::string(1, pipeline::letter_of(spread.op)),
         fmt::format("{}", spread.rows), base::format_time(spread.median, unit), base::format_time(spread.least, unit),
         base::format_time(spread.most, unit),
         spread.median.count() == 0 ? "-" : answer::percent(range / static_cast<double>(spread.median.count()))});
  }
  const std::string header = std::string(base::name_of(unit));
  return report::render_table({{"model", report::Align::left},
                               {"stage"},
                               {"op"},
                               {"rows"},
                               {"median " + header},
                               {"least"},
                               {"most"},
                               {"range"}},
                              rows);
}

base::Result<pipeline::Problem> from_timings(const ProblemArguments& arguments) {
  pipeline::TimingsOptions options;
  for (const std::string& text : arguments.microbatches) DOVETAIL_CHECK(add_microbatches(text, options));
  for (const std::string& text : arguments.map) DOVETAIL_CHECK(add_devices(text, options));
  DOVETAIL_TRY(const std::string content, base::read_file(*arguments.timings));
  DOVETAIL_TRY(pipeline::TimedProblem timed,
               pipeline::problem_from_timings(content, base::display_path(*arguments.timings), options));
  print_error(spread_table(timed));
  return std::move(timed.problem);
}

base::Result<pipeline::Problem> read_problem(const ProblemArguments& arguments) {
  if (arguments.source.has_value() == arguments.timings.has_value()) {
    return base::bad_input("give either a problem (a file or a bundled instance) or --from TIMINGS.csv");
  }
  if (arguments.timings) return from_timings(arguments);
  if (!arguments.microbatches.empty() || !arguments.map.empty())
    return base::bad_input("--microbatches and --map belong to --from TIMINGS.csv");
  DOVETAIL_TRY(answer::NamedProblem named, answer::read_problem({*arguments.source}, noting()));
  return std::move(named.problem);
}

base::Result<int> run_problem(const ProblemArguments& arguments) {
  DOVETAIL_TRY(const pipeline::Problem problem, read_problem(arguments));
  const bool as_json = arguments.json || arguments.output.ends_with(".json");
  const std::string text = as_json ? pipeline::problem_to_json(problem) : pipeline::problem_to_yaml(problem);
  DOVETAIL_TRY(const std::string written, write_output(arguments.output, text.ends_with('\n') ? text : text + "\n"));
  if (!is_standard_output(arguments.output)) print_error(fmt::format("written: {}\n", written));
  return exit_done;
}

}  // namespace

void add_problem(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ProblemArguments>();
  CLI::App* command = add_command(
      program, "problem", "make a problem file from measured times, or print one",
      "  dovetail problem --from timings.csv --microbatches actor=64 --microbatches critic=32 -o problem.yaml\n"
      "  dovetail problem exp5 -o problem.yaml");
  add_text_option(*command, "PROBLEM", arguments->source, " ",
                  "problem file, '-' for standard input, or a bundled instance");
  add_text_option(
      *command, "--from", arguments->timings, "FILE",
      "CSV of measured times: model,stage,op,seconds[,activation_bytes]; several rows of one op: their median");
  add_name_list(*command, "--microbatches", arguments->microbatches, "NAME=N",
                "micro-batches of a model; once for each model");
  add_name_list(*command, "--map", arguments->map, "NAME=D,D,...",
                "devices of a model's stages (default: 0, 1, ... for the first model, reversed for the others)");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write it to FILE (.json: JSON, else YAML); default: standard output");
  add_flag(*command, "--json", arguments->json, "write JSON in place of YAML");
  set_action(*command, action, [arguments] { return run_problem(*arguments); });
}

}  // namespace dovetail::cli
