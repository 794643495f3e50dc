#include <optional>
#include <utility>

#include "syntax/shell/builtins.h"
#include "syntax/shell/parser.h"

namespace dovetail::syntax {
namespace {

struct DeclaredFlags {
  bool is_export = false, is_local = false, is_list = false, is_map = false, is_whole = false, is_global = false;
  bool only_prints = false;
};

DeclaredFlags flags_of(const Shell& shell, const ShellCall& call) {
  const std::string_view name = plain(call.words, 0);
  DeclaredFlags flags;
  flags.is_export = name == "export";
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    if (word.empty() || word[0] != '-') continue;
    const auto has = [word](char c) { return word.find(c) != std::string_view::npos; };
    flags.is_export = flags.is_export || has('x');
    flags.is_list = flags.is_list || has('a');
    flags.is_map = flags.is_map || has('A');
    flags.is_whole = flags.is_whole || has('i');
    flags.is_global = flags.is_global || has('g');
    flags.only_prints = flags.only_prints || has('p') || has('f') || has('F');
  }
  const bool declares = name != "export" && name != "readonly";
  flags.is_local = declares && !flags.is_global && !shell.state.hidden.empty();
  return flags;
}

void declare_name(Shell& shell, const std::string& name, const DeclaredFlags& flags) {
  if (!is_variable_name(name)) return;
  if (flags.is_local) {
    auto& hidden = shell.state.hidden.back();
    const Variable* variable = find_variable(shell, name);
    if (!hidden.contains(name)) {
      hidden.emplace(name, variable ? std::optional(*variable) : std::nullopt);
      shell.state.variables[name] = {};
    }
  }
  if (!flags.is_local && !find_variable(shell, name) && flags.is_export) {
    // What the environment has is exported already.
    if (!shell.request->environment.contains(name)) return;
  }
  Variable& variable = shell.state.variables[name];
  variable.is_exported = variable.is_exported || flags.is_export;
  variable.is_whole = variable.is_whole || flags.is_whole;
  if (flags.is_map && variable.kind != Variable::Kind::associative) {
    variable = {};
    variable.kind = Variable::Kind::associative;
  } else if (flags.is_list && variable.kind == Variable::Kind::unset) {
    variable.kind = Variable::Kind::indexed;
  }
}

}  // namespace

Flow run_declare(Shell& shell, const ShellCall& call) {
  const DeclaredFlags flags = flags_of(shell, call);
  shell.state.status = {};
  if (flags.only_prints) return not_computed(shell, call, "what `declare` prints");
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    const std::size_t equals = word.find('=');
    if (word.empty() || word[0] == '-' || word[0] == '+') continue;
    const std::string name(word.substr(0, equals));
    declare_name(shell, name, flags);
    if (equals == std::string_view::npos || !is_variable_name(name)) continue;
    assign_text(shell, name, text_of(word.substr(equals + 1)), call.words[i].place);
    shell.state.variables[name].is_exported |= flags.is_export;
  }
  for (const Assignment& assignment : call.node.assignments) {
    // What is assigned is expanded before a local of that name hides an outer one.
    if (!assignment.is_list && assignment.subscript.empty() && !assignment.adds) {
      Text value = expand_text(shell, assignment.value.parts);
      declare_name(shell, assignment.name, flags);
      assign_text(shell, assignment.name, std::move(value), assignment.value.place);
    } else {
      declare_name(shell, assignment.name, flags);
      assign(shell, assignment);
    }
    Variable& variable = shell.state.variables[assignment.name];
    variable.is_exported = variable.is_exported || flags.is_export;
  }
  shell.state.status = {};
  return {};
}

}  // namespace dovetail::syntax
