// Completion scripts for shells, made from the command line's own structure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace dovetail::cli {

/// What a value of an option or a positional argument may be.
struct Completion {
  std::vector<std::string> words;  ///< solvers, bundled instances, choices
  bool files = false;
};

/// Goes by the kind that --help shows: SOLVER, PROBLEM, FILE, A, B, IN, OUT, or choices joined by '|'.
Completion completion_of(std::string_view kind);

/// An option of a command that is shown in --help.
struct CompletedOption {
  std::vector<std::string> names;  ///< with their dashes
  std::string description;         ///< one line
  std::string kind;
  bool takes_value = false;
  bool repeatable = false;
};
std::vector<CompletedOption> options_of(const CLI::App& command);

/// A positional argument of a command.
struct CompletedPositional {
  std::string kind;
  bool repeatable = false;
};
std::vector<CompletedPositional> positionals_of(const CLI::App& command);

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace dovetail::cli
