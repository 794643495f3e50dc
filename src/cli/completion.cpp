// dovetail completion: completion scripts for bash and zsh, generated from the definition of the command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "fuse/solver.h"
#include "pipeline/problem/instances.h"

namespace dovetail::cli {
namespace {

/// Possible values of an option or a positional argument.
struct Completion {
  std::vector<std::string> choices;  ///< solvers, bundled instances, choices
  bool files = false;
};

/// Derives the completion from the value kind in --help: SOLVER, PROBLEM, choices joined by '|', or a kind of file.
Completion completion_of(std::string_view kind) {
  Completion completion;
  if (kind == "SOLVER") {
    for (const fuse::Solver& solver : fuse::solvers()) completion.choices.emplace_back(solver.name);
  } else if (kind == "PROBLEM") {
    for (const pipeline::Instance& instance : pipeline::instances()) completion.choices.push_back(instance.name);
    completion.files = true;
  } else if (kind == "SHELL") {
    completion.choices = {"bash", "zsh"};
  } else if (kind.find('|') != std::string_view::npos) {
    completion.choices = CLI::detail::split(std::string(kind), '|');
  } else {
    constexpr std::array<std::string_view, 11> files = {"FILE", "A",    "B",      "IN",     "OUT",    "DIR",
                                                        "JOB",  "PLAN", "FOLDER", "PREFIX", "CLUSTER"};
    completion.files = std::find(files.begin(), files.end(), kind) != files.end();
  }
  return completion;
}

/// Option of a command, as in --help.
struct CompletedOption {
  std::vector<std::string> names;  ///< with their dashes
  std::string description;         ///< one line
  std::string kind;
  bool takes_value = false;
  bool repeatable = false;
};

std::vector<CompletedOption> listed_options(const CLI::App& command) {
  std::vector<CompletedOption> options;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) continue;
    CompletedOption completed;
    for (const std::string& name : option->get_snames()) completed.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) completed.names.push_back("--" + name);
    completed.description = option->get_description();
    std::replace(completed.description.begin(), completed.description.end(), '\n', ' ');
    completed.kind = option->get_option_text();
    completed.takes_value = option->get_items_expected_max() > 0;
    completed.repeatable = option->get_expected_max() > 1;
    options.push_back(std::move(completed));
  }
  return options;
}

/// Positional argument of a command.
struct CompletedPositional {
  std::string kind;
  bool repeatable = false;
};

std::vector<CompletedPositional> positionals_of(const CLI::App& command) {
  std::vector<CompletedPositional> positionals;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) positionals.push_back({option->get_name(true), option->get_expected_max() > 1});
  }
  return positionals;
}

/// Bash assignments that complete a value with words and, if allowed, with files.
std::string bash_value(const Completion& completion) {
  std::string text = fmt::format("words=\"{}\"", fmt::join(completion.choices, " "));
  if (completion.files) text += "; files=1";
  return text;
}

/// Bash cases of a command: first the options with a value, then all other arguments.
std::string bash_command(const CLI::App& command) {
  const std::string& name = command.get_name();
  std::string cases;
  std::vector<std::string> names;
  for (const CompletedOption& option : listed_options(command)) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (!option.takes_value) continue;
    std::vector<std::string> patterns;
    for (const std::string& option_name : option.names) patterns.push_back(fmt::format("\"{} {}\"", name, option_name));
    cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), bash_value(completion_of(option.kind)));
  }
  Completion anything;
  for (const CompletedPositional& positional : positionals_of(command)) {
    const Completion completion = completion_of(positional.kind);
    anything.choices.insert(anything.choices.end(), completion.choices.begin(), completion.choices.end());
    anything.files = anything.files || completion.files;
  }
  cases += fmt::format("    \"{} \"*) options=\"{}\"; {} ;;\n", name, fmt::join(names, " "), bash_value(anything));
  return cases;
}

/// Escapes a text for single quotes in a zsh _arguments specification.
std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') quoted += '\\';
      quoted += letter;
    }
  }
  return quoted;
}

/// "PROBLEM:ACTION" of a zsh specification: words, files or both.
std::string zsh_value(const std::string& kind) {
  const Completion completion = completion_of(kind);
  std::string action = " ";
  if (completion.files && completion.choices.empty()) action = "_files";
  if (!completion.choices.empty()) action = fmt::format("({})", fmt::join(completion.choices, " "));
  if (completion.files && !completion.choices.empty())
    action = fmt::format("{{ compadd -- {}; _files }}", fmt::join(completion.choices, " "));
  return fmt::format("{}:{}", zsh_quoted(kind.empty() ? "value" : kind), action);
}

std::string zsh_command(const CLI::App& command) {
  std::string text = fmt::format("        {})\n          _arguments", command.get_name());
  for (const CompletedOption& option : listed_options(command)) {
    for (const std::string& name : option.names) {
      text += fmt::format(" \\\n            '{}{}[{}]{}'", option.repeatable ? "*" : "", name,
                          zsh_quoted(option.description),
                          option.takes_value ? fmt::format(":{}", zsh_value(option.kind)) : "");
    }
  }
  int number = 1;
  for (const CompletedPositional& positional : positionals_of(command)) {
    const std::string place = positional.repeatable ? "*" : fmt::format("{}", number++);
    text += fmt::format(" \\\n            '{}:{}'", place, zsh_value(positional.kind));
  }
  return text + "\n          ;;\n";
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

std::string bash_completion(const CLI::App& program) {
  std::vector<std::string> first;
  std::string cases;
  for (const CLI::App* command : commands_of(program)) {
    first.push_back(command->get_name());
    cases += bash_command(*command);
  }
  for (const CompletedOption& option : listed_options(program))
    first.insert(first.end(), option.names.begin(), option.names.end());
  return fmt::format(R"(# bash completion of dovetail. Load it with: source <(dovetail completion bash)
_dovetail() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  local words="" options="" files=""
  # bash cuts --solver=greedy into three words.
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $previous == "=" ]]; then
    previous="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "$command $previous" in
{}  esac
  if [[ $current == -* ]]; then
    words="$options"
    files=""
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    local path
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$current")
  fi
}}
complete -F _dovetail dovetail
)",
                     fmt::join(first, " "), cases);
}

std::string zsh_completion(const CLI::App& program) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : commands_of(program)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_quoted(command->get_description()));
    cases += zsh_command(*command);
  }
  std::string options;
  for (const CompletedOption& option : listed_options(program)) {
    for (const std::string& name : option.names)
      options += fmt::format("    '{}[{}]' \\\n", name, zsh_quoted(option.description));
  }
  return fmt::format(R"(#compdef dovetail
# zsh completion of dovetail. Load it with: source <(dovetail completion zsh),
# or save it as _dovetail in a folder of fpath.
_dovetail() {{
  local curcontext="$curcontext" state line
  typeset -A opt_args
  local -a commands
  commands=(
{}  )
  _arguments -C \
{}    '1:command:->command' \
    '*::argument:->argument'
  case $state in
    command)
      _describe -t commands 'dovetail command' commands
      ;;
    argument)
      case $words[1] in
{}      esac
      ;;
  esac
}}
if [[ $funcstack[1] == _dovetail ]]; then
  _dovetail "$@"
else
  compdef _dovetail dovetail
fi
)",
                     commands, options, cases);
}

struct CompletionArguments {
  std::string shell;
};

base::Result<int> run_completion(const CLI::App& program, const CompletionArguments& arguments) {
  if (arguments.shell == "bash") {
    print(bash_completion(program));
  } else if (arguments.shell == "zsh") {
    print(zsh_completion(program));
  } else {
    return base::bad_input("no completion for shell '" + arguments.shell + "'; use bash or zsh");
  }
  return exit_done;
}

}  // namespace

void add_completion(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CompletionArguments>();
  CLI::App* command = add_command(program, "completion", "print a completion script for bash or zsh",
                                  "  source <(dovetail completion bash)");
  add_positional(*command, "SHELL", arguments->shell, "bash or zsh");
  set_action(*command, action, [arguments, &program] { return run_completion(program, *arguments); });
}

}  // namespace dovetail::cli
