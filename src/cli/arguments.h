// Options that several subcommands share.
//
// Shell completion depends on the value kinds that --help shows. SOLVER completes to solvers, PROBLEM to bundled
// instances and files, and the kinds of files (FILE, JOB, DIR, ...) to files. A kind such as "always|never" completes
// to the words between the bars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/input.h"
#include "base/result.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace dovetail::cli {

/// Adds an option without a value. `value` becomes true if the option is given.
void add_flag(CLI::App& command, const std::string& name, bool& value, const std::string& description);

/// Adds --json, which sets `json`.
void add_json_flag(CLI::App& command, bool& json);

/// Adds an option that takes one of `choices` ("always|never|auto"). Leaves `value` unchanged if the option is not
/// given.
void add_choice_option(CLI::App& command, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& description);

/// Adds an option that takes one of `choices`, as above. If the option is given, calls `take` with the chosen word
/// while the command line is parsed.
void add_choice_option(CLI::App& command, const std::string& name, const std::string& choices,
                       const std::string& description, const std::function<void(const std::string&)>& take);

/// Adds --color always|never|auto. Leaves `choice` unchanged if it is not given.
void add_color_option(CLI::App& command, ColorChoice& choice);

/// Adds --problem, a bundled instance or a file. `problem` stays nullopt if it is not given.
void add_problem_option(CLI::App& command, std::optional<answer::Input>& problem, const std::string& description);

/// Adds a required positional argument. `name` is its value kind (PROBLEM, FILE, ...).
void add_positional(CLI::App& command, const std::string& name, std::string& value, const std::string& description);

/// Adds a positional argument that must be given at least once.
void add_positional_list(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                         const std::string& description);

/// Adds an option that takes any string; --help shows `kind` as its value. Leaves `value` unchanged if the option is
/// not given.
void add_text_option(CLI::App& command, const std::string& names, std::optional<std::string>& value,
                     const std::string& kind, const std::string& description);
void add_text_option(CLI::App& command, const std::string& names, std::string& value, const std::string& kind,
                     const std::string& description);

/// Adds an option that may be given several times, with one value each time.
void add_name_list(CLI::App& command, const std::string& names, std::vector<std::string>& values,
                   const std::string& kind, const std::string& description);

/// Adds an option that takes an integer in [min, max]. Leaves `value` unchanged if the option is not given.
void add_count_option(CLI::App& command, const std::string& name, int& value, int min, int max,
                      const std::string& description);

/// Adds an option that takes a duration (answer::parse_seconds). `seconds` stays nullopt if the option is not given.
void add_seconds_option(CLI::App& command, const std::string& name, const std::string& description,
                        std::optional<double>& seconds);

/// Adds and returns a subcommand whose --help ends with `example`.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& description,
                      const std::string& example);

/// Sets `action` to `run` when the command line selects `command`.
void set_action(CLI::App& command, Action& action, Action run);

/// Splits `text` at each separator. An empty string yields one empty part. A separator at the end adds no part.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace dovetail::cli
