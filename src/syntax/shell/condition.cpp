#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/document.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

ExitStatus known(bool holds) { return {.code = holds ? 0 : 1, .unknown = {}, .is_effect = false, .defaulted = {}}; }

ExitStatus not_known(Unknown unknown) {
  return {.code = 1, .unknown = std::move(unknown), .is_effect = false, .defaulted = {}};
}

ExitStatus inverted(ExitStatus status) {
  status.code = status.code == 0 ? 1 : 0;
  return status;
}

ExitStatus with_defaults(ExitStatus status, const std::vector<const Text*>& texts) {
  for (const Text* text : texts)
    status.defaulted.insert(status.defaulted.end(), text->defaulted.begin(), text->defaulted.end());
  return status;
}

ExitStatus both(ExitStatus one, ExitStatus other, bool is_and) {
  const bool decided = !one.unknown && (one.code == 0) != is_and;
  if (decided) return one;
  const bool other_decides = !other.unknown && (other.code == 0) != is_and;
  ExitStatus status = other_decides || !one.unknown ? other : one;
  status.defaulted.insert(status.defaulted.end(), one.defaulted.begin(), one.defaulted.end());
  status.defaulted.insert(status.defaulted.end(), other.defaulted.begin(), other.defaulted.end());
  return status;
}

ExitStatus is_filled(const Text& text, bool filled) {
  if (is_known(text)) return known(is_empty(text) != filled);
  return has_characters(text) ? known(filled) : not_known(first_unknown(text));
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool holds(std::string_view operation, std::int64_t a, std::int64_t b) {
  if (operation == "-eq") return a == b;
  if (operation == "-ne") return a != b;
  if (operation == "-lt") return a < b;
  if (operation == "-le") return a <= b;
  if (operation == "-gt") return a > b;
  return a >= b;
}

bool is_of_numbers(std::string_view operation) {
  return operation == "-eq" || operation == "-ne" || operation == "-lt" || operation == "-le" || operation == "-gt" ||
         operation == "-ge";
}

/// Returns whether a variable or an array element is set.
ExitStatus is_variable_set(Shell& shell, const Text& name, const Place& place) {
  if (!is_known(name)) return not_known(first_unknown(name));
  const std::string text(characters(name));
  const Variable* variable = find_variable(shell, text);
  if (!variable && is_variable_name(text)) {
    ExitStatus status = known(false);
    status.defaulted.push_back(text);
    return status;
  }
  if (!variable)
    return not_known({.place = place, .what = "whether `" + text + "` is set", .variable = {}, .many = false});
  return known(variable->kind != Variable::Kind::unset && variable->indexed.contains(0));
}

ExitStatus unary(Shell& shell, const std::string& operation, const Text& text, const Place& place) {
  if (operation == "-z" || operation == "-n") return with_defaults(is_filled(text, operation == "-n"), {&text});
  if (operation == "-v") return is_variable_set(shell, text, place);
  if (is_known(text) && is_empty(text)) return with_defaults(known(false), {&text});
  if (operation == "-t")
    return not_known({.place = place, .what = "whether there is a terminal", .variable = {}, .many = false});
  Unknown unknown{.place = place,
                  .what = "the result of the test " + base::quote(operation + " " + describe(text)),
                  .variable = {},
                  .many = false};
  return with_defaults(not_known(std::move(unknown)), {&text});
}

ExitStatus compare_numbers(Shell& shell, const std::string& operation, const Text& left, const Text& right,
                           bool computes, const Place& place) {
  ArithmeticValue a;
  ArithmeticValue b;
  if (computes) {
    a = compute(shell, left, place);
    b = compute(shell, right, place);
  } else {
    for (const auto& [text, value] : {std::pair(&left, &a), std::pair(&right, &b)}) {
      if (!is_known(*text)) {
        value->unknown = first_unknown(*text);
        continue;
      }
      const std::optional<std::int64_t> number = integer_of(characters(*text));
      if (!number)
        return with_defaults({.code = 2, .unknown = {}, .is_effect = false, .defaulted = {}}, {&left, &right});
      value->value = *number;
    }
  }
  if (a.unknown) return not_known(*a.unknown);
  if (b.unknown) return not_known(*b.unknown);
  return with_defaults(known(holds(operation, a.value, b.value)), {&left, &right});
}

ExitStatus compare_texts(const std::string& operation, const Text& left, const Text& right) {
  if (!is_known(left)) return not_known(first_unknown(left));
  if (!is_known(right)) return not_known(first_unknown(right));
  const std::string_view a = characters(left);
  const std::string_view b = characters(right);
  const bool holds = operation == "<" ? a < b : operation == ">" ? a > b : (a == b) == (operation != "!=");
  return with_defaults(known(holds), {&left, &right});
}

ExitStatus match(Shell& shell, const TestTree& tree, const Text& left) {
  const bool is_regex = tree.operation == "=~";
  const Place& place = tree.words[1].place;
  const Text right = expand_pattern(shell, tree.words[1].parts, is_regex);
  if (!is_known(left)) return not_known(first_unknown(left));
  if (!is_known(right)) return not_known(first_unknown(right));
  if (!spend(shell, place, 1 + static_cast<std::int64_t>(size_of(left) * (1 + size_of(right) / 16) / 64)))
    return known(false);
  if (!is_regex) {
    const bool matches = matches_pattern(characters(right), characters(left));
    return with_defaults(known(matches == (tree.operation != "!=")), {&left, &right});
  }
  const auto groups = find_regex(std::string(characters(right)), std::string(characters(left)));
  if (!groups)
    return not_known({.place = place, .what = "the match of a regular expression", .variable = {}, .many = false});
  std::vector<Word> words;
  for (const std::string& group : *groups) words.push_back({.text = text_of(group), .place = place, .condition = {}});
  shell.state.variables["BASH_REMATCH"] = list_variable(std::move(words));
  return with_defaults(known(!groups->empty()), {&left, &right});
}

/// Evaluates `test` and `[`, by the rules of POSIX for up to four words, and with -a and -o for more.
class TestReader {
 public:
  TestReader(Shell& shell, const std::vector<Word>& words, const Place& place)
      : shell_(shell), words_(words), place_(place) {}

  ExitStatus read() {
    ExitStatus status = either_of();
    if (at_ < words_.size() && !status.unknown) return {.code = 2, .unknown = {}, .is_effect = false, .defaulted = {}};
    return status;
  }

 private:
  std::string_view plain(std::size_t at) const {
    return at < words_.size() && is_known(words_[at].text) ? characters(words_[at].text) : std::string_view();
  }
  ExitStatus either_of() {
    const ShellDepth depth(shell_, place_);
    if (shell_.error) return known(false);
    ExitStatus status = all_of();
    while (plain(at_) == "-o") {
      ++at_;
      status = both(std::move(status), all_of(), false);
    }
    return status;
  }
  ExitStatus all_of() {
    ExitStatus status = primary();
    while (plain(at_) == "-a") {
      ++at_;
      status = both(std::move(status), primary(), true);
    }
    return status;
  }
  bool is_binary(std::size_t at) const {
    const std::string_view word = plain(at);
    return at + 1 < words_.size() && (word == "=" || word == "==" || word == "!=" || word == "<" || word == ">" ||
                                      word == "-nt" || word == "-ot" || word == "-ef" || is_of_numbers(word));
  }
  ExitStatus primary() {
    const ShellDepth depth(shell_, place_);
    if (shell_.error || at_ >= words_.size()) return {.code = 1, .unknown = {}, .is_effect = false, .defaulted = {}};
    const std::string word(plain(at_));
    if (is_binary(at_ + 1)) return binary();
    if (word == "!" && at_ + 1 < words_.size()) {
      ++at_;
      return inverted(primary());
    }
    if (word == "(" && at_ + 1 < words_.size()) {
      ++at_;
      ExitStatus status = either_of();
      if (plain(at_) == ")") ++at_;
      return status;
    }
    if (word.size() == 2 && word[0] == '-' && at_ + 1 < words_.size() && plain(at_ + 1) != "-a" &&
        plain(at_ + 1) != "-o") {
      at_ += 2;
      return unary(shell_, word, words_[at_ - 1].text, place_);
    }
    ++at_;
    return with_defaults(is_filled(words_[at_ - 1].text, true), {&words_[at_ - 1].text});
  }
  ExitStatus binary() {
    const Text& left = words_[at_].text;
    const std::string operation(plain(at_ + 1));
    const Text& right = words_[at_ + 2].text;
    at_ += 3;
    if (is_of_numbers(operation)) return compare_numbers(shell_, operation, left, right, false, place_);
    if (operation == "-nt" || operation == "-ot" || operation == "-ef")
      return not_known({.place = place_, .what = "the result of comparing two files", .variable = {}, .many = false});
    return compare_texts(operation, left, right);
  }

  Shell& shell_;
  const std::vector<Word>& words_;
  Place place_;
  std::size_t at_ = 0;
};

}  // namespace

ExitStatus test_words(Shell& shell, const std::vector<Word>& words, const Place& place) {
  for (const Word& word : words) {
    if (word.condition) return not_known(*word.condition);
    if (!is_known(word.text) && first_unknown(word.text).many && !has_characters(word.text) && words.size() > 2)
      return not_known(first_unknown(word.text));
  }
  return TestReader(shell, words, place).read();
}

ExitStatus test_tree(Shell& shell, const TestTree& tree) {
  if (shell.error) return known(false);
  if (tree.operation == "!") return inverted(test_tree(shell, tree.operands.front()));
  if (!tree.operands.empty()) {
    const bool is_and = tree.operation == "&&";
    ExitStatus one = test_tree(shell, tree.operands.front());
    if (!one.unknown && (one.code == 0) != is_and) return one;
    return both(std::move(one), test_tree(shell, tree.operands.back()), is_and);
  }
  const Place& place = tree.words.front().place;
  const Text left = expand_text(shell, tree.words.front().parts);
  if (tree.words.size() == 1) return unary(shell, tree.operation, left, place);
  if (tree.operation == "=~" || tree.operation == "==" || tree.operation == "=" || tree.operation == "!=")
    return match(shell, tree, left);
  const Text right = expand_text(shell, tree.words[1].parts);
  if (is_of_numbers(tree.operation)) return compare_numbers(shell, tree.operation, left, right, true, place);
  if (tree.operation == "<" || tree.operation == ">") return compare_texts(tree.operation, left, right);
  return not_known({.place = place, .what = "the result of comparing two files", .variable = {}, .many = false});
}

}  // namespace dovetail::syntax
