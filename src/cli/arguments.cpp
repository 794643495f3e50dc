#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "answer/question/seconds.h"
#include "answer/words/figures.h"
#include "cli/output.h"
#include "parallel/for_each_index.h"

namespace dovetail::cli {
namespace {

constexpr int max_chains = 4096;
constexpr int max_threads = 1024;
constexpr std::int64_t max_iterations = 1'000'000'000'000;

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// An option that `read` turns from its text into a value; the message that `read` gives refuses it.
CLI::Option* add_parsed(CLI::App& command, const std::string& name, const std::string& kind, const std::string& description,
                        std::function<std::string(const std::string&)> read) {
  // The check runs before any command does; the callback of add_option_function has nothing left to do.
  return command.add_option_function<std::string>(
                    name, [](const std::string&) {}, description)
      ->check(CLI::Validator(std::move(read), ""))
      ->option_text(kind);
}

template <class Number, class Target>
void add_whole_number(CLI::App& command, const std::string& name, const std::string& description, Number least, Number most,
                      Target& target) {
  add_parsed(command, name, "N", description, [=, &target](const std::string& text) -> std::string {
    const auto number = whole_text<Number>(text);
    if (!number || *number < least || *number > most) {
      return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
    }
    target = *number;
    return {};
  });
}

}  // namespace

void add_budget_options(CLI::App& command, SearchBudget& budget, const std::string& default_iterations) {
  add_whole_number<int>(command, "--chains",
                        fmt::format("independent chains of a search (default {}; not the machine's size)", budget.chains), 1, max_chains,
                        budget.chains);
  add_whole_number<std::int64_t>(command, "--iterations", fmt::format("iterations of each chain (default: {})", default_iterations), 1,
                                 max_iterations, budget.iterations);
  add_seconds_option(command, "--time-limit", "time to search, in seconds or as 500ms, 30s, 2m, 1h; chooses the iterations",
                     budget.time_limit_seconds);
  add_whole_number<int>(command, "--threads", "threads (default: all processors); never changes the answer", 1, max_threads,
                        budget.threads);
  add_whole_number<std::uint64_t>(command, "--seed", fmt::format("seed of the random numbers (default {})", budget.seed), 0,
                                  std::numeric_limits<std::uint64_t>::max(), budget.seed);
}

void add_search_options(CLI::App& command, SearchArguments& arguments) {
  add_budget_options(command, arguments.budget, "chosen from the problem's size");
  add_memory_cap_option(command, arguments.memory_cap);
}

void add_objective_options(CLI::App& command, SearchArguments& arguments, bool offer_pareto) {
  const std::string front = offer_pareto ? "; pareto: the whole front between the two" : "";
  add_choice_option(command, "--objective", offer_pareto ? "makespan|memory|pareto" : "makespan|memory",
                    "what comes first (default makespan: the least makespan, then the least peak at it; memory: the least peak, then the "
                    "least makespan" +
                        front + ")",
                    [&arguments](const std::string& text) {
                      arguments.objective = text == "memory" ? fuse::Objective::memory : fuse::Objective::makespan;
                      arguments.pareto = text == "pareto";
                    });
  add_whole_number<int>(command, "--robust",
                        "weigh the makespan when durations vary: in place of the makespan counts (100 - N)% of it and N% of its 95th "
                        "percentile when every op lasts 5% less to 5% more (default 0)",
                        0, 100, arguments.robustness_percent);
}

fuse::SolveOptions to_solve_options(const SearchArguments& arguments) {
  fuse::SolveOptions options;
  const SearchBudget& budget = arguments.budget;
  options.seed = budget.seed;
  options.chains = budget.chains;
  options.iterations = budget.iterations;
  options.time_limit_seconds = budget.time_limit_seconds;
  options.threads = budget.threads > 0 ? budget.threads : parallel::default_thread_count();
  options.memory_cap = arguments.memory_cap;
  options.objective = arguments.objective;
  options.robustness_percent = arguments.robustness_percent;
  return options;
}

base::Result<const fuse::Solver*> solver_named(std::string_view name) {
  if (const fuse::Solver* solver = fuse::find_solver(name); solver != nullptr) return solver;
  std::vector<std::string_view> names;
  for (const fuse::Solver& solver : fuse::solvers()) names.push_back(solver.name);
  return base::bad_input(fmt::format("there is no solver '{}'{}", name, answer::hint_and_list(name, "the solvers are", names)));
}

const fuse::Solver& default_solver() { return fuse::solvers().back(); }

std::string list_of_solvers() {
  std::string text = "Solvers:\n";
  for (const fuse::Solver& solver : fuse::solvers()) text += fmt::format("  {:<20} {}\n", solver.name, solver.summary);
  return text;
}

base::Result<base::Ticks> parse_deadline(const std::string& text, base::TimeUnit unit) {
  auto deadline = base::parse_time(text, unit, base::FineDigits::refuse);
  if (!deadline) return base::bad_input(fmt::format("--deadline: '{}' {}", text, deadline.error().message));
  return deadline;
}

void add_memory_cap_option(CLI::App& command, std::optional<base::Memory>& cap) {
  add_parsed(command, "--memory-cap", "AMOUNT", "most that a device may hold, with what is resident, in the unit of activation",
             [&cap](const std::string& text) -> std::string {
               auto memory = base::parse_memory(text);
               if (!memory) return fmt::format("'{}' {}", text, memory.error().message);
               cap = *memory;
               return {};
             });
}

void add_flag(CLI::App& command, const std::string& name, bool& value, const std::string& description) {
  command.add_flag(name, value, description);
}

void add_json_flag(CLI::App& command, bool& json) {
  add_flag(command, "--json", json, "print one JSON object on standard output in place of text");
}

void add_choice_option(CLI::App& command, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& description) {
  add_choice_option(command, name, choices, description, [&value](const std::string& text) { value = text; });
}

void add_choice_option(CLI::App& command, const std::string& name, const std::string& choices, const std::string& description,
                       const std::function<void(const std::string&)>& take) {
  add_parsed(command, name, choices, description, [choices, take](const std::string& text) -> std::string {
    const std::vector<std::string> accepted = split(choices, '|');
    if (std::find(accepted.begin(), accepted.end(), text) == accepted.end()) {
      const std::vector<std::string> but_last(accepted.begin(), accepted.end() - 1);
      return fmt::format("'{}' is not {} or {}", text, fmt::join(but_last, ", "), accepted.back());
    }
    take(text);
    return {};
  });
}

void add_color_option(CLI::App& command, ColorChoice& choice) {
  add_choice_option(command, "--color", "always|never|auto", "colours (auto: on a terminal, unless NO_COLOR is set)",
                    [&choice](const std::string& text) {
                      choice = text == "auto" ? ColorChoice::automatic : text == "always" ? ColorChoice::always : ColorChoice::never;
                    });
}

void add_positional(CLI::App& command, const std::string& name, std::string& value, const std::string& description) {
  command.add_option(name, value, description)->required()->option_text(" ");
}

void add_positional_list(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& description) {
  command.add_option(name, values, description)->required()->option_text(" ");
}

void add_text_option(CLI::App& command, const std::string& names, std::optional<std::string>& value, const std::string& kind,
                     const std::string& description) {
  command.add_option(names, value, description)->option_text(kind);
}

void add_text_option(CLI::App& command, const std::string& names, std::string& value, const std::string& kind,
                     const std::string& description) {
  command.add_option(names, value, description)->option_text(kind);
}

void add_name_list(CLI::App& command, const std::string& names, std::vector<std::string>& values, const std::string& kind,
                   const std::string& description) {
  // Without extra arguments: a list must not swallow the positional argument that follows it.
  command.add_option(names, values, description)->allow_extra_args(false)->option_text(kind);
}

void add_count_option(CLI::App& command, const std::string& name, int& value, int least, int most, const std::string& description) {
  add_whole_number<int>(command, name, description, least, most, value);
}

void add_seconds_option(CLI::App& command, const std::string& name, const std::string& description, std::optional<double>& seconds) {
  add_parsed(command, name, "TIME", description, [&seconds](const std::string& text) -> std::string {
    auto parsed = answer::parse_seconds(text);
    if (!parsed) return parsed.error().message;
    seconds = *parsed;
    return {};
  });
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& description, const std::string& example) {
  CLI::App* command = program.add_subcommand(name, description);
  command->footer("Example:\n" + example);
  return command;
}

void require_option(CLI::App& command, const std::string& name) { command.get_option(name)->required(); }

void exclude_option(CLI::App& command, const std::string& name, const std::string& other) { command.get_option(name)->excludes(other); }

void set_action(CLI::App& command, Action& action, Action run) {
  command.callback([&action, run = std::move(run)] { action = run; });
}

base::Status check_standard_input(const std::vector<std::optional<std::string>>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") <= 1) return {};
  return base::bad_input("standard input is asked for more than once, and can be read once; accepted: '-' for one of the files");
}

std::vector<std::string> split(const std::string& text, char separator) { return CLI::detail::split(text, separator); }

}  // namespace dovetail::cli
