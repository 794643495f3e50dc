#include "syntax/shell/builtins.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/document.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {

ExitStatus status_of(int code) { return {.code = code, .unknown = {}, .is_effect = false, .defaulted = {}}; }

Flow done(Shell& shell, int code) {
  shell.state.status = status_of(code);
  return {};
}

Flow not_computed(Shell& shell, const ShellCall& call, std::string what) {
  Unknown unknown{.place = call.place, .what = std::move(what), .variable = {}, .many = false};
  write(shell, text_of(unknown));
  shell.state.status = {.code = 0, .unknown = std::move(unknown), .is_effect = true, .defaulted = {}};
  return {};
}

std::string_view plain(const Words& words, std::size_t at) {
  return at < words.size() && is_known(words[at].text) && !words[at].doubt ? characters(words[at].text)
                                                                           : std::string_view();
}

namespace {

using BuiltinFlow = Flow::Kind;

std::optional<int> number_of(const Words& words, std::size_t at) {
  const std::string_view text = plain(words, at);
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What the words are with a blank between them.
Text joined_words(const Words& words, std::size_t first) {
  Text text;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (i > first) append(text, " ");
    append(text, words[i].doubt ? text_of(*words[i].doubt) : words[i].text);
  }
  return text;
}

Flow run_nothing(Shell& shell, const ShellCall&) { return done(shell); }
Flow run_false(Shell& shell, const ShellCall&) { return done(shell, 1); }

Flow run_echo(Shell& shell, const ShellCall& call) {
  std::size_t first = 1;
  bool ends_line = true;
  bool escapes = false;
  for (; first < call.words.size(); ++first) {
    const std::string_view flag = plain(call.words, first);
    if (flag.size() < 2 || flag[0] != '-' || flag.find_first_not_of("neE", 1) != std::string_view::npos) break;
    ends_line = ends_line && flag.find('n') == std::string_view::npos;
    escapes = escapes || flag.find('e') != std::string_view::npos;
  }
  Text text = joined_words(call.words, first);
  if (escapes && is_known(text) && characters(text).find('\\') != std::string_view::npos) {
    const Words format{{.text = text_of("%b"), .place = call.place, .doubt = {}},
                       {.text = text, .place = call.place, .doubt = {}}};
    if (std::optional<Text> printed = format_words(shell, format, call.place)) text = std::move(*printed);
  }
  if (ends_line) append(text, "\n");
  write(shell, text);
  return done(shell);
}

Flow run_printf(Shell& shell, const ShellCall& call) {
  const bool assigns = plain(call.words, 1) == "-v" && call.words.size() > 2;
  std::size_t first = assigns ? 3 : 1;
  if (plain(call.words, first) == "--") ++first;
  const Words words(call.words.begin() + static_cast<std::ptrdiff_t>(std::min(first, call.words.size())),
                    call.words.end());
  std::optional<Text> text = format_words(shell, words, call.place);
  if (!text)
    text = text_of(Unknown{.place = call.place, .what = "what `printf` prints", .variable = {}, .many = false});
  if (!assigns)
    write(shell, *text);
  else if (is_variable_name(plain(call.words, 2)))
    assign_text(shell, std::string(plain(call.words, 2)), *text, call.place);
  return done(shell);
}

/// `cat` of what it is given on its input.
Flow run_cat(Shell& shell, const ShellCall& call) {
  const bool copies = call.words.size() == 1 || (call.words.size() == 2 && plain(call.words, 1) == "-");
  if (!copies || !shell.state.input) return reach(shell, call.words);
  if (!shell.outputs.empty()) {
    const Flow flow = reach(shell, call.words);
    shell.state.status = {};
    return flow;
  }
  write(shell, *shell.state.input);
  return done(shell);
}

Flow run_cd(Shell& shell, const ShellCall& call) {
  std::size_t at = 1;
  while (at < call.words.size() && (plain(call.words, at) == "--" || plain(call.words, at) == "-P")) ++at;
  if (at >= call.words.size()) {
    shell.state.directory = unset_text(shell, "HOME", call.place);
    return done(shell);
  }
  const Text& target = call.words[at].text;
  const Text& here = shell.state.directory;
  const bool is_rooted = is_known(target) && characters(target).starts_with('/');
  if (is_rooted || (is_known(target) && is_known(here)))
    shell.state.directory = text_of(join_path(is_known(here) ? characters(here) : "", characters(target)));
  else
    shell.state.directory = text_of(is_known(target) ? first_unknown(here) : first_unknown(target));
  return done(shell);
}

Flow run_pwd(Shell& shell, const ShellCall&) {
  Text text = shell.state.directory;
  append(text, "\n");
  write(shell, text);
  return done(shell);
}

/// dirname, basename, realpath, readlink -f of known paths.
Flow run_path(Shell& shell, const ShellCall& call) {
  Words operands;
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    if (word.size() < 2 || word[0] != '-') operands.push_back(call.words[i]);
  }
  const std::string_view name = plain(call.words, 0);
  const Text& here = shell.state.directory;
  const bool is_base = name == "basename";
  if (operands.empty() || operands.size() > (is_base ? 2U : 1U)) return reach(shell, call.words);
  for (const Word& operand : operands) {
    if (is_known(operand.text)) continue;
    write(shell, text_of(first_unknown(operand.text)));
    return done(shell);
  }
  const std::string_view path = characters(operands[0].text);
  std::string result;
  if (name == "dirname") {
    result = folder_of(path);
  } else if (is_base) {
    result = name_of(path, operands.size() > 1 ? characters(operands[1].text) : std::string_view());
  } else if (path.starts_with('/') || is_known(here)) {
    result = join_path(is_known(here) ? characters(here) : std::string_view(), path);
  } else {
    write(shell, text_of(first_unknown(here)));
    return done(shell);
  }
  write(shell, text_of(result + "\n"));
  return done(shell);
}

Flow run_seq(Shell& shell, const ShellCall& call) {
  const std::optional<std::string> text = sequence(shell, call.words, call.place);
  if (!text) return reach(shell, call.words);
  write(shell, text_of(*text));
  return done(shell);
}

Flow run_test(Shell& shell, const ShellCall& call) {
  Words words(call.words.begin() + 1, call.words.end());
  if (plain(call.words, 0) == "[") {
    if (plain(words, words.size() - 1) != "]" || words.empty()) return done(shell, 2);
    words.pop_back();
  }
  shell.state.status = test_words(shell, words, call.place);
  return {};
}

Flow run_leave(Shell& shell, const ShellCall& call) {
  const std::string_view name = plain(call.words, 0);
  const std::optional<int> number = number_of(call.words, 1);
  if (name == "break" || name == "continue") {
    const auto loops = std::count_if(shell.frames.begin(), shell.frames.end(),
                                     [](const ShellFrame& frame) { return frame.kind == ShellFrame::Kind::loop; });
    shell.state.status = {};
    if (loops == 0) return {};
    return {.kind = name == "break" ? BuiltinFlow::broken : BuiltinFlow::continued,
            .levels = std::clamp(number.value_or(1), 1, static_cast<int>(loops))};
  }
  if (number) shell.state.status = status_of(*number & 255);
  if (call.words.size() > 1 && !number && !is_known(call.words[1].text))
    shell.state.status = {.code = 0, .unknown = first_unknown(call.words[1].text), .is_effect = false, .defaulted = {}};
  if (name == "return") return {.kind = BuiltinFlow::returned, .levels = 0};
  shell.exit_place = call.place;
  shell.newly_demanded.clear();
  if (!shell.decisions.empty())
    for (const std::string& variable : shell.decisions.back().defaulted)
      shell.newly_demanded.push_back({.name = variable, .place = call.place});
  return {.kind = BuiltinFlow::exited, .levels = 0};
}

Flow run_shift(Shell& shell, const ShellCall& call) {
  const auto count = static_cast<std::size_t>(std::max(number_of(call.words, 1).value_or(1), 0));
  Words& parameters = shell.state.parameters;
  if (count > parameters.size()) return done(shell, 1);
  parameters.erase(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(count));
  return done(shell);
}

Flow run_set(Shell& shell, const ShellCall& call) {
  std::size_t at = 1;
  for (; at < call.words.size(); ++at) {
    const std::string_view word = plain(call.words, at);
    if (word == "--") {
      ++at;
      break;
    }
    const bool is_option = word.size() > 1 && (word[0] == '-' || word[0] == '+');
    if (!is_option) break;
    const bool on = word[0] == '-';
    if (word.find('e') != std::string_view::npos) shell.state.stops_on_error = on;
    if (word.find('o') == std::string_view::npos) continue;
    ++at;
    if (plain(call.words, at) == "errexit") shell.state.stops_on_error = on;
    if (at + 1 >= call.words.size()) return done(shell);
  }
  const bool replaces = at < call.words.size() || plain(call.words, call.words.size() - 1) == "--";
  if (replaces && call.words.size() > 1)
    shell.state.parameters = Words(call.words.begin() + static_cast<std::ptrdiff_t>(at), call.words.end());
  return done(shell);
}

Flow run_unset(Shell& shell, const ShellCall& call) {
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string name(plain(call.words, i));
    if (is_variable_name(name)) shell.state.variables[name] = {};
    if (plain(call.words, 1) == "-f") shell.state.functions.erase(name);
  }
  return done(shell);
}

Flow run_let(Shell& shell, const ShellCall& call) {
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const ArithmeticValue value = compute(shell, call.words[i].text, call.place);
    shell.state.status = {
        .code = value.value != 0 ? 0 : 1, .unknown = value.unknown, .is_effect = false, .defaulted = {}};
  }
  return {};
}

Flow run_wrapped(Shell& shell, const ShellCall& call) {
  std::size_t at = 1;
  if (plain(call.words, 0) == "exec" && call.words.size() > 1) {
    if (plain(call.words, at) == "-a") at += 2;
    if (at < call.words.size())
      reach(shell, Words(call.words.begin() + static_cast<std::ptrdiff_t>(at), call.words.end()));
    shell.exit_place = call.place;
    shell.state.status = {};
    return {.kind = BuiltinFlow::exited, .levels = 0};
  }
  const std::string_view flag = plain(call.words, 1);
  if (flag == "-v" || flag == "-V")
    return not_computed(shell, call, "the place of " + base::quote(plain(call.words, 2)));
  if (call.words.size() == 1) return done(shell);
  return run_words(shell, Words(call.words.begin() + 1, call.words.end()), call.node);
}

Flow run_eval(Shell& shell, const ShellCall& call) {
  const Text text = joined_words(call.words, 1);
  if (is_known(text)) {
    const std::string content(characters(text));
    const std::string path = shell.outcome.sources[static_cast<std::size_t>(shell.source)];
    if (!spend(shell, call.place, 1 + static_cast<std::int64_t>(content.size() / 16),
               static_cast<std::int64_t>(content.size())))
      return {.kind = BuiltinFlow::exited, .levels = 0};
    return run_script_text(shell, content, path, call.words.size() > 1 ? call.words[1].place : call.place);
  }
  shell.outcome.unread.push_back(
      {.name = text, .place = call.place, .reason = first_unknown(text).what + " is not known"});
  return not_computed(shell, call, "what `eval` does");
}

/// The content of a script that `source` names, or why it is not read.
base::Result<std::string> read_included(const Shell& shell, const Text& name, std::string& path) {
  if (!is_known(name)) return base::bad_input(first_unknown(name).what + " is not known");
  path = characters(name);
  const Text& here = shell.state.directory;
  if (!path.starts_with('/')) {
    if (is_known(here)) path = join_path(characters(here), path);
  }
  if (!shell.request->read) return base::bad_input("no other file is read");
  return shell.request->read(path);
}

Flow run_source(Shell& shell, const ShellCall& call) {
  if (call.words.size() < 2) return done(shell, 2);
  const Text name = call.words[1].text;
  std::string path;
  const base::Result<std::string> content = read_included(shell, name, path);
  if (!content.ok()) {
    shell.outcome.unread.push_back({.name = name, .place = call.place, .reason = content.error().message});
    return not_computed(shell, call, "what " + base::quote(describe(name)) + " does");
  }
  const auto size = static_cast<std::int64_t>(content->size());
  if (!spend(shell, call.place, 1 + size / 16, size)) return {.kind = BuiltinFlow::exited, .levels = 0};
  const int source = static_cast<int>(shell.outcome.sources.size());
  shell.outcome.sources.push_back(path);
  const int outer = std::exchange(shell.source, source);
  Words parameters = shell.state.parameters;
  if (call.words.size() > 2) shell.state.parameters = Words(call.words.begin() + 2, call.words.end());
  const Flow flow = run_framed(shell, ShellFrame::Kind::function, [&] {
    return run_script_text(shell, *content, path, {.source = source, .line = 1, .column = 1});
  });
  if (call.words.size() > 2) shell.state.parameters = std::move(parameters);
  shell.source = outer;
  return flow;
}

struct Builtin {
  std::string_view name;
  Flow (*run)(Shell& shell, const ShellCall& call);
};
constexpr std::array<Builtin, 48> builtins{
    {{":", run_nothing},       {"true", run_nothing},     {"false", run_false},     {"wait", run_nothing},
     {"trap", run_nothing},    {"ulimit", run_nothing},   {"umask", run_nothing},   {"shopt", run_nothing},
     {"alias", run_nothing},   {"unalias", run_nothing},  {"hash", run_nothing},    {"jobs", run_nothing},
     {"disown", run_nothing},  {"pushd", run_cd},         {"echo", run_echo},       {"printf", run_printf},
     {"cat", run_cat},         {"tee", run_cat},          {"cd", run_cd},           {"pwd", run_pwd},
     {"dirname", run_path},    {"basename", run_path},    {"realpath", run_path},   {"readlink", run_path},
     {"seq", run_seq},         {"test", run_test},        {"[", run_test},          {"exit", run_leave},
     {"return", run_leave},    {"break", run_leave},      {"continue", run_leave},  {"shift", run_shift},
     {"set", run_set},         {"unset", run_unset},      {"let", run_let},         {"exec", run_wrapped},
     {"command", run_wrapped}, {"builtin", run_wrapped},  {"eval", run_eval},       {"source", run_source},
     {".", run_source},        {"export", run_declare},   {"declare", run_declare}, {"typeset", run_declare},
     {"local", run_declare},   {"readonly", run_declare}, {"read", run_read},       {"mapfile", run_mapfile}}};

}  // namespace

std::optional<Flow> run_builtin(Shell& shell, const std::vector<Word>& words, const ShellNode& node) {
  std::string_view name = characters(words.front().text);
  if (name == "readarray") name = "mapfile";
  for (const Builtin& builtin : builtins)
    if (builtin.name == name) return builtin.run(shell, {.words = words, .node = node, .place = words.front().place});
  return std::nullopt;
}

}  // namespace dovetail::syntax
