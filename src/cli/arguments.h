// Options that several subcommands share.
//
// An option's text in --help is also what shell completion goes by: SOLVER, PROBLEM and FILE are completed from their
// kind, lower-case words joined by '|' are choices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/input.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "cli/terminal.h"

namespace dovetail::cli {

/// Adds an option without a value: `value` is whether it is given.
void add_flag(CLI::App& command, const std::string& name, bool& value, const std::string& description);

/// Adds --json.
void add_json_flag(CLI::App& command, bool& json);

/// Adds an option that takes one of `choices` ("always|never|auto"); `value` is left alone where it is not given.
void add_choice_option(CLI::App& command, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& description);

/// The same; `take` is called with the choice where it is given.
void add_choice_option(CLI::App& command, const std::string& name, const std::string& choices,
                       const std::string& description, const std::function<void(const std::string&)>& take);

/// Adds --color always|never|auto.
void add_color_option(CLI::App& command, ColorChoice& choice);

/// Adds --problem.
void add_problem_option(CLI::App& command, std::optional<answer::Input>& problem, const std::string& description);

/// Adds a required positional argument called `name` (PROBLEM, FILE, ...).
void add_positional(CLI::App& command, const std::string& name, std::string& value, const std::string& description);

/// Adds a positional argument that may be given several times, and is at least once.
void add_positional_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                         const std::string& description);

/// Adds an option that takes a text; `kind` stands in --help for the value, which is left alone where it is not given.
void add_text_option(CLI::App& command, const std::string& names, std::optional<std::string>& value,
                     const std::string& kind, const std::string& description);
void add_text_option(CLI::App& command, const std::string& names, std::string& value, const std::string& kind,
                     const std::string& description);

/// Adds an option that may be given several times, one value each time.
void add_name_list(CLI::App& command, const std::string& names, std::vector<std::string>& values,
                   const std::string& kind, const std::string& description);

/// Adds an option that takes a whole number in [least, most].
void add_count_option(CLI::App& command, const std::string& name, int& value, int least, int most,
                      const std::string& description);

/// Adds an option that takes a time (answer::parse_seconds).
void add_seconds_option(CLI::App& command, const std::string& name, const std::string& description,
                        std::optional<double>& seconds);

/// Refuses a command line with both options.
void exclude_option(CLI::App& command, const std::string& name, const std::string& other);

/// Adds a subcommand whose --help ends with `example`.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& description,
                      const std::string& example);

/// Makes `action` what `run` is where `command` is the subcommand that is asked for.
void set_action(CLI::App& command, Action& action, Action run);

/// The parts of `text` between separators; one, empty, of an empty text.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace dovetail::cli
