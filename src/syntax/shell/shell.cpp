#include "syntax/shell/shell.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

/// Maximum number of evaluations of a script. Each new required variable requires another one.
constexpr int max_attempts = 8;

void set_variable(Shell& shell, const std::string& name, Text text, const Place& place, bool is_exported) {
  Variable& variable = shell.state.variables[name];
  variable.kind = Variable::Kind::scalar;
  variable.is_exported = is_exported;
  variable.indexed[0] = {.text = std::move(text), .place = place, .condition = {}};
}

void prepare(Shell& shell, const std::vector<RequiredVariable>& required) {
  const ScriptRequest& request = *shell.request;
  const Place begin = request.begin;
  shell.outcome.sources.assign(static_cast<std::size_t>(begin.source) + 1, request.path);
  shell.source = begin.source;
  set_variable(shell, "IFS", text_of(" \t\n"), begin, false);
  for (const auto& [name, value] : request.environment) set_variable(shell, name, text_of(value), begin, true);
  for (const RequiredVariable& variable : required)
    set_variable(shell, variable.name, unset_text(shell, variable.name, variable.place), variable.place, true);
  for (const std::string& argument : request.arguments)
    shell.state.parameters.push_back({.text = text_of(argument), .place = begin, .condition = {}});
  shell.state.directory =
      !request.directory.empty()
          ? text_of(join_path({}, request.directory))
          : text_of(Unknown{.place = begin, .what = "the working directory", .variable = "PWD", .many = false});
}

void finish(Shell& shell, const Flow& flow) {
  const ExitStatus& status = shell.state.status;
  if (flow.kind == Flow::Kind::exited && !shell.outcome.end)
    shell.outcome.end = ScriptEnd{
        .place = shell.exit_place,
        .reason = status.unknown ? "the script exits" : fmt::format("the script exits with code {}", status.code)};
  for (const auto& [name, variable] : shell.state.variables)
    if (variable.kind != Variable::Kind::unset) shell.outcome.variables[name] = elements_of(variable);
}

}  // namespace

base::Result<ScriptOutcome> evaluate_script(const ScriptRequest& request) {
  std::vector<RequiredVariable> required;
  ScriptCost effort = request.before;
  for (int attempt = 1;; ++attempt) {
    Shell shell;
    shell.request = &request;
    shell.cost = effort;
    prepare(shell, required);
    Flow flow;
    flow = run_framed(shell, ShellFrame::Kind::function,
                      [&] { return run_script_text(shell, request.content, request.path, request.begin); });
    if (shell.error) return *shell.error;
    const ExitStatus& status = shell.state.status;
    const bool fails = flow.kind == Flow::Kind::exited && !status.unknown && status.code != 0;
    bool is_new = false;
    for (const RequiredVariable& variable : shell.newly_required) {
      if (!fails || request.environment.contains(variable.name)) continue;
      const auto same = [&](const RequiredVariable& other) { return other.name == variable.name; };
      if (std::any_of(required.begin(), required.end(), same)) continue;
      required.push_back(variable);
      is_new = true;
    }
    if (is_new && attempt < max_attempts) {
      effort = shell.cost;
      continue;
    }
    finish(shell, flow);
    shell.outcome.cost = shell.cost;
    shell.outcome.required.insert(shell.outcome.required.begin(), required.begin(), required.end());
    return std::move(shell.outcome);
  }
}

}  // namespace dovetail::syntax
