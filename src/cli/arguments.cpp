#include "cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "cli/options.h"

namespace dovetail::cli {

void add_flag(CLI::App& command, const std::string& name, bool& value, const std::string& description) {
  command.add_flag(name, value, description);
}

void add_json_flag(CLI::App& command, bool& json) {
  add_flag(command, "--json", json, "print one JSON object instead of text");
}

void add_choice_option(CLI::App& command, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& description) {
  add_choice_option(command, name, choices, description, [&value](const std::string& text) { value = text; });
}

void add_choice_option(CLI::App& command, const std::string& name, const std::string& choices,
                       const std::string& description, const std::function<void(const std::string&)>& take) {
  add_choice(command, {name, description}, choices, take);
}

void add_color_option(CLI::App& command, ColorChoice& choice) {
  add_choice_option(
      command, "--color", "always|never|auto", "colors (default: auto, on a terminal unless NO_COLOR is set)",
      [&choice](const std::string& text) {
        choice = text == "auto" ? ColorChoice::automatic : text == "always" ? ColorChoice::always : ColorChoice::never;
      });
}

void add_problem_option(CLI::App& command, std::optional<answer::Input>& problem, const std::string& description) {
  add_option(command, {"--problem", description}, answer::File{"PROBLEM"},
             [&problem](answer::Input input) { problem = std::move(input); });
}

void add_positional(CLI::App& command, const std::string& name, std::string& value, const std::string& description) {
  command.add_option(name, value, description)->required()->option_text(" ");
}

void add_positional_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                         const std::string& description) {
  command.add_option(name, values, description)->required()->option_text(" ");
}

void add_text_option(CLI::App& command, const std::string& names, std::optional<std::string>& value,
                     const std::string& kind, const std::string& description) {
  command.add_option(names, value, description)->option_text(kind);
}

void add_text_option(CLI::App& command, const std::string& names, std::string& value, const std::string& kind,
                     const std::string& description) {
  command.add_option(names, value, description)->option_text(kind);
}

void add_name_list(CLI::App& command, const std::string& names, std::vector<std::string>& values,
                   const std::string& kind, const std::string& description) {
  // Extra arguments are off, so that a list does not consume the positional argument after it.
  command.add_option(names, values, description)->allow_extra_args(false)->option_text(kind);
}

void add_count_option(CLI::App& command, const std::string& name, int& value, int min, int max,
                      const std::string& description) {
  add_option(command, {name, description},
             answer::Count{static_cast<std::uint64_t>(min), static_cast<std::uint64_t>(max)},
             [&value](std::uint64_t number) { value = static_cast<int>(number); });
}

void add_seconds_option(CLI::App& command, const std::string& name, const std::string& description,
                        std::optional<double>& seconds) {
  add_option(command, {name, description}, answer::Seconds{}, seconds);
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& description,
                      const std::string& example) {
  CLI::App* command = program.add_subcommand(name, description);
  command->footer("Example:\n" + example);
  return command;
}

void set_action(CLI::App& command, Action& action, Action run) {
  command.callback([&action, run = std::move(run)] { action = run; });
}

std::vector<std::string> split(const std::string& text, char separator) { return CLI::detail::split(text, separator); }

}  // namespace dovetail::cli
