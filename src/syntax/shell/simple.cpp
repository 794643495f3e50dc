#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

constexpr std::size_t max_shown_words = 4;

bool is_declaration(const std::vector<Word>& words) {
  if (words.empty() || !is_known(words.front().text)) return false;
  const std::string_view name = characters(words.front().text);
  return name == "export" || name == "declare" || name == "typeset" || name == "local" || name == "readonly";
}

/// Replaces an unknown value by the user's value for the variable. If the user gives no value, records the variable's
/// name in the unknown pieces.
Text decided(const Shell& shell, const std::string& name, Text value) {
  if (is_known(value)) return value;
  if (const auto given = shell.request->environment.find(name); given != shell.request->environment.end())
    return text_of(given->second);
  for (TextPiece& piece : value.pieces)
    if (piece.unknown && piece.unknown->variable.empty()) piece.unknown->variable = name;
  return value;
}

void assign_elements(Shell& shell, const Assignment& assignment) {
  std::vector<std::pair<std::optional<Text>, Word>> elements;
  for (const ArrayElement& element : assignment.elements) {
    if (!element.subscript.empty()) {
      const Text key = expand_text(shell, element.subscript.front());
      elements.push_back(
          {key, {.text = expand_text(shell, element.value.parts), .place = element.value.place, .condition = {}}});
      continue;
    }
    std::vector<Word> words;
    expand(shell, element.value, words);
    for (Word& word : words) elements.push_back({std::nullopt, std::move(word)});
  }
  Variable variable = shell.state.variables[assignment.name];
  const bool is_associative = variable.kind == Variable::Kind::associative;
  if (!is_associative) variable.kind = Variable::Kind::indexed;
  if (!assignment.adds) {
    variable.indexed.clear();
    variable.associative.clear();
  }
  std::int64_t next = variable.indexed.empty() ? 0 : variable.indexed.rbegin()->first + 1;
  for (auto& [key, word] : elements) {
    if (is_associative) {
      variable.associative[key ? describe(*key) : describe(word.text)] = std::move(word);
      continue;
    }
    if (key) {
      const ArithmeticValue index = compute(shell, *key, word.place);
      if (index.unknown) word.condition = index.unknown;
      next = index.unknown ? next : std::max<std::int64_t>(index.value, 0);
    }
    variable.indexed[next] = std::move(word);
    next += next < INT64_MAX ? 1 : 0;
  }
  shell.state.variables[assignment.name] = std::move(variable);
}

void assign_element(Shell& shell, const Assignment& assignment, Text value) {
  const Text key = expand_text(shell, assignment.subscript.front());
  const bool is_associative = shell.state.variables[assignment.name].kind == Variable::Kind::associative;
  const ArithmeticValue index = is_associative ? ArithmeticValue{} : compute(shell, key, assignment.place);
  Variable& variable = shell.state.variables[assignment.name];
  Word word{.text = std::move(value), .place = assignment.place, .condition = {}};
  if (is_associative) {
    if (assignment.adds) {
      Text joined = variable.associative[describe(key)].text;
      append(joined, word.text);
      word.text = std::move(joined);
    }
    variable.associative[describe(key)] = std::move(word);
    return;
  }
  variable.kind = Variable::Kind::indexed;
  if (index.unknown) {
    // Any element could have changed.
    for (auto& [at, element] : variable.indexed) element.text = either(element.text, word.text, *index.unknown);
    word.condition = index.unknown;
    variable.indexed[variable.indexed.empty() ? 0 : variable.indexed.rbegin()->first + 1] = std::move(word);
    return;
  }
  const bool from_end = index.value < 0 && !variable.indexed.empty();
  const std::int64_t at = index.value + (from_end ? variable.indexed.rbegin()->first + 1 : 0);
  if (assignment.adds && variable.indexed.contains(at)) {
    Text joined = variable.indexed[at].text;
    append(joined, word.text);
    word.text = std::move(joined);
  }
  variable.indexed[at] = std::move(word);
}

std::string shown(const std::vector<Word>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < max_shown_words; ++i)
    text += (i > 0 ? " " : "") + describe(words[i].text);
  return base::quote(words.size() > max_shown_words ? text + " ..." : text);
}

/// Commands that print nothing.
bool is_silent(const std::vector<Word>& words) {
  if (!is_known(words.front().text)) return false;
  for (const std::string_view name :
       {"mkdir", "sleep", "rm", "touch", "kill", "pkill", "chmod", "cp", "mv", "ln", "wait"})
    if (characters(words.front().text) == name) return true;
  return false;
}

Flow call_function(Shell& shell, const ShellNode& body, std::vector<Word> words) {
  words.erase(words.begin());
  std::vector<Word> outer = std::exchange(shell.state.parameters, std::move(words));
  shell.state.hidden.emplace_back();
  const int source = std::exchange(shell.source, body.place.source);
  const Flow flow = run_framed(shell, ShellFrame::Kind::function, [&] { return run(shell, body); });
  shell.source = source;
  if (shell.state.hidden.empty()) return flow;
  for (auto& [name, variable] : shell.state.hidden.back()) {
    if (variable)
      shell.state.variables[name] = std::move(*variable);
    else
      shell.state.variables.erase(name);
  }
  shell.state.hidden.pop_back();
  shell.state.parameters = std::move(outer);
  return flow;
}

/// Runs a command with assignments before it, which apply only to this command.
Flow run_with_assignments(Shell& shell, std::vector<Word> words, const ShellNode& node) {
  if (is_declaration(words) || node.assignments.empty()) return run_words(shell, std::move(words), node);
  std::map<std::string, std::optional<Variable>> before;
  for (const Assignment& assignment : node.assignments) {
    const Variable* variable = find_variable(shell, assignment.name);
    before.emplace(assignment.name, variable ? std::optional(*variable) : std::nullopt);
    assign(shell, assignment);
    shell.state.variables[assignment.name].is_exported = true;
  }
  const Flow flow = run_words(shell, std::move(words), node);
  for (auto& [name, variable] : before) {
    if (variable)
      shell.state.variables[name] = std::move(*variable);
    else
      shell.state.variables.erase(name);
  }
  return flow;
}

void redirect(Shell& shell, const Redirection& redirection) {
  const std::string& operation = redirection.operation;
  const bool is_input = operation.front() == '<';
  if (is_input) {
    if (redirection.descriptor > 0) return;
    const WordParts& parts = redirection.target.parts;
    if (operation == "<<" || operation == "<<-") {
      shell.state.input = expand_text(shell, shell.trees.here_documents[redirection.here_document]);
    } else if (operation == "<<<") {
      Text text = expand_text(shell, parts);
      append(text, "\n");
      shell.state.input = std::move(text);
    } else if (parts.size() == 1 && parts.front().kind == WordPart::Kind::process) {
      shell.state.input = run_in_subshell(shell, parts.front().commands.front(), true);
    } else {
      shell.state.input.reset();
    }
    return;
  }
  const Text target = expand_text(shell, redirection.target.parts);
  const bool is_number = is_known(target) && !is_empty(target) &&
                         characters(target).find_first_not_of("0123456789-") == std::string_view::npos;
  if (redirection.descriptor > 1 || (operation == ">&" && is_number && characters(target) == "1")) return;
  shell.captures = false;
  if (!(operation == ">&" && is_number))
    shell.outputs.push_back({.text = target, .place = redirection.target.place, .condition = {}});
}

}  // namespace

void assign_text(Shell& shell, const std::string& name, Text value, const Place& place) {
  Variable& variable = shell.state.variables[name];
  if (variable.is_whole) value = to_text(compute(shell, value, place));
  Variable& target = shell.state.variables[name];
  if (target.kind == Variable::Kind::unset) target.kind = Variable::Kind::scalar;
  Word word{.text = decided(shell, name, std::move(value)), .place = place, .condition = {}};
  if (target.kind == Variable::Kind::associative)
    target.associative["0"] = std::move(word);
  else
    target.indexed[0] = std::move(word);
}

void assign(Shell& shell, const Assignment& assignment) {
  if (shell.error) return;
  if (assignment.is_list) return assign_elements(shell, assignment);
  Text value = expand_text(shell, assignment.value.parts);
  if (!assignment.subscript.empty()) return assign_element(shell, assignment, std::move(value));
  if (assignment.adds) {
    const Variable* variable = find_variable(shell, assignment.name);
    const auto number = [&](const Text& text) { return compute(shell, text, assignment.place); };
    Text joined = variable && variable->indexed.contains(0) ? variable->indexed.at(0).text
                  : variable                                ? Text()
                                                            : unset_text(shell, assignment.name, assignment.place);
    if (variable && variable->is_whole) {
      const ArithmeticValue sum = number(value);
      append(joined, "+");
      append(joined, to_text(sum));
    } else {
      append(joined, value);
    }
    value = std::move(joined);
    spend(shell, assignment.place, 1, static_cast<std::int64_t>(size_of(value)));
  }
  assign_text(shell, assignment.name, std::move(value),
              assignment.value.parts.empty() ? assignment.place : assignment.value.place);
}

void write(Shell& shell, const Text& text) {
  if (!shell.captures) return;
  append(shell.state.output, text);
}

Flow record_command(Shell& shell, std::vector<Word> words) {
  const Place place = words.front().place;
  ReachedCommand command;
  for (const auto& [name, variable] : shell.state.variables)
    if (variable.is_exported && variable.indexed.contains(0)) command.environment[name] = variable.indexed.at(0).text;
  std::int64_t bytes = 0;
  for (const auto& [name, text] : command.environment) bytes += static_cast<std::int64_t>(name.size() + size_of(text));
  for (const Word& word : words) bytes += static_cast<std::int64_t>(sizeof(Word) + size_of(word.text));
  if (!spend(shell, place, 1, bytes)) return {.kind = Flow::Kind::exited, .levels = 0};
  command.directory = shell.state.directory;
  command.input = shell.state.input;
  command.outputs = shell.outputs;
  if (!shell.conditions.empty()) command.condition = shell.conditions.front();
  Unknown status{.place = place, .what = "whether " + shown(words) + " succeeds", .variable = {}, .many = false};
  if (shell.captures && !is_silent(words))
    write(shell,
          text_of(Unknown{.place = place, .what = "the output of " + shown(words), .variable = {}, .many = false}));
  command.words = std::move(words);
  shell.outcome.commands.push_back(std::move(command));
  shell.state.status = {.code = 0, .unknown = std::move(status), .is_effect = true, .defaulted = {}};
  return {};
}

Flow run_words(Shell& shell, std::vector<Word> words, const ShellNode& node) {
  const ShellDepth depth(shell, node.place);
  if (shell.error) return {.kind = Flow::Kind::exited, .levels = 0};
  if (is_known(words.front().text) && !words.front().condition) {
    const std::string name(characters(words.front().text));
    if (const auto found = shell.state.functions.find(name); found != shell.state.functions.end() && found->second)
      return call_function(shell, *found->second, std::move(words));
    if (std::optional<Flow> flow = run_builtin(shell, words, node)) return *flow;
  }
  return record_command(shell, std::move(words));
}

Flow run_redirected(Shell& shell, const std::vector<Redirection>& redirections, const std::function<Flow()>& body) {
  if (redirections.empty()) return body();
  const std::optional<Text> input = shell.state.input;
  const bool captures = shell.captures;
  const std::size_t outputs = shell.outputs.size();
  for (const Redirection& redirection : redirections) redirect(shell, redirection);
  const Flow flow = body();
  shell.state.input = input;
  shell.captures = captures;
  shell.outputs.resize(outputs);
  return flow;
}

Flow run_simple(Shell& shell, const ShellNode& node) {
  std::vector<Word> words;
  for (const ShellWord& word : node.words) expand(shell, word, words);
  if (shell.error) return {.kind = Flow::Kind::exited, .levels = 0};
  if (words.empty()) {
    shell.state.status = {};
    for (const Assignment& assignment : node.assignments) assign(shell, assignment);
    return run_redirected(shell, node.redirections, [&] {
      // `$(< FILE)`
      for (const Redirection& redirection : node.redirections)
        if (redirection.operation == "<" && !shell.state.input)
          write(shell,
                text_of(Unknown{.place = node.place, .what = "the content of a file", .variable = {}, .many = false}));
      return Flow{};
    });
  }
  return run_redirected(shell, node.redirections, [&] { return run_with_assignments(shell, std::move(words), node); });
}

}  // namespace dovetail::syntax
