// dovetail-train: executes a job that `dovetail train` has checked and planned.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/enum_names.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "runtime/launch/launcher.h"
#include "runtime/profile/profile_command.h"
#include "runtime/ranks/rank_place.h"
#include "runtime/ranks/run_rank.h"
#include "runtime/run/run_command.h"
#include "runtime/run/stub_command.h"

namespace dovetail::runtime {
namespace {

/// Parsed subcommand.
struct Command {
  std::function<int()> run;
  /// Checks that this many ranks can run the command. Empty if ranks cannot run it.
  std::function<base::Status(int ranks)> check;
  transport::Clock::duration timeout{};  ///< limit of each wait for another rank; only with `check`
};

int exit_code_of(const base::Status& status) {
  return status.ok() ? cli::exit_done : cli::report_failure(status.error(), "dovetail-train");
}

/// Adds an option that takes a duration, such as 20ms or 5s.
CLI::Option* add_time(CLI::App& command, const std::string& name, transport::Clock::duration& time,
                      const std::string& help) {
  return command.add_option_function<std::string>(
      name,
      [name, &time](const std::string& text) {
        const auto seconds = base::parse_amount(text, base::Measure::time);
        if (!seconds.ok()) throw CLI::ValidationError(name, seconds.error().message);
        if (*seconds < 1e-9 || *seconds > 1e7) throw CLI::ValidationError(name, "must be a duration from 1ns to 1e7s");
        time = std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
      },
      help);
}

/// Adds an option that takes the name of an enumerator.
template <class Enum>
void add_choice(CLI::App& command, const std::string& name, std::optional<Enum>& chosen, const std::string& help) {
  std::vector<std::string> names;
  for (const auto& each : names_of(Enum())) names.emplace_back(each.name);
  command
      .add_option_function<std::string>(
          name, [&chosen](const std::string& text) { chosen = *base::enum_named<Enum>(text); }, help)
      ->check(CLI::IsMember(names));
}

/// Trains on one rank, or as the rank that a launcher's environment variables specify.
int run_at_place(const RunArguments& given) {
  // Must precede any library call that starts a thread.
  cli::stop_on_interrupt_apart();
  const auto place = find_rank_place(environment_variables());
  if (!place.ok()) return exit_code_of(place.error());
  if (!*place || (*place)->ranks == 1) return exit_code_of(run_training(given));
  return run_rank("dovetail-train run", given.timeout,
                  [&given](RankSession& session) { return run_training_rank(given, session); });
}

void add_run(CLI::App& program, Command& selected) {
  const auto given = std::make_shared<RunArguments>();
  CLI::App* const command = program.add_subcommand("run", "train on one rank, or as one rank of several");
  command->add_option("--job", given->job, "job file or folder")->required();
  command->add_option("--plan", given->plan, "plan of the job (dovetail/plan@1)")->required();
  command->add_option("-o,--output", given->output, "run directory")->required();
  command->add_flag("--resume", given->resume, "continue the run in the run directory");
  command->add_option("--iterations", given->iterations, "number of iterations (default: the job's)");
  command->add_option("--device", given->device, "device to compute on: cpu, cuda")->capture_default_str();
  command->add_flag("--deterministic", given->deterministic,
                    "produce the same numbers on every run; uses one thread per rank");
  add_choice(*command, "--carrier", given->carrier,
             "transport between ranks: nccl between GPUs, or gloo through host memory (default: nccl with --device "
             "cuda, otherwise gloo)");
  add_choice(
      *command, "--collectives", given->collectives,
      "sums over ranks: ordered by rank, or native to the carrier (default: native with nccl, otherwise ordered)");
  command->add_option("--ranks", given->ranks, "number of ranks (default: devices of the job)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--threads", given->threads, "compute threads per rank")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_time(*command, "--timeout", given->timeout, "limit of each wait for another rank (default: 10m)");
  command->callback([given, &selected] {
    selected.run = [given] { return run_at_place(*given); };
    selected.check = [given](int ranks) { return check_ranks(*given, ranks); };
    selected.timeout = given->timeout;
  });
}

void add_profile(CLI::App& program, Command& selected) {
  const auto given = std::make_shared<ProfileArguments>();
  CLI::App* const command = program.add_subcommand("profile", "measure how long a job's models take on this machine");
  command->add_option("--job", given->job, "job file or folder")->required();
  command->add_option("-o,--output", given->output, "output file for the profile")->required();
  command->add_option("--threads", given->threads, "compute threads per rank")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_time(*command, "--timeout", given->timeout, "limit of each wait for another rank (default: 10m)");
  command->callback([given, &selected] {
    selected.run = [given] { return run_profile(*given); };
    selected.check = [given](int) { return check_profile(*given); };
    selected.timeout = given->timeout;
  });
}

void add_stub(CLI::App& program, Command& selected) {
  const auto given = std::make_shared<StubArguments>();
  given->timeout = std::chrono::minutes(5);
  CLI::App* const command =
      program.add_subcommand("stub", "run one rank of a schedule whose ops wait instead of computing");
  command->add_option("--schedule", given->schedule, "schedule with one device per rank")->required();
  add_time(*command, "--tick", given->tick, "time per tick, or per ns if the schedule's time_unit is not tick")
      ->required();
  command->add_option("--message-bytes", given->message_bytes, "size of each activation and gradient message")
      ->check(CLI::Range(0, 1'000'000'000));
  add_time(*command, "--timeout", given->timeout, "limit of each wait for another rank (default: 5m)");
  command->add_option("--trace", given->trace, "output file for the times of all instructions");
  command->callback([given, &selected] {
    selected.run = [given] { return run_stub(*given); };
    selected.check = [given](int ranks) { return check_stub(*given, ranks); };
    selected.timeout = given->timeout;
  });
}

/// Parses a command line without the program name. Returns an exit code if the program must end: after --help, or on
/// bad input.
std::optional<int> read_command(std::vector<std::string> command_line, Command& selected);

/// Launches the ranks.
int run_launch(LaunchArguments given) {
  Command command;
  if (given.command.empty())
    return exit_code_of(base::bad_input(
        "launch needs a command for the ranks: launch --ranks N -- COMMAND, where COMMAND is run, profile or stub"));
  if (const std::optional<int> ended = read_command(given.command, command)) return *ended;
  if (!command.check)
    return exit_code_of(base::bad_input(
        fmt::format("launch cannot run {} on ranks; accepted: run, profile, stub", given.command.front())));
  given.timeout = command.timeout;
  const base::Status checked = command.check(given.ranks);
  return exit_code_of(checked.ok() ? launch(given) : checked);
}

void add_launch(CLI::App& program, Command& selected, std::vector<std::string> command_of_ranks) {
  const auto given = std::make_shared<LaunchArguments>();
  given->command = std::move(command_of_ranks);
  CLI::App* const command = program.add_subcommand(
      "launch", "run a command on several ranks of this machine: launch --ranks N -- COMMAND ARGUMENTS");
  command->add_option("--ranks", given->ranks, "number of ranks")->required()->check(CLI::Range(1, 1024));
  command->callback([given, &selected] { selected.run = [given] { return run_launch(*given); }; });
}

/// Removes the command for the ranks, which follows the options of `launch`, from `command_line` and returns it.
std::vector<std::string> take_command_of_ranks(std::vector<std::string>& command_line) {
  if (command_line.empty() || command_line.front() != "launch") return {};
  const auto is_command = [](const std::string& word) {
    return word == "--" || word == "run" || word == "stub" || word == "profile";
  };
  const auto begin = std::find_if(command_line.begin() + 1, command_line.end(), is_command);
  std::vector<std::string> command(begin != command_line.end() && *begin == "--" ? begin + 1 : begin,
                                   command_line.end());
  command_line.erase(begin, command_line.end());
  return command;
}

std::optional<int> read_command(std::vector<std::string> command_line, Command& selected) {
  CLI::App program("Runs a plan on this machine. `dovetail train` checks and plans a job, then starts this program.");
  program.name("dovetail-train");
  program.set_version_flag("--version", DOVETAIL_TORCH_VERSION, "print the version of libtorch");
  program.require_subcommand(1);
  add_run(program, selected);
  add_stub(program, selected);
  add_profile(program, selected);
  add_launch(program, selected, take_command_of_ranks(command_line));
  std::reverse(command_line.begin(), command_line.end());  // CLI11 expects them in reverse
  try {
    program.parse(std::move(command_line));
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error);
    return code == 0 ? 0 : static_cast<int>(cli::exit_bad_input);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace dovetail::runtime

int main(int count, char** arguments) {
  try {
    dovetail::runtime::Command command;
    const auto ended = dovetail::runtime::read_command({arguments + 1, arguments + count}, command);
    return ended ? *ended : command.run();
  } catch (const std::bad_alloc&) {
    dovetail::cli::print_error("dovetail-train: out of memory\n");
    return EXIT_FAILURE;
  }
}
