// dovetail bounds: what no schedule of a problem can beat.
#include "fuse/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/output.h"
#include "report/table.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::string problem;
  bool json = false;
};

struct Argument {
  const char* key;
  const char* name;
  base::Ticks bound;
  const std::vector<base::Ticks>* by_device;
};

std::vector<Argument> arguments_of(const fuse::Bounds& bounds) {
  return {
      {"path", "path: the longest chain of ops that wait for each other", bounds.path, nullptr},
      {"work", "work: of the busiest device", bounds.work, nullptr},
      {"head_work_tail", "head + work + tail: over devices and subsets of models", bounds.head_work_tail, &bounds.head_work_tail_by_device},
      {"one_machine", "one machine: Jackson's preemptive schedule of a device", bounds.one_machine, &bounds.one_machine_by_device}};
}

/// The devices on which the largest value is met.
std::vector<std::size_t> tightest_devices(const std::vector<base::Ticks>& by_device) {
  std::vector<std::size_t> devices;
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    if (by_device[device] == *std::max_element(by_device.begin(), by_device.end())) devices.push_back(device);
  }
  return devices;
}

/// "3", "0, 5, 6", or with many "0, 1, 2, 3 and 12 more".
std::string short_list(const std::vector<std::size_t>& devices) {
  constexpr std::size_t most = 4;
  const std::size_t shown = devices.size() <= most + 1 ? devices.size() : most;
  std::string text = fmt::format("{}", fmt::join(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < devices.size()) text += fmt::format(" and {} more", devices.size() - shown);
  return text;
}

std::string to_text(const NamedProblem& named, const fuse::Bounds& bounds, base::Memory peak_at_bound) {
  const base::TimeUnit unit = named.problem.time_unit;
  std::vector<std::vector<std::string>> rows;
  for (const Argument& argument : arguments_of(bounds)) {
    rows.push_back({argument.name, base::format_time(argument.bound, unit),
                    argument.by_device == nullptr ? "" : short_list(tightest_devices(*argument.by_device)),
                    argument.bound == bounds.makespan ? "sets the bound" : ""});
  }
  const std::vector<report::Column> columns{
      {"argument", report::Align::left}, {"makespan"}, {"largest on device", report::Align::left}, {"", report::Align::left}};
  return report::render_table(columns, rows) +
         fmt::format("\n{}: no schedule is shorter than {}\n", named.name, time_with_unit(bounds.makespan, unit)) +
         fmt::format("peak activation: at least {} for any schedule, at least {} for one of that makespan\n",
                     base::format_memory(bounds.peak_activation), base::format_memory(peak_at_bound));
}

Json to_json(const NamedProblem& named, const fuse::Bounds& bounds, base::Memory peak_at_bound, double seconds) {
  const base::TimeUnit unit = named.problem.time_unit;
  Json object{{"format", "dovetail/bounds@1"},
              {"problem", named.name},
              {"time_unit", base::name_of(unit)},
              {"makespan", json_time(bounds.makespan, unit)},
              {"peak_activation", json_memory(bounds.peak_activation)},
              {"peak_activation_at_makespan", json_memory(peak_at_bound)},
              {"arguments", Json::object()}};
  for (const Argument& argument : arguments_of(bounds)) {
    Json entry{{"makespan", json_time(argument.bound, unit)}, {"sets_the_bound", argument.bound == bounds.makespan}};
    if (argument.by_device != nullptr) {
      entry["by_device"] = Json::array();
      for (const base::Ticks bound : *argument.by_device) entry["by_device"].push_back(json_time(bound, unit));
    }
    object["arguments"][argument.key] = std::move(entry);
  }
  object["timing"] = Json{{"seconds", json_seconds(seconds)}};
  return object;
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const NamedProblem named, load_problem(arguments.problem));
  const auto begin = std::chrono::steady_clock::now();
  const fuse::Bounds bounds = fuse::bounds_of(named.problem);
  const base::Memory peak_at_bound = fuse::peak_activation_bound(named.problem, bounds.makespan);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (arguments.json) {
    print_json(to_json(named, bounds, peak_at_bound, elapsed.count()));
  } else {
    print(to_text(named, bounds, peak_at_bound));
  }
  return exit_done;
}

}  // namespace

void add_bounds(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "bounds", "prove what no schedule of a problem can beat", "  dovetail bounds exp5");
  add_positional(*command, "PROBLEM", arguments->problem, "problem file, '-' for standard input, or a bundled instance");
  add_json_flag(*command, arguments->json);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
