// dovetail problem: makes a problem file from measured times, or prints an existing problem.
// dovetail instances: lists the bundled problems.
#include <fmt/core.h>

#include <memory>

#include "answer/question/json.h"
#include "answer/schedules/input_files.h"
#include "answer/text/figures.h"
#include "base/assert.h"
#include "base/csv.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/question_progress.h"
#include "pipeline/problem/instances.h"
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

/// Name and value of NAME=VALUE.
struct Assignment {
  std::string name;
  std::string value;
};

base::Result<Assignment> parse_assignment(const std::string& option, const std::string& text, const char* example) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return base::bad_input(fmt::format("{} '{}' must start with a model and '=', such as {}", option, text, example));
  }
  return Assignment{text.substr(0, equals), text.substr(equals + 1)};
}

base::Status add_microbatches(const std::string& text, pipeline::TimingsOptions& options) {
  constexpr const char* option = "--microbatches";
  constexpr const char* example = "actor=64";
  DOVETAIL_TRY(const Assignment assignment, parse_assignment(option, text, example));
  const auto count = base::parse_index(assignment.value);
  if (base::is_too_large_index(assignment.value))
    return base::bad_input(fmt::format("{} '{}' is too large; the maximum is 2147483647", option, text));
  if (!count || *count == 0)
    return base::bad_input(fmt::format("{} '{}' must have a positive integer, such as {}", option, text, example));
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
          fmt::format("{} '{}': '{}' is not a device number; expected {}", option, text, item, example));
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
    const auto range = static_cast<double>((spread.max - spread.min).count());
    rows.push_back(
        {spread.model, fmt::format("{}", spread.stage), std::string(1, pipeline::letter_of(spread.op)),
         fmt::format("{}", spread.rows), base::format_time(spread.median, unit), base::format_time(spread.min, unit),
         base::format_time(spread.max, unit),
         spread.median.count() == 0 ? "-" : answer::percent(range / static_cast<double>(spread.median.count()))});
  }
  const std::string header = std::string(base::name_of(unit));
  return report::render_table(
      {{"model", report::Align::left}, {"stage"}, {"op"}, {"rows"}, {"median " + header}, {"min"}, {"max"}, {"range"}},
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
    return base::bad_input("give either PROBLEM or --from TIMINGS.csv");
  }
  if (arguments.timings) return from_timings(arguments);
  if (!arguments.microbatches.empty() || !arguments.map.empty())
    return base::bad_input("--microbatches and --map need --from TIMINGS.csv");
  DOVETAIL_TRY(answer::NamedProblem named, answer::read_problem({*arguments.source}, note_callbacks()));
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
  CLI::App* command =
      add_command(program, "problem", "make a problem from measured times, or print a problem",
                  "  dovetail problem exp5 -o exp5.yaml\n"
                  "  dovetail problem --from examples/timings.csv --microbatches actor=64 \\\n"
                  "    --microbatches critic=32 -o problem.yaml\n\n"
                  "The CSV has the columns model,stage,op,seconds[,activation_bytes]. If an op has several rows,\n"
                  "the median is used.");
  add_text_option(*command, "PROBLEM", arguments->source, " ", "problem file, bundled instance, or '-' for stdin");
  add_text_option(*command, "--from", arguments->timings, "FILE", "CSV file of measured times");
  add_name_list(*command, "--microbatches", arguments->microbatches, "NAME=N",
                "micro-batches of a model (once per model)");
  add_name_list(*command, "--map", arguments->map, "NAME=D,D,...",
                "device of each stage (default: 0, 1, ...; in reverse for later models)");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "file to write, .json for JSON, else YAML (default: stdout)");
  add_flag(*command, "--json", arguments->json, "write JSON instead of YAML");
  set_action(*command, action, [arguments] { return run_problem(*arguments); });
}

namespace {

struct InstancesArguments {
  bool json = false;
};

std::string_view group_title(pipeline::InstanceGroup group) {
  switch (group) {
    case pipeline::InstanceGroup::published:
      return "published by FlexFusion, with its results in ticks (peak: lowest peak activation)";
    case pipeline::InstanceGroup::scale:
      return "many devices";
    case pipeline::InstanceGroup::three_models:
      return "three or more models";
    case pipeline::InstanceGroup::uneven_stages:
      return "uneven stages";
    case pipeline::InstanceGroup::transfer:
      return "nonzero transfer times";
    case pipeline::InstanceGroup::split_backward:
      return "split backward";
    case pipeline::InstanceGroup::minibatches:
      return "several mini-batches with optimizer steps";
    case pipeline::InstanceGroup::capacity:
      return "memory limit 10% above what one model alone needs under 1F1B";
  }
  DOVETAIL_ASSERT(false);
}

/// Whether the summaries of the group's problems mention their models.
bool summary_has_models(pipeline::InstanceGroup group) {
  return group == pipeline::InstanceGroup::published || group == pipeline::InstanceGroup::scale;
}

std::vector<report::Column> instance_columns(pipeline::InstanceGroup group) {
  std::vector<report::Column> columns{{"instance", report::Align::left}, {"problem", report::Align::left}, {"devices"}};
  if (!summary_has_models(group)) columns.push_back({"models"});
  columns.push_back({"ops"});
  if (group == pipeline::InstanceGroup::published)
    for (const char* header : {"bound", "published", "greedy", "serial 1F1B", "peak"}) columns.push_back({header});
  return columns;
}

std::vector<std::string> row_of(const pipeline::Instance& instance) {
  const pipeline::Problem& problem = instance.problem;
  std::vector<std::string> row{instance.name, instance.summary, fmt::format("{}", problem.devices)};
  if (!summary_has_models(instance.group)) row.push_back(fmt::format("{}", problem.models.size()));
  row.push_back(fmt::format("{}", pipeline::count_ops(problem)));
  if (const auto& published = instance.published) {
    for (const base::Ticks time :
         {published->bound, published->makespan, published->greedy_makespan, published->serial_makespan})
      row.push_back(base::format_time(time, problem.time_unit));
    row.push_back(base::format_memory(published->peak_activation_optimized.value_or(published->peak_activation)));
  }
  return row;
}

std::string instances_text() {
  std::string text;
  for (const pipeline::InstanceGroup group : pipeline::instance_groups) {
    std::vector<std::vector<std::string>> rows;
    for (const pipeline::Instance& instance : pipeline::instances())
      if (instance.group == group) rows.push_back(row_of(instance));
    text += fmt::format("{}:\n{}\n", group_title(group), report::render_table(instance_columns(group), rows));
  }
  return text +
         "Use dovetail schedule INSTANCE to schedule one, or dovetail problem INSTANCE to print it as a problem "
         "file.\n";
}

answer::Json published_json(const pipeline::PublishedResult& published, pipeline::TimeUnit unit) {
  return {{"bound", answer::json_time(published.bound, unit)},
          {"makespan", answer::json_time(published.makespan, unit)},
          {"peak_activation", answer::json_memory(published.peak_activation)},
          {"peak_activation_optimized", answer::json_memory(published.peak_activation_optimized)},
          {"greedy", answer::Json{{"makespan", answer::json_time(published.greedy_makespan, unit)},
                                  {"peak_activation", answer::json_memory(published.greedy_peak_activation)}}},
          {"serial_1f1b", answer::Json{{"makespan", answer::json_time(published.serial_makespan, unit)},
                                       {"peak_activation", answer::json_memory(published.serial_peak_activation)}}}};
}

answer::Json instances_json() {
  answer::Json object{{"format", "dovetail/instances@1"}, {"instances", answer::Json::array()}};
  for (const pipeline::Instance& instance : pipeline::instances()) {
    const pipeline::TimeUnit unit = instance.problem.time_unit;
    answer::Json entry{{"name", instance.name},
                       {"group", pipeline::name_of(instance.group)},
                       {"summary", instance.summary},
                       {"time_unit", base::name_of(unit)},
                       {"devices", instance.problem.devices},
                       {"ops", pipeline::count_ops(instance.problem)}};
    if (instance.published) entry["published"] = published_json(*instance.published, unit);
    object["instances"].push_back(std::move(entry));
  }
  return object;
}

base::Result<int> run_instances(const InstancesArguments& arguments) {
  if (arguments.json) {
    print_json(answer::json_text(instances_json()));
  } else {
    print(instances_text());
  }
  return exit_done;
}

}  // namespace

void add_instances(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<InstancesArguments>();
  CLI::App* command =
      add_command(program, "instances", "list the bundled problems and published results", "  dovetail instances");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_instances(*arguments); });
}

}  // namespace dovetail::cli
