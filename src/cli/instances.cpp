// dovetail instances: the bundled problems.
#include "pipeline/instances.h"

#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "report/table.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  bool json = false;
};

std::string to_text() {
  std::vector<std::vector<std::string>> rows;
  for (const pipeline::Instance& instance : pipeline::instances()) {
    const pipeline::TimeUnit unit = instance.problem.time_unit;
    std::vector<std::string> row{instance.name, instance.summary, fmt::format("{}", instance.problem.devices),
                                 fmt::format("{}", pipeline::count_ops(instance.problem))};
    if (const auto& published = instance.published) {
      for (const base::Ticks time : {published->bound, published->makespan, published->greedy_makespan, published->serial_makespan}) {
        row.push_back(base::format_time(time, unit));
      }
      row.push_back(base::format_memory(published->peak_activation_optimized.value_or(published->peak_activation)));
    } else {
      row.insert(row.end(), 5, "-");
    }
    rows.push_back(std::move(row));
  }
  const std::vector<report::Column> columns{{"instance", report::Align::left},
                                            {"models", report::Align::left},
                                            {"devices"},
                                            {"ops"},
                                            {"bound"},
                                            {"published"},
                                            {"greedy"},
                                            {"serial 1F1B"},
                                            {"peak"}};
  return report::render_table(columns, rows) +
         "\nbound to serial 1F1B: makespans that FlexFusion publishes (in ticks); peak: its least peak activation.\n"
         "dovetail schedule INSTANCE makes a schedule of one, dovetail problem INSTANCE prints it as a file to start from.\n";
}

Json published_json(const pipeline::PublishedResult& published, pipeline::TimeUnit unit) {
  return {{"bound", json_time(published.bound, unit)},
          {"makespan", json_time(published.makespan, unit)},
          {"peak_activation", json_memory(published.peak_activation)},
          {"peak_activation_optimized", json_memory(published.peak_activation_optimized)},
          {"greedy", Json{{"makespan", json_time(published.greedy_makespan, unit)},
                          {"peak_activation", json_memory(published.greedy_peak_activation)}}},
          {"serial_1f1b", Json{{"makespan", json_time(published.serial_makespan, unit)},
                               {"peak_activation", json_memory(published.serial_peak_activation)}}}};
}

Json to_json() {
  Json object{{"format", "dovetail/instances@1"}, {"instances", Json::array()}};
  for (const pipeline::Instance& instance : pipeline::instances()) {
    const pipeline::TimeUnit unit = instance.problem.time_unit;
    Json entry{{"name", instance.name},
               {"summary", instance.summary},
               {"time_unit", base::name_of(unit)},
               {"devices", instance.problem.devices},
               {"ops", pipeline::count_ops(instance.problem)}};
    if (instance.published) entry["published"] = published_json(*instance.published, unit);
    object["instances"].push_back(std::move(entry));
  }
  return object;
}

base::Result<int> run(const Arguments& arguments) {
  if (arguments.json) {
    print_json(to_json());
  } else {
    print(to_text());
  }
  return exit_done;
}

}  // namespace

void add_instances(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "instances", "list the bundled problems, with published results", "  dovetail instances");
  add_json_flag(*command, arguments->json);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
