// The dovetail program: parses the command line, runs a subcommand and converts its result into an exit code.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answer/text/figures.h"
#include "base/enum_names.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/version.h"

namespace dovetail::cli {
namespace {

/// Returns the selected subcommand, or the program itself if none is selected.
const CLI::App& deepest(const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? program : *chosen.front();
}

/// Describes the first unexpected argument: an unknown command, an unknown option, or an extra argument.
std::string unexpected_argument(const CLI::App& command, const std::string& text) {
  const std::string argument = text.starts_with("-") ? text.substr(0, text.find('=')) : text;
  std::vector<std::string> known;
  if (argument.starts_with("-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else if (command.get_parent() == nullptr) {
    for (const CLI::App* subcommand : command.get_subcommands({})) known.push_back(subcommand->get_name());
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  if (argument.starts_with("-"))
    return fmt::format("unknown option '{}'{}", argument, base::did_you_mean(argument, candidates));
  if (known.empty()) return fmt::format("unexpected argument '{}'", argument);
  return fmt::format("unknown command '{}'{}", argument,
                     answer::hint_and_list(argument, "the commands are", candidates));
}

/// Returns the parser's message, reworded for an option without its value. For a missing option, it also shows the kind
/// of value.
std::string text_of(const CLI::App& command, const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const CLI::Option* const option = command.get_option_no_throw(text.substr(0, text.find(' ')));
    if (option != nullptr && !option->get_positional())
      text += fmt::format("; accepted: {} {}", option->get_name(), option->get_option_text());
    return text;
  }
  const std::size_t colon = text.find(": ");
  const bool lacks_value = text.find(" required ") != std::string::npos && text.ends_with(" missing");
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || colon == std::string::npos || !lacks_value)
    return text;
  return text.substr(0, colon) + " needs a value";
}

int report_parse_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = deepest(program);
  const std::string name = &command == &program ? "dovetail" : "dovetail " + command.get_name();
  const std::vector<std::string> remaining = program.remaining(true);
  if (&command == &program && remaining.empty()) {
    print_error(program.help());
    return exit_bad_input;
  }
  const std::string what =
      remaining.empty() ? text_of(command, error) : unexpected_argument(command, remaining.front());
  print_error(fmt::format("dovetail: {}\nsee {} --help\n", what, name));
  return exit_bad_input;
}

void add_commands(CLI::App& program, Action& action) {
  add_schedule(program, action);
  add_compare(program, action);
  add_check(program, action);
  add_diff(program, action);
  add_bounds(program, action);
  add_convert(program, action);
  add_show(program, action);
  add_report(program, action);
  add_problem(program, action);
  add_fuse_layouts(program, action);
  add_import(program, action);
  add_export(program, action);
  add_plan(program, action);
  add_fit(program, action);
  add_explain(program, action);
  add_simulate(program, action);
  add_profile(program, action);
  add_train(program, action);
  add_sweep(program, action);
  add_what_if(program, action);
  add_forecast(program, action);
  add_calibrate(program, action);
  add_measured(program, action);
  add_instances(program, action);
  add_completion(program, action);
}

/// Exits immediately on a signal. Commands with results to save replace this handler (stop_on_interrupt).
extern "C" void exit_at_once(int /*signal*/) { _exit(exit_interrupted); }

/// Rejects arguments with a newline, carriage return or tab, which would break lines or columns of the output.
base::Status check_arguments(std::span<char* const> arguments) {
  for (const std::string_view argument : arguments)
    if (argument.find_first_of("\n\r\t") != std::string_view::npos)
      return base::bad_input(
          fmt::format("an argument must not contain newlines or tabs: '{}'", base::visible(argument)));
  return {};
}

/// Flushes stdout and reports a failure. A full disk or a closed pipe may not be detected earlier.
int flush_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  print_error(fmt::format("dovetail: standard output: {}\n", std::strerror(errno)));
  return code == exit_done ? exit_invalid : code;
}

/// Prints each option on one line, also if its name is wider than the column.
class OneLineFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string name = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const std::string help = make_option_desc(option);
    return help.empty() ? name + "\n" : fmt::format("{:<{}}  {}\n", name, get_column_width(), help);
  }
};

int run(int argument_count, char** arguments) {
  std::signal(SIGINT, exit_at_once);
  std::signal(SIGTERM, exit_at_once);
  // Makes a write beyond the file size limit fail as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const base::Status checked = check_arguments({arguments, static_cast<std::size_t>(argument_count)});
      !checked.ok())
    return report_failure(checked.error(), "dovetail");
  CLI::App program("Plan, fuse and simulate RLHF training.", "dovetail");
  program.footer(
      "Examples:\n  dovetail plan examples/jobs/ppo-7b.yaml -o plan.json\n  dovetail simulate "
      "examples/jobs/ppo-7b.yaml --plan plan.json\n  dovetail schedule exp5 -o exp5.svg\n\nExit codes: 0 done; 1 check "
      "or I/O failed; 2 bad input; 3 nothing found that fits in memory or\nmeets the deadline, or no answer within the "
      "time limit; 4 process lost; 130 interrupted, with the best\nanswer so far.");
  program.set_version_flag("--version", version_text, "print the version and its build details");
  program.require_subcommand(1);
  program.set_help_flag("-h,--help", "print this help");
  const auto formatter = std::make_shared<OneLineFormatter>();
  formatter->column_width(27);
  program.formatter(formatter);
  Action action;
  add_commands(program, action);
  try {
    program.parse(argument_count, arguments);
  } catch (const CLI::Success& help_or_version) {
    return flush_output(program.exit(help_or_version));
  } catch (const CLI::ParseError& error) {
    if (is_nonzero_rank(argument_count, arguments)) print_nothing();
    return report_parse_error(program, error);
  }
  base::Result<int> result = action();
  return flush_output(result.ok() ? *result : report_failure(result.error(), "dovetail"));
}

}  // namespace
}  // namespace dovetail::cli

int main(int argument_count, char** arguments) {
  try {
    return dovetail::cli::run(argument_count, arguments);
  } catch (const std::bad_alloc&) {
    dovetail::cli::print_error("dovetail: not enough memory for this problem\n");
  } catch (const std::exception& error) {
    dovetail::cli::print_error(fmt::format("dovetail: {}\n", error.what()));
  }
  return dovetail::cli::exit_invalid;
}
