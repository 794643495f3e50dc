// dovetail bounds: proves lower bounds on the makespan and the peak activation of a problem.
#include "fuse/bounds/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/schedules/input_files.h"
#include "answer/schedules/search.h"
#include "answer/text/figures.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/question_progress.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

struct BoundsArguments {
  std::string problem;
  std::optional<std::string> deadline;
  std::optional<base::Memory> memory_cap;
  int work = 20;
  bool json = false;
};

/// Values of the options in the problem's units.
struct Question {
  std::optional<base::Ticks> deadline;
  std::optional<base::Memory> memory_cap;
  fuse::BoundOptions options;
};

/// Proven lower bounds.
struct Proven {
  fuse::Bounds bounds;
  base::Ticks makespan;                              ///< lower bound for schedules that fit in memory
  base::Memory peak_at_makespan;                     ///< lower bound for schedules with that makespan
  std::optional<base::Memory> peak_at_deadline;      ///< nullopt without a deadline, or if no schedule meets it
  std::vector<pipeline::CapacityExcess> impossible;  ///< devices whose capacity is too small for any schedule
};

struct Argument {
  const char* key;
  const char* name;
  base::Ticks bound;
  const std::vector<base::Ticks>* by_device;
};

std::vector<Argument> arguments_of(const Proven& proven) {
  const fuse::Bounds& bounds = proven.bounds;
  return {{"path", "path: longest chain of dependent ops", bounds.path, nullptr},
          {"work", "work: total of the busiest device", bounds.work, nullptr},
          {"head_work_tail", "head + work + tail: max over devices and model subsets", bounds.head_work_tail,
           &bounds.head_work_tail_by_device},
          {"one_machine", "one machine: Jackson's preemptive schedule of each device", bounds.one_machine,
           &bounds.one_machine_by_device},
          {"sequences", "sequences: search over the orders of each device", proven.makespan, nullptr}};
}

/// Returns the devices with the largest value.
std::vector<std::size_t> min_margin_devices(const std::vector<base::Ticks>& by_device) {
  std::vector<std::size_t> devices;
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    if (by_device[device] == *std::max_element(by_device.begin(), by_device.end())) devices.push_back(device);
  }
  return devices;
}

/// "3", "0, 5, 6", or for many devices "0, 1, 2, 3 and 12 more".
std::string short_list(const std::vector<std::size_t>& devices) {
  constexpr std::size_t most = 4;
  const std::size_t shown = devices.size() <= most + 1 ? devices.size() : most;
  std::string text =
      fmt::format("{}", fmt::join(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < devices.size()) text += fmt::format(" and {} more", devices.size() - shown);
  return text;
}

bool is_limited(const answer::NamedProblem& named, const Question& question) {
  return named.problem.capacity || question.memory_cap;
}

/// The bounds as sentences.
std::string summary_text(const answer::NamedProblem& named, const Question& question, const Proven& proven) {
  const base::TimeUnit unit = named.problem.time_unit;
  std::string text =
      fmt::format("\n{}: no schedule{} is shorter than {}\n", named.name,
                  is_limited(named, question) ? " that fits" : "", answer::time_with_unit(proven.makespan, unit));
  for (const pipeline::CapacityExcess& excess : proven.impossible)
    text += fmt::format("no schedule fits: device {} holds at least {}, but its capacity is {}\n", excess.device.value,
                        base::format_memory(excess.peak), base::format_memory(excess.capacity));
  text += fmt::format("peak activation: at least {} for any schedule, at least {} at that makespan\n",
                      base::format_memory(proven.bounds.peak_activation), base::format_memory(proven.peak_at_makespan));
  if (!question.deadline) return text;
  const std::string deadline = answer::time_with_unit(*question.deadline, unit);
  if (!proven.peak_at_deadline) return text + fmt::format("no schedule ends by {}\n", deadline);
  return text + fmt::format("peak activation: at least {} for a schedule that ends by {}\n",
                            base::format_memory(*proven.peak_at_deadline), deadline);
}

std::string to_text(const answer::NamedProblem& named, const Question& question, const Proven& proven) {
  const base::TimeUnit unit = named.problem.time_unit;
  std::vector<std::vector<std::string>> rows;
  for (const Argument& argument : arguments_of(proven)) {
    rows.push_back({argument.name, base::format_time(argument.bound, unit),
                    argument.by_device == nullptr ? "" : short_list(min_margin_devices(*argument.by_device)),
                    argument.bound == proven.makespan ? "sets the bound" : ""});
  }
  const std::vector<report::Column> columns{{"argument", report::Align::left},
                                            {"makespan"},
                                            {"largest on device", report::Align::left},
                                            {"", report::Align::left}};
  return report::render_table(columns, rows) + summary_text(named, question, proven);
}

answer::Json bounds_json(const answer::NamedProblem& named, const Question& question, const Proven& proven,
                         double seconds) {
  const base::TimeUnit unit = named.problem.time_unit;
  answer::Json object{{"format", "dovetail/bounds@1"},
                      {"problem", named.name},
                      {"time_unit", base::name_of(unit)},
                      {"makespan", answer::json_time(proven.makespan, unit)},
                      {"fits", proven.impossible.empty()},
                      {"peak_activation", answer::json_memory(proven.bounds.peak_activation)},
                      {"peak_activation_at_makespan", answer::json_memory(proven.peak_at_makespan)}};
  if (question.deadline) {
    object["deadline"] = answer::json_time(*question.deadline, unit);
    object["peak_activation_at_deadline"] = answer::json_memory(proven.peak_at_deadline);
  }
  object["arguments"] = answer::Json::object();
  for (const Argument& argument : arguments_of(proven)) {
    answer::Json entry{{"makespan", answer::json_time(argument.bound, unit)},
                       {"sets_the_bound", argument.bound == proven.makespan}};
    if (argument.by_device != nullptr) {
      entry["by_device"] = answer::Json::array();
      for (const base::Ticks bound : *argument.by_device) entry["by_device"].push_back(answer::json_time(bound, unit));
    }
    object["arguments"][argument.key] = std::move(entry);
  }
  object["timing"] = answer::Json{{"seconds", answer::json_seconds(seconds)}};
  return object;
}

base::Result<Question> question_of(const BoundsArguments& arguments, base::TimeUnit unit) {
  Question question;
  DOVETAIL_TRY(question.deadline, answer::deadline_of(arguments.deadline, unit));
  question.memory_cap = arguments.memory_cap;
  question.options.work = std::int64_t{1'000'000} * arguments.work;
  question.options.cancellation = &stop_on_interrupt();
  return question;
}

Proven prove(const pipeline::Problem& problem, const Question& question) {
  Proven proven;
  proven.bounds = fuse::bounds_of(problem);
  proven.makespan = fuse::makespan_bound(problem, question.memory_cap, question.options);
  proven.impossible = fuse::find_impossible(problem, question.memory_cap);
  const auto peak_at = [&](base::Ticks deadline) -> std::optional<base::Memory> {
    if (deadline < proven.bounds.makespan) return std::nullopt;
    const base::Memory peak = fuse::peak_activation_bound(problem, deadline, question.options);
    if (peak == base::Memory::max()) return std::nullopt;
    return peak;
  };
  proven.peak_at_makespan = peak_at(proven.makespan).value_or(proven.bounds.peak_activation);
  if (question.deadline) proven.peak_at_deadline = peak_at(*question.deadline);
  return proven;
}

base::Result<int> run_bounds(const BoundsArguments& arguments) {
  DOVETAIL_TRY(const answer::NamedProblem named, answer::read_problem({arguments.problem}, note_callbacks()));
  DOVETAIL_TRY(const Question question, question_of(arguments, named.problem.time_unit));
  const auto begin = std::chrono::steady_clock::now();
  const Proven proven = prove(named.problem, question);
  const double seconds = base::seconds_since(begin);
  if (arguments.json) {
    print_json(answer::json_text(bounds_json(named, question, proven, seconds)));
  } else {
    print(to_text(named, question, proven));
  }
  return question.options.cancellation->requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_bounds(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<BoundsArguments>();
  CLI::App* command = add_command(program, "bounds", "prove lower bounds on the makespan and memory of a problem",
                                  "  dovetail bounds exp5\n  dovetail bounds examples/two-models.yaml --json");
  add_positional(*command, "PROBLEM", arguments->problem, "problem file, bundled instance, or '-' for stdin");
  add_text_option(*command, "--deadline", arguments->deadline, "TIME",
                  "deadline for an additional bound on the peak activation");
  add_option(*command, {"--memory-cap", answer::memory_cap_help}, answer::Amount{}, arguments->memory_cap);
  add_count_option(*command, "--work", arguments->work, 0, 1'000'000,
                   "max states per proof in millions (default: 20, about 1 s; 0: no search)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_bounds(*arguments); });
}

}  // namespace dovetail::cli
