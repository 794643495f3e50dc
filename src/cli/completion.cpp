// dovetail completion: a script that completes commands, options and their values in bash or zsh.
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "fuse/solver.h"
#include "pipeline/problem/instances.h"

namespace dovetail::cli {
namespace {

struct CompletionArguments {
  std::string shell;
};

base::Result<int> run_completion(const CLI::App& program, const CompletionArguments& arguments) {
  if (arguments.shell == "bash") {
    print(bash_completion(program));
  } else if (arguments.shell == "zsh") {
    print(zsh_completion(program));
  } else {
    return base::bad_input("there is no completion for '" + arguments.shell + "'; accepted: bash, zsh");
  }
  return exit_done;
}

}  // namespace

Completion completion_of(std::string_view kind) {
  Completion completion;
  if (kind == "SOLVER") {
    for (const fuse::Solver& solver : fuse::solvers()) completion.words.emplace_back(solver.name);
  } else if (kind == "PROBLEM") {
    for (const pipeline::Instance& instance : pipeline::instances()) completion.words.push_back(instance.name);
    completion.files = true;
  } else if (kind == "SHELL") {
    completion.words = {"bash", "zsh"};
  } else if (kind.find('|') != std::string_view::npos) {
    completion.words = CLI::detail::split(std::string(kind), '|');
  } else {
    completion.files = kind == "FILE" || kind == "A" || kind == "B" || kind == "IN" || kind == "OUT" || kind == "DIR";
  }
  return completion;
}

std::vector<CompletedOption> options_of(const CLI::App& command) {
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

std::vector<CompletedPositional> positionals_of(const CLI::App& command) {
  std::vector<CompletedPositional> positionals;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) positionals.push_back({option->get_name(true), option->get_expected_max() > 1});
  }
  return positionals;
}

void add_completion(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CompletionArguments>();
  CLI::App* command = add_command(program, "completion", "print a completion script for bash or zsh",
                                  "  source <(dovetail completion bash)");
  add_positional(*command, "SHELL", arguments->shell, "bash or zsh");
  set_action(*command, action, [arguments, &program] { return run_completion(program, *arguments); });
}

}  // namespace dovetail::cli
