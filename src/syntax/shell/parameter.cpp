#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

/// Variables that are set in every environment.
constexpr std::array<std::string_view, 17> always_set{
    "HOME", "USER", "PATH", "SHELL",   "LOGNAME",      "HOSTNAME", "TERM", "LANG",        "RANDOM",
    "UID",  "EUID", "PPID", "SECONDS", "EPOCHSECONDS", "OSTYPE",   "BASH", "BASH_VERSION"};

/// Value of a parameter before its operation is applied.
struct BaseValue {
  ParameterValue value;
  bool is_set = true;
  bool is_absent = false;  ///< not set by the script or the given environment
  std::string name;        ///< name of the variable; empty for special parameters
};

Word word_at(Text text, const Place& place) { return {.text = std::move(text), .place = place, .condition = {}}; }

Word unknown_word(const Place& place, std::string what) {
  return word_at(text_of(Unknown{.place = place, .what = std::move(what), .variable = {}, .many = false}), place);
}

/// Returns the text of a word, which is unknown if the word is conditional.
Text known_text(const Word& word) { return word.condition ? text_of(*word.condition) : word.text; }

bool may_be_many(const Word& word) { return word.condition || (!is_known(word.text) && first_unknown(word.text).many); }

/// Returns the reason why the number of words is unknown, or nullopt if it is known.
std::optional<Unknown> unknown_count(const std::vector<Word>& words) {
  for (const Word& word : words)
    if (may_be_many(word)) return word.condition ? *word.condition : first_unknown(word.text);
  return std::nullopt;
}

Word count_of(const std::vector<Word>& words, const Place& place) {
  const std::optional<Unknown> unknown = unknown_count(words);
  return word_at(unknown ? text_of(*unknown) : text_of(std::to_string(words.size())), place);
}

/// Returns element `index` of a list. It is unknown if the presence of an earlier element is unknown.
Word element_at(const Variable& variable, std::int64_t index, const Place& place) {
  if (index < 0 && !variable.indexed.empty()) index += variable.indexed.rbegin()->first + 1;
  for (const auto& [at, word] : variable.indexed) {
    if (at > index) break;
    if (variable.kind == Variable::Kind::indexed && may_be_many(word))
      return word_at(word.condition ? text_of(*word.condition) : word.text, place);
    if (at == index) return word;
  }
  return word_at({}, place);
}

bool is_all(const WordParts& subscript) {
  return subscript.size() == 1 && !subscript[0].quoted && (subscript[0].text == "@" || subscript[0].text == "*") &&
         subscript[0].kind == WordPart::Kind::text;
}

BaseValue special_value(Shell& shell, const WordPart& part) {
  BaseValue base;
  const auto& parameters = shell.state.parameters;
  const char c = part.text.front();
  if (c == '@' || c == '*') {
    base.value = {.is_list = true, .is_joined = c == '*', .words = parameters};
    base.is_set = !parameters.empty();
  } else if (c == '#') {
    base.value.words.push_back(count_of(parameters, part.place));
  } else if (c == '?') {
    const ExitStatus& status = shell.state.status;
    base.value.words.push_back(
        word_at(status.unknown ? text_of(*status.unknown) : text_of(std::to_string(status.code)), part.place));
  } else if (part.text == "0") {
    base.value.words.push_back(word_at(text_of(shell.request->path), part.place));
  } else if (c >= '1' && c <= '9') {
    const std::size_t index = part.text.size() > 4 ? parameters.size() + 1 : std::stoul(part.text);
    base.is_set = index <= parameters.size();
    Variable list;
    for (std::size_t i = 0; i < parameters.size() && i < index; ++i)
      list.indexed[static_cast<std::int64_t>(i)] = parameters[i];
    list.kind = Variable::Kind::indexed;
    base.value.words.push_back(element_at(list, static_cast<std::int64_t>(index) - 1, part.place));
  } else {
    base.value.words.push_back(unknown_word(part.place, "`$" + part.text + "`"));
  }
  return base;
}

std::optional<Text> computed_variable(const Shell& shell, const WordPart& part) {
  if (part.text == "PWD") return shell.state.directory;
  if (part.text == "LINENO") return text_of(std::to_string(part.place.line));
  if (part.text == "BASH_SOURCE") return text_of(shell.outcome.sources[static_cast<std::size_t>(shell.source)]);
  return std::nullopt;
}

BaseValue variable_value(Shell& shell, const WordPart& part) {
  BaseValue base;
  base.name = part.text;
  const Variable* variable = find_variable(shell, part.text);
  if (!variable) {
    if (std::optional<Text> text = computed_variable(shell, part)) {
      base.value.words.push_back(word_at(std::move(*text), part.place));
      return base;
    }
    base.is_absent = true;
    base.is_set = std::find(always_set.begin(), always_set.end(), part.text) != always_set.end();
    base.value.words.push_back(word_at(unset_text(shell, part.text, part.place), part.place));
    return base;
  }
  if (part.subscript.empty()) {
    base.value.words.push_back(element_at(*variable, 0, part.place));
    base.is_set = variable->indexed.contains(0);
  } else if (is_all(part.subscript.front())) {
    base.value = {.is_list = true, .is_joined = part.subscript.front()[0].text == "*", .words = elements_of(*variable)};
    base.is_set = !base.value.words.empty();
  } else if (variable->kind == Variable::Kind::associative) {
    const Variable copy = *variable;
    const Text key = expand_text(shell, part.subscript.front());
    const auto found = is_known(key) ? copy.associative.find(std::string(characters(key))) : copy.associative.end();
    base.is_set = found != copy.associative.end();
    base.value.words.push_back(!is_known(key) ? word_at(key, part.place)
                               : base.is_set  ? found->second
                                              : word_at({}, part.place));
  } else {
    const Variable copy = *variable;
    const ArithmeticValue index = compute(shell, expand_text(shell, part.subscript.front()), part.place);
    base.is_set = !index.unknown && copy.indexed.contains(index.value);
    base.value.words.push_back(index.unknown ? word_at(text_of(*index.unknown), part.place)
                                             : element_at(copy, index.value, part.place));
  }
  return base;
}

BaseValue base_value(Shell& shell, const WordPart& part) {
  const bool is_name = is_variable_name(part.text);
  BaseValue base = is_name ? variable_value(shell, part) : special_value(shell, part);
  if (!base.value.is_list) base.value.words.front().text = known_text(base.value.words.front());
  if (!base.value.is_list) base.value.words.front().condition.reset();
  return base;
}

/// Returns whether the value is unset or, if `counts_empty`, empty. Returns nullopt if that is unknown.
std::optional<bool> is_nothing(const BaseValue& base, bool counts_empty) {
  if (!base.is_set) return true;
  if (!counts_empty) return false;
  bool is_sure = true;
  for (const Word& word : base.value.words) {
    if (has_characters(word.text) && !word.condition) return false;
    is_sure = is_sure && is_known(word.text) && !word.condition;
  }
  if (base.value.words.size() > 1) return false;
  return is_sure ? std::optional(true) : std::nullopt;
}

/// Returns the operand in place of the value. The caller expands and splits an unquoted operand, so "$@" stays a list.
ParameterValue operand_value(Shell& shell, const WordPart& part) {
  if (part.quoted) return {.words = {word_at(expand_text(shell, part.operands.front()), part.place)}};
  return {.words = {}, .operand = &part.operands.front()};
}

void note_default(ParameterValue& value, const BaseValue& base, const Place& place) {
  if (!base.is_absent || base.name.empty()) return;
  if (value.words.empty()) value.words.push_back(word_at({}, place));
  value.words.front().text.defaulted.push_back(base.name);
}

ParameterValue default_value(Shell& shell, const WordPart& part, BaseValue base) {
  const bool counts_empty = part.operation.front() == ':';
  const char kind = part.operation.back();
  const std::optional<bool> nothing = is_nothing(base, counts_empty);
  if (kind == '?') {
    if (nothing.value_or(false) && base.is_absent) {
      // Assume that the user sets the variable.
      base.value.words = {word_at(unset_text(shell, base.name, part.place), part.place)};
      assign_text(shell, base.name, base.value.words.front().text, part.place);
      shell.outcome.required.push_back({.name = base.name, .place = part.place});
    } else if (nothing.value_or(false)) {
      base.value.words = {unknown_word(part.place, "`${" + part.text + part.operation + "}`")};
    }
    return base.value;
  }
  if (kind == '+') {
    ParameterValue empty{.words = {word_at({}, part.place)}};
    if (!nothing) return {.words = {unknown_word(part.place, "`${" + part.text + part.operation + "}`")}};
    ParameterValue value = *nothing ? std::move(empty) : operand_value(shell, part);
    if (*nothing) note_default(value, base, part.place);
    return value;
  }
  if (nothing && !*nothing) return base.value;
  if (!nothing) {
    const Text text = expand_text(shell, part.operands.front());
    const Text& own_text = base.value.words.front().text;
    return {.words = {word_at(either(own_text, text, first_unknown(own_text)), part.place)}};
  }
  if (kind == '=' && !base.name.empty()) {
    const Text text = expand_text(shell, part.operands.front());
    assign_text(shell, base.name, text, part.place);
    return {.words = {word_at(text, part.place)}};
  }
  ParameterValue value = operand_value(shell, part);
  note_default(value, base, part.place);
  return value;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<std::size_t>(base::utf8_length(text), 1));
  return count;
}

std::string changed_case(std::string_view text, std::string_view operation) {
  std::string result(text);
  for (std::size_t i = 0; i < (operation.size() == 2 ? result.size() : std::min<std::size_t>(result.size(), 1)); ++i) {
    const auto c = static_cast<unsigned char>(result[i]);
    result[i] = static_cast<char>(operation.front() == '^' ? std::toupper(c) : std::tolower(c));
  }
  return result;
}

std::string changed(std::string_view text, const std::string& operation, std::string_view pattern,
                    std::string_view replacement) {
  if (operation == "#") return remove_pattern(text, pattern, PatternPlace::min_prefix);
  if (operation == "##") return remove_pattern(text, pattern, PatternPlace::max_prefix);
  if (operation == "%") return remove_pattern(text, pattern, PatternPlace::min_suffix);
  if (operation == "%%") return remove_pattern(text, pattern, PatternPlace::max_suffix);
  if (operation == "/") return replace_pattern(text, pattern, replacement, ReplacePlace::first);
  if (operation == "//") return replace_pattern(text, pattern, replacement, ReplacePlace::all);
  if (operation == "/#") return replace_pattern(text, pattern, replacement, ReplacePlace::prefix);
  if (operation == "/%") return replace_pattern(text, pattern, replacement, ReplacePlace::suffix);
  return changed_case(text, operation);
}

ParameterValue patterned_value(Shell& shell, const WordPart& part, ParameterValue value) {
  const bool is_case = part.operation.front() == '^' || part.operation.front() == ',';
  const Text pattern = part.operands.empty() ? Text() : expand_pattern(shell, part.operands.front());
  const Text replacement = part.operands.size() > 1 ? expand_text(shell, part.operands[1]) : Text();
  for (Word& word : value.words) {
    const auto size = static_cast<std::int64_t>(size_of(word.text));
    const auto work = size * (size + static_cast<std::int64_t>(size_of(pattern)));
    const bool within = spend(shell, part.place, 1 + (is_case ? 0 : work / 256), size);
    if (!within || !is_known(word.text)) continue;
    if (!is_known(pattern) || !is_known(replacement) || (is_case && !is_empty(pattern))) {
      word.text =
          is_known(pattern)
              ? is_known(replacement) ? unknown_word(part.place, "the result of a case conversion").text : replacement
              : pattern;
      continue;
    }
    Text result = text_of(changed(characters(word.text), part.operation, characters(pattern), characters(replacement)));
    result.defaulted = word.text.defaulted;
    word.text = std::move(result);
  }
  return value;
}

ParameterValue sliced_list(ParameterValue value, std::int64_t first, std::int64_t count, bool has_count,
                           bool counts_0) {
  auto size = static_cast<std::int64_t>(value.words.size());
  // `${@:1}` starts with `$1`.
  if (counts_0) first -= first > 0 ? 1 : 0;
  if (first < 0) first += size;
  if (first < 0 || first >= size || count < 0) return {.is_list = true, .is_joined = value.is_joined, .words = {}};
  if (has_count) size = std::min(size, count > size ? size : first + count);
  value.words = std::vector<Word>(value.words.begin() + first, value.words.begin() + size);
  return value;
}

ParameterValue sliced_value(Shell& shell, const WordPart& part, ParameterValue value) {
  const ArithmeticValue first = compute(shell, expand_text(shell, part.operands.front()), part.place);
  const bool has_count = part.operands.size() > 1;
  const ArithmeticValue count =
      has_count ? compute(shell, expand_text(shell, part.operands[1]), part.place) : ArithmeticValue{};
  const std::optional<Unknown> unknown = first.unknown   ? first.unknown
                                         : count.unknown ? count.unknown
                                                         : unknown_count(value.words);
  if (unknown) return {.words = {word_at(text_of(*unknown), part.place)}};
  if (value.is_list)
    return sliced_list(std::move(value), first.value, count.value, has_count, part.text == "@" || part.text == "*");
  Word& word = value.words.front();
  if (!is_known(word.text)) return value;
  const std::string_view text = characters(word.text);
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t begin = first.value < 0 ? std::max<std::int64_t>(first.value + size, -1) : first.value;
  std::int64_t end = size;
  if (has_count) end = count.value < 0 ? size + count.value : count.value > size ? size : begin + count.value;
  end = std::min(end, size);
  Text result;
  if (begin >= 0 && begin < end)
    append(result, text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  result.defaulted = word.text.defaulted;
  word.text = std::move(result);
  return value;
}

ParameterValue length_value(const BaseValue& base, const Place& place) {
  if (base.value.is_list) return {.words = {count_of(base.value.words, place)}};
  const Text& text = base.value.words.front().text;
  if (!is_known(text)) return {.words = {word_at(text, place)}};
  return {.words = {word_at(text_of(std::to_string(count_characters(characters(text)))), place)}};
}

/// Returns the value of `${!name}`, `${!name[@]}` or `${!prefix*}`.
ParameterValue indirect_value(Shell& shell, const WordPart& part) {
  if (part.operation == "*" || part.operation == "@")
    return {.words = {unknown_word(part.place, "the list of matching variable names")}};
  if (!part.subscript.empty() && is_all(part.subscript.front())) {
    ParameterValue keys{.is_list = true, .words = {}};
    const Variable* variable = find_variable(shell, part.text);
    if (!variable) return keys;
    if (const std::optional<Unknown> unknown = unknown_count(elements_of(*variable)))
      return {.words = {word_at(text_of(*unknown), part.place)}};
    for (const auto& [index, word] : variable->indexed)
      keys.words.push_back(word_at(text_of(std::to_string(index)), part.place));
    for (const auto& [key, word] : variable->associative) keys.words.push_back(word_at(text_of(key), part.place));
    return keys;
  }
  WordPart named = part;
  named.prefix = 0;
  named.operation.clear();
  const Text name = base_value(shell, named).value.words.front().text;
  if (!is_known(name)) return {.words = {word_at(name, part.place)}};
  if (!is_variable_name(characters(name))) return {.words = {unknown_word(part.place, "`${!" + part.text + "}`")}};
  named = part;
  named.prefix = 0;
  named.text = characters(name);
  named.subscript.clear();
  return parameter_value(shell, named);
}

}  // namespace

const Variable* find_variable(const Shell& shell, const std::string& name) {
  const auto found = shell.state.variables.find(name);
  return found == shell.state.variables.end() ? nullptr : &found->second;
}

Text unset_text(const Shell&, const std::string& name, const Place& place) {
  return text_of(
      Unknown{.place = place, .what = "environment variable `" + name + "`", .variable = name, .many = false});
}

ParameterValue parameter_value(Shell& shell, const WordPart& part) {
  const ShellDepth depth(shell, part.place);
  if (shell.error) return {.words = {word_at({}, part.place)}};
  if (part.prefix == '!') return indirect_value(shell, part);
  BaseValue base = base_value(shell, part);
  if (part.prefix == '#') return length_value(base, part.place);
  if (part.operation.empty()) {
    if (!base.value.is_list || base.is_set || !base.is_absent) return base.value;
    return {.is_list = true, .words = {}};
  }
  const char last = part.operation.back();
  if (part.operation == ":") return sliced_value(shell, part, std::move(base.value));
  if (last == '-' || last == '=' || last == '?' || last == '+') return default_value(shell, part, std::move(base));
  if (part.operation == "@" || part.operation == "*")
    return {.words = {unknown_word(part.place, "`${" + part.text + "@...}`")}};
  if (!base.is_set) return base.value;
  return patterned_value(shell, part, std::move(base.value));
}

}  // namespace dovetail::syntax
