#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

using Words = std::vector<Word>;

/// A call of a command.
struct ShellCall {
  const Words& words;
  const ShellNode& node;
  const Place& place;
};

ExitStatus status_of(int code) { return {.code = code, .unknown = {}, .is_effect = false, .defaulted = {}}; }

/// Ends a command with an exit code.
Flow done(Shell& shell, int code = 0) {
  shell.state.status = status_of(code);
  return {};
}

/// Ends a command whose output and status are known only at run time.
Flow not_computed(Shell& shell, const ShellCall& call, std::string what) {
  Unknown unknown{.place = call.place, .what = std::move(what), .variable = {}, .many = false};
  write(shell, text_of(unknown));
  shell.state.status = {.code = 0, .unknown = std::move(unknown), .is_effect = true, .defaulted = {}};
  return {};
}

/// Returns the characters of a word that is known and certainly present; otherwise an empty string.
std::string_view plain(const Words& words, std::size_t at) {
  return at < words.size() && is_known(words[at].text) && !words[at].condition ? characters(words[at].text)
                                                                               : std::string_view();
}

constexpr std::size_t max_width = 1000;

/// Decodes an escape of printf or `echo -e` at the start of `text`, which is a backslash. Returns the number of
/// characters consumed.
std::size_t unescape(std::string_view text, std::string& result) {
  constexpr std::string_view letters = "abefnrtv\\\"'";
  constexpr std::string_view codes = "\a\b\x1b\f\n\r\t\v\\\"'";
  if (text.size() < 2) {
    result += '\\';
    return 1;
  }
  if (const std::size_t at = letters.find(text[1]); at != std::string_view::npos) {
    result += codes[at];
    return 2;
  }
  std::size_t length = 1;
  unsigned value = 0;
  while (length < text.size() && length < 5 && text[length] >= '0' && text[length] <= '7' &&
         (length < 4 || text[1] == '0'))
    value = value * 8 + static_cast<unsigned>(text[length++] - '0');
  if (length == 1) {
    result += '\\';
    return 1;
  }
  result += static_cast<char>(value);
  return length;
}

/// A printf conversion: "%-5d".
struct Conversion {
  std::string flags;  ///< flags, width and precision
  char kind = 0;
};

std::optional<Conversion> parse_conversion(std::string_view text, std::size_t& at) {
  Conversion conversion;
  std::size_t digits = 0;
  for (; at < text.size() && std::string_view("-+ #0123456789.").find(text[at]) != std::string_view::npos; ++at) {
    conversion.flags += text[at];
    digits = text[at] >= '0' && text[at] <= '9' ? digits + 1 : 0;
    if (digits > 3) return std::nullopt;
  }
  if (at >= text.size()) return std::nullopt;
  conversion.kind = text[at++];
  return conversion;
}

std::optional<std::string> formatted(const Conversion& conversion, std::string_view argument) {
  std::string buffer(2 * max_width, '\0');
  std::string format = "%" + conversion.flags;
  int length = -1;
  if (conversion.kind == 's') {
    format += "s";
    if (argument.size() > max_width && conversion.flags.empty()) return std::string(argument);
    if (argument.size() > max_width) return std::nullopt;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), std::string(argument).c_str());
  } else if (std::string_view("dixXo").find(conversion.kind) != std::string_view::npos) {
    // Like bash, uses the digits at the start of the argument.
    const long long value = std::strtoll(std::string(argument).c_str(), nullptr, 0);
    format += "ll";
    format += conversion.kind;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
  } else if (std::string_view("feg").find(conversion.kind) != std::string_view::npos) {
    const std::string copy(argument);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (*end != '\0' || copy.size() > 30) return std::nullopt;
    format += conversion.kind;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
  }
  if (length < 0 || static_cast<std::size_t>(length) >= buffer.size()) return std::nullopt;
  buffer.resize(static_cast<std::size_t>(length));
  return buffer;
}

/// Applies the format once. Returns false if a part of it is not supported.
bool format_once(std::string_view format, const std::vector<Word>& words, std::size_t& next, Text& result) {
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] == '\\') {
      std::string character;
      at += unescape(format.substr(at), character);
      append(result, character);
      continue;
    }
    if (format[at] != '%') {
      append(result, format.substr(at++, 1));
      continue;
    }
    ++at;
    const std::optional<Conversion> conversion = parse_conversion(format, at);
    if (!conversion) return false;
    if (conversion->kind == '%') {
      append(result, "%");
      continue;
    }
    const Text argument = next < words.size() ? words[next].text : Text();
    ++next;
    if (conversion->kind == 's' && conversion->flags.empty()) {
      append(result, argument);
      continue;
    }
    if (!is_known(argument)) {
      append(result, text_of(first_unknown(argument)));
      continue;
    }
    if (conversion->kind == 'b') {
      const std::string_view text = characters(argument);
      std::string plain;
      for (std::size_t i = 0; i < text.size();)
        if (text[i] == '\\')
          i += unescape(text.substr(i), plain);
        else
          plain += text[i++];
      append(result, plain);
      continue;
    }
    const std::optional<std::string> text = formatted(*conversion, characters(argument));
    if (!text) return false;
    append(result, *text);
  }
  return true;
}

std::optional<std::int64_t> sequence_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || std::abs(value) > 1'000'000'000) return std::nullopt;
  return value;
}

std::optional<Text> format_words(Shell& shell, const std::vector<Word>& words, const Place& place) {
  if (words.empty()) return Text();
  for (const Word& word : words)
    if (word.condition) return std::nullopt;
  if (!is_known(words.front().text)) return std::nullopt;
  const std::string_view format = characters(words.front().text);
  Text result;
  std::size_t next = 1;
  do {
    const std::size_t before = next;
    if (!format_once(format, words, next, result)) return std::nullopt;
    if (!spend(shell, place, 1, static_cast<std::int64_t>(format.size()))) return std::nullopt;
    if (next == before) break;
  } while (next < words.size());
  return result;
}

std::optional<std::string> sequence(Shell& shell, const std::vector<Word>& words, const Place& place) {
  std::string separator = "\n";
  std::vector<std::int64_t> numbers;
  bool pads = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!is_known(words[i].text) || words[i].condition) return std::nullopt;
    const std::string_view word = characters(words[i].text);
    if (word == "-s" && i + 1 < words.size() && is_known(words[i + 1].text)) {
      separator = characters(words[++i].text);
    } else if (word == "-w") {
      pads = true;
    } else if (const std::optional<std::int64_t> number = sequence_number(word)) {
      numbers.push_back(*number);
    } else {
      return std::nullopt;
    }
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
  const std::int64_t step = numbers.size() > 2 ? numbers[1] : 1;
  const std::int64_t last = numbers.back();
  if (step == 0) return std::nullopt;
  const std::size_t width = std::max(std::to_string(first).size(), std::to_string(last).size());
  std::string result;
  for (std::int64_t value = first; step > 0 ? value <= last : value >= last; value += step) {
    std::string number = std::to_string(std::abs(value));
    const std::size_t sign = value < 0 ? 1 : 0;
    if (pads && number.size() + sign < width) number.insert(0, width - number.size() - sign, '0');
    if (!result.empty()) result += separator;
    result += (sign > 0 ? "-" : "") + number;
    if (!spend(shell, place, 1, static_cast<std::int64_t>(number.size() + separator.size()))) return std::nullopt;
  }
  return result.empty() ? result : result + "\n";
}

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
    // Variables of the environment are already exported.
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

Flow run_declare(Shell& shell, const ShellCall& call) {
  const DeclaredFlags flags = flags_of(shell, call);
  shell.state.status = {};
  if (flags.only_prints) return not_computed(shell, call, "the output of `declare`");
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
    // The value is expanded before a local variable hides an outer one of the same name.
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

/// Returns the next line of the input, or nullopt at its end. Everything after an unknown piece is unknown.
std::optional<Text> next_line(Shell& shell, bool& ended) {
  Text& input = *shell.state.input;
  ended = false;
  if (is_empty(input)) return std::nullopt;
  Text line;
  if (!input.pieces.front().unknown) {
    std::string& text = input.pieces.front().text;
    if (const std::size_t end = text.find('\n'); end != std::string::npos) {
      append(line, std::string_view(text).substr(0, end));
      text.erase(0, end + 1);
      if (text.empty()) input.pieces.erase(input.pieces.begin());
      return line;
    }
  }
  line = std::exchange(input, {});
  if (is_known(line)) {
    ended = true;
    return line;
  }
  shell.state.input.reset();
  return text_of(first_unknown(line));
}

Flow run_read(Shell& shell, const ShellCall& call) {
  std::vector<std::string> names;
  bool to_list = false;
  bool reads_all = false;
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    if (word.empty() || word[0] != '-') {
      if (is_variable_name(word)) names.emplace_back(word);
    } else if (word.find('a') != std::string_view::npos) {
      to_list = true;
    } else if (word.ends_with('d')) {
      reads_all = plain(call.words, ++i).empty();
    } else if (word.find_first_of("ptnNu") != std::string_view::npos) {
      ++i;
    }
  }
  if (names.empty()) names.emplace_back("REPLY");
  const Unknown lost{.place = call.place, .what = "the input of `read`", .variable = {}, .many = false};
  bool ended = false;
  std::optional<Text> line;
  if (!shell.state.input)
    line = text_of(lost);
  else if (reads_all)
    line = std::exchange(*shell.state.input, {});
  else
    line = next_line(shell, ended);
  shell.state.status = status_of(line && !ended && !reads_all ? 0 : 1);
  const Text text = line.value_or(Text());
  if (!is_known(text))
    shell.state.status = {.code = 0, .unknown = first_unknown(text), .is_effect = false, .defaulted = {}};
  if (to_list) {
    shell.state.variables[names.front()] = list_variable(split(shell, text, call.place));
    return {};
  }
  std::vector<std::string> fields;
  if (is_known(text) && names.front() != "REPLY") fields = split_off(shell, characters(text), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_whole = !is_known(text) || names.front() == "REPLY";
    assign_text(shell, names[i], is_whole ? text : text_of(i < fields.size() ? fields[i] : ""), call.place);
  }
  return {};
}

Flow run_mapfile(Shell& shell, const ShellCall& call) {
  std::string name(plain(call.words, call.words.size() - 1));
  if (!is_variable_name(name) || call.words.size() == 1) name = "MAPFILE";
  Words lines;
  bool ended = false;
  if (!shell.state.input) {
    lines.push_back(
        {.text = text_of(Unknown{.place = call.place, .what = "the input of `mapfile`", .variable = {}, .many = true}),
         .place = call.place,
         .condition = {}});
  } else {
    while (shell.state.input && spend(shell, call.place, 1)) {
      std::optional<Text> line = next_line(shell, ended);
      if (!line) break;
      if (!is_known(*line)) line->pieces.front().unknown->many = true;
      lines.push_back({.text = std::move(*line), .place = call.place, .condition = {}});
    }
  }
  shell.state.variables[name] = list_variable(std::move(lines));
  return done(shell);
}

using BuiltinFlow = Flow::Kind;

std::optional<int> number_of(const Words& words, std::size_t at) {
  const std::string_view text = plain(words, at);
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Joins the words with blanks.
Text joined_words(const Words& words, std::size_t first) {
  Text text;
  for (std::size_t i = first; i < words.size(); ++i) {
    if (i > first) append(text, " ");
    append(text, words[i].condition ? text_of(*words[i].condition) : words[i].text);
  }
  return text;
}

Flow run_noop(Shell& shell, const ShellCall&) { return done(shell); }
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
    const Words format{{.text = text_of("%b"), .place = call.place, .condition = {}},
                       {.text = text, .place = call.place, .condition = {}}};
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
    text = text_of(Unknown{.place = call.place, .what = "the output of `printf`", .variable = {}, .many = false});
  if (!assigns)
    write(shell, *text);
  else if (is_variable_name(plain(call.words, 2)))
    assign_text(shell, std::string(plain(call.words, 2)), *text, call.place);
  return done(shell);
}

/// Runs `cat` or `tee` on the known input.
Flow run_cat(Shell& shell, const ShellCall& call) {
  const bool copies = call.words.size() == 1 || (call.words.size() == 2 && plain(call.words, 1) == "-");
  if (!copies || !shell.state.input) return record_command(shell, call.words);
  if (!shell.outputs.empty()) {
    const Flow flow = record_command(shell, call.words);
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

/// Runs dirname, basename, realpath or readlink -f on known paths.
Flow run_path(Shell& shell, const ShellCall& call) {
  Words operands;
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    if (word.size() < 2 || word[0] != '-') operands.push_back(call.words[i]);
  }
  const std::string_view name = plain(call.words, 0);
  const Text& here = shell.state.directory;
  const bool is_base = name == "basename";
  if (operands.empty() || operands.size() > (is_base ? 2U : 1U)) return record_command(shell, call.words);
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
  if (!text) return record_command(shell, call.words);
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
  shell.newly_required.clear();
  if (!shell.decisions.empty())
    for (const std::string& variable : shell.decisions.back().defaulted)
      shell.newly_required.push_back({.name = variable, .place = call.place});
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
      record_command(shell, Words(call.words.begin() + static_cast<std::ptrdiff_t>(at), call.words.end()));
    shell.exit_place = call.place;
    shell.state.status = {};
    return {.kind = BuiltinFlow::exited, .levels = 0};
  }
  const std::string_view flag = plain(call.words, 1);
  if (flag == "-v" || flag == "-V")
    return not_computed(shell, call, "the path of " + base::quote(plain(call.words, 2)));
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
      {.name = text, .place = call.place, .reason = first_unknown(text).what + " is unknown"});
  return not_computed(shell, call, "the effect of `eval`");
}

/// Returns the content of a script named by `source`, or an Error that says why it cannot be read.
base::Result<std::string> read_included(const Shell& shell, const Text& name, std::string& path) {
  if (!is_known(name)) return base::bad_input(first_unknown(name).what + " is unknown");
  path = characters(name);
  const Text& here = shell.state.directory;
  if (!path.starts_with('/')) {
    if (is_known(here)) path = join_path(characters(here), path);
  }
  if (!shell.request->read) return base::bad_input("other files are not read");
  return shell.request->read(path);
}

Flow run_source(Shell& shell, const ShellCall& call) {
  if (call.words.size() < 2) return done(shell, 2);
  const Text name = call.words[1].text;
  std::string path;
  const base::Result<std::string> content = read_included(shell, name, path);
  if (!content.ok()) {
    shell.outcome.unread.push_back({.name = name, .place = call.place, .reason = content.error().message});
    return not_computed(shell, call, "the effect of " + base::quote(describe(name)));
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
    {{":", run_noop},          {"true", run_noop},        {"false", run_false},     {"wait", run_noop},
     {"trap", run_noop},       {"ulimit", run_noop},      {"umask", run_noop},      {"shopt", run_noop},
     {"alias", run_noop},      {"unalias", run_noop},     {"hash", run_noop},       {"jobs", run_noop},
     {"disown", run_noop},     {"pushd", run_cd},         {"echo", run_echo},       {"printf", run_printf},
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
