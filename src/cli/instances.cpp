// dovetail instances: the bundled problems.
#include "pipeline/problem/instances.h"

#include <fmt/format.h>

#include <memory>

#include "answer/question/json.h"
#include "base/assert.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

struct InstancesArguments {
  bool json = false;
};

std::string_view title_of(pipeline::InstanceGroup group) {
  switch (group) {
    case pipeline::InstanceGroup::published:
      return "FlexFusion's, with its published results in ticks (peak: its least peak activation)";
    case pipeline::InstanceGroup::scale:
      return "many devices";
    case pipeline::InstanceGroup::three_models:
      return "three models and more";
    case pipeline::InstanceGroup::uneven_stages:
      return "uneven stages";
    case pipeline::InstanceGroup::transfer:
      return "transfers that take time";
    case pipeline::InstanceGroup::split_backward:
      return "split backward";
    case pipeline::InstanceGroup::minibatches:
      return "several mini-batches with optimizer steps";
    case pipeline::InstanceGroup::capacity:
      return "10% more memory than one model alone needs under 1F1B";
  }
  DOVETAIL_ASSERT(false);
}

/// Whether the summary of the group's problems says their models.
bool summary_has_models(pipeline::InstanceGroup group) {
  return group == pipeline::InstanceGroup::published || group == pipeline::InstanceGroup::scale;
}

std::vector<report::Column> columns_of(pipeline::InstanceGroup group) {
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

std::string to_text() {
  std::string text;
  for (const pipeline::InstanceGroup group : pipeline::instance_groups) {
    std::vector<std::vector<std::string>> rows;
    for (const pipeline::Instance& instance : pipeline::instances())
      if (instance.group == group) rows.push_back(row_of(instance));
    text += fmt::format("{}:\n{}\n", title_of(group), report::render_table(columns_of(group), rows));
  }
  return text +
         "dovetail schedule INSTANCE makes a schedule of one, dovetail problem INSTANCE prints it as a file to start "
         "from.\n";
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

answer::Json to_json() {
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
    print_json(answer::json_text(to_json()));
  } else {
    print(to_text());
  }
  return exit_done;
}

}  // namespace

void add_instances(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<InstancesArguments>();
  CLI::App* command =
      add_command(program, "instances", "list the bundled problems, with published results", "  dovetail instances");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_instances(*arguments); });
}

}  // namespace dovetail::cli
