#include "answer/schedules/schedule_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "answer/question/processes.h"
#include "answer/schedules/input_files.h"
#include "answer/text/figures.h"
#include "fuse/bounds/bounds.h"
#include "fuse/solve.h"
#include "parallel/exchange.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::answer {
namespace {

base::Status check_inputs(const Input& problem, const std::optional<Input>& from, bool shared) {
  const bool start_is_standard = from && is_standard_input(*from);
  if (start_is_standard && is_standard_input(problem))
    return base::bad_input("the problem and the starting schedule cannot both be read from standard input");
  if (shared && (start_is_standard || is_standard_input(problem)))
    return base::bad_input(
        "--mpi cannot read standard input: every process reads the problem and the schedule; name files");
  return {};
}

/// Reads the schedule that a search starts from.
base::Result<fuse::Solution> read_start(const NamedProblem& named, const Input& from, const Callbacks& callbacks) {
  DOVETAIL_TRY(const ScheduleText text, read_schedule_text(from));
  DOVETAIL_TRY(LoadedSchedule loaded, load_schedule_of(named, text, callbacks));
  // Even in a valid schedule, the claims of a trace are rounded.
  pipeline::Claims claims;
  claims.solver = loaded.file.schedule.claims.solver;
  loaded.file.schedule.claims = std::move(claims);
  return fuse::to_solution(loaded.file.schedule);
}

base::Result<SearchInput> read_alone(const Input& problem, const std::optional<Input>& from,
                                     const Callbacks& callbacks) {
  DOVETAIL_TRY(NamedProblem named, read_problem(problem, callbacks));
  SearchInput input{std::move(named), std::nullopt};
  if (from) {
    DOVETAIL_TRY(input.start, read_start(input.named, *from, callbacks));
  }
  notify_label(callbacks, input.named.name);
  DOVETAIL_CHECK(notify_read(callbacks));
  return input;
}

/// Input that all processes must agree on.
base::Result<std::string> text_of(const base::Result<SearchInput>& input) {
  if (!input.ok()) return input.error();
  std::string text = pipeline::problem_to_json(input->named.problem);
  if (const auto& start = input->start)
    text += pipeline::schedule_to_json(pipeline::to_schedule(start->problem, start->graph, start->evaluation));
  return text;
}

/// Time to evaluate, validate and write a schedule: about a second per million ops.
double closing_seconds(const pipeline::Problem& problem) {
  constexpr double seconds_an_op = 1e-6;
  return seconds_an_op * static_cast<double>(pipeline::count_ops(problem));
}

}  // namespace

base::Result<fuse::SolveOptions> options_of_search(const ScheduleQuestion& question, const SearchContext& context) {
  fuse::SolveOptions options = question.options;
  options.start = context.start;
  options.exchange = context.exchange;
  options.cancellation = context.stop;
  options.on_progress = [progress = context.progress](const fuse::Progress& so_far) { progress->report(so_far); };
  if (const auto fault = fuse::find_fault(options, question.named.problem)) return base::bad_input(*fault);
  if (options.time_limit_seconds)
    *options.time_limit_seconds = std::max(*options.time_limit_seconds / 4,
                                           *options.time_limit_seconds - closing_seconds(question.named.problem));
  return options;
}

std::optional<Impossible> find_impossible(const ScheduleQuestion& question) {
  Impossible impossible{fuse::find_impossible(question.named.problem, question.options.memory_cap),
                        question.options.deadline && *question.options.deadline < question.bounds.makespan};
  if (impossible.excess.empty() && !impossible.misses_deadline) return std::nullopt;
  return impossible;
}

Sections impossible_sections(const ScheduleQuestion& question, const Impossible& impossible) {
  Sections all;
  if (!impossible.excess.empty())
    all += fmt::format("{}:\n", impossible_message) + excess_table(impossible.excess) +
           min_capacity_sections(question.named.problem);
  const base::TimeUnit unit = question.named.problem.time_unit;
  if (impossible.misses_deadline)
    all += fmt::format("no schedule meets the deadline of {}: the lower bound on the makespan is {}\n",
                       time_with_unit(*question.options.deadline, unit),
                       base::format_time(question.bounds.makespan, unit));
  return all;
}

base::Result<SearchInput> read_search_input(const Input& problem, const std::optional<Input>& from,
                                            const parallel::Exchange* exchange, int chains,
                                            const Callbacks& callbacks) {
  DOVETAIL_CHECK(check_inputs(problem, from, exchange != nullptr));
  base::Result<SearchInput> input = read_alone(problem, from, callbacks);
  if (exchange == nullptr) return input;
  DOVETAIL_CHECK(parallel::agree_on_input(*exchange, text_of(input), "a different problem or starting schedule"));
  note_idle_processes(*exchange, chains, callbacks);
  return input;
}

std::vector<base::Memory> min_capacities(const pipeline::Problem& problem) {
  std::vector<base::Memory> capacities(static_cast<std::size_t>(problem.devices));
  // With zero capacity, the excess of each device is the minimum memory that it needs.
  for (const pipeline::CapacityExcess& device : fuse::find_impossible(problem, base::Memory(0)))
    capacities[device.device.index()] = device.peak;
  return capacities;
}

Sections min_capacity_sections(const pipeline::Problem& problem) {
  constexpr std::string_view intro = "minimum capacity for a schedule to fit";
  const std::vector<base::Memory> capacities = min_capacities(problem);
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  if (*least == *most) return fmt::format("{}: {} on every device\n", intro, base::format_memory(*most));
  // Adjacent devices with the same value share a row.
  Table table{{{"device"}, {"minimum capacity"}}, {}};
  for (std::size_t first = 0; first < capacities.size();) {
    std::size_t last = first;
    while (last + 1 < capacities.size() && capacities[last + 1] == capacities[first]) ++last;
    table.rows.push_back({last == first ? fmt::format("{}", first) : fmt::format("{} to {}", first, last),
                          base::format_memory(capacities[first])});
    first = last + 1;
  }
  return fmt::format("{}: {} on the device that needs the most\n", intro, base::format_memory(*most)) +
         std::move(table);
}

base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess) {
  base::Memory largest;
  for (const pipeline::CapacityExcess& device : excess) largest = std::max(largest, device.peak - device.capacity);
  return largest;
}

Table excess_table(const std::vector<pipeline::CapacityExcess>& excess) {
  Table table{{{"device"}, {"peak memory"}, {"capacity"}, {"excess"}}, {}};
  for (const pipeline::CapacityExcess& device : excess) {
    table.rows.push_back({fmt::format("{}", device.device.value), base::format_memory(device.peak),
                          base::format_memory(device.capacity), base::format_memory(device.peak - device.capacity)});
  }
  return table;
}

}  // namespace dovetail::answer
