#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "base/document.h"
#include "syntax/shell/parser.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

struct BinaryOperator {
  std::string_view text;
  int level;
};
/// Operators that start with another operator come before it.
constexpr std::array<BinaryOperator, 19> binary_operators{{{"**", 11},
                                                           {"<<", 8},
                                                           {">>", 8},
                                                           {"<=", 7},
                                                           {">=", 7},
                                                           {"==", 6},
                                                           {"!=", 6},
                                                           {"&&", 2},
                                                           {"||", 1},
                                                           {"*", 10},
                                                           {"/", 10},
                                                           {"%", 10},
                                                           {"+", 9},
                                                           {"-", 9},
                                                           {"<", 7},
                                                           {">", 7},
                                                           {"&", 5},
                                                           {"^", 4},
                                                           {"|", 3}}};

/// Evaluates an expression. Integers have 64 bits and wrap, as in bash.
class ArithmeticReader {
 public:
  ArithmeticReader(Shell& shell, std::string_view text, const Place& place)
      : shell_(shell), text_(text), place_(place) {}

  ArithmeticValue read() {
    skip();
    if (at_ == text_.size()) return {};
    const ArithmeticValue value = comma();
    skip();
    if (at_ < text_.size()) fault("has unexpected text after its end");
    return value;
  }

 private:
  void fault(std::string_view what) {
    fail(shell_, place_, "the expression " + base::quote(text_) + " " + std::string(what));
    at_ = text_.size();
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }

  ArithmeticValue comma() {
    ArithmeticValue value = ternary();
    while (take(",")) value = ternary();
    return value;
  }

  ArithmeticValue ternary() {
    const ShellDepth depth(shell_, place_);
    if (shell_.error) return {};
    ArithmeticValue condition = binary(1);
    if (!take("?")) return condition;
    const int before = skipped_;
    const bool both = condition.unknown.has_value();
    skipped_ += both || condition.value != 0 ? 0 : 1;
    conditional_ += both ? 1 : 0;
    const ArithmeticValue yes = ternary();
    skipped_ = before;
    if (!take(":")) fault("has no `:` after `?`");
    skipped_ += both || condition.value == 0 ? 0 : 1;
    const ArithmeticValue no = ternary();
    skipped_ = before;
    conditional_ -= both ? 1 : 0;
    if (both) return condition;
    return condition.value != 0 ? yes : no;
  }

  const BinaryOperator* next_operator() {
    skip();
    for (const BinaryOperator& operation : binary_operators) {
      const std::string_view rest = text_.substr(at_);
      if (!rest.starts_with(operation.text)) continue;
      // Operators such as `+=` were already read with the operand before them.
      return &operation;
    }
    return nullptr;
  }

  ArithmeticValue binary(int level) {
    const ShellDepth depth(shell_, place_);
    ArithmeticValue left = unary();
    for (const BinaryOperator* operation = next_operator(); operation && operation->level >= level && !shell_.error;
         operation = next_operator()) {
      at_ += operation->text.size();
      const bool is_and = operation->text == "&&";
      const bool is_logical = is_and || operation->text == "||";
      const bool decided = is_logical && !left.unknown && (left.value != 0) != is_and;
      const bool is_conditional = is_logical && left.unknown;
      skipped_ += decided ? 1 : 0;
      conditional_ += is_conditional ? 1 : 0;
      const ArithmeticValue right = binary(operation->text == "**" ? operation->level : operation->level + 1);
      skipped_ -= decided ? 1 : 0;
      conditional_ -= is_conditional ? 1 : 0;
      left = decided ? ArithmeticValue{.value = left.value != 0 ? 1 : 0, .unknown = {}}
                     : apply(operation->text, left, right);
    }
    return left;
  }

  ArithmeticValue apply(std::string_view operation, const ArithmeticValue& left, const ArithmeticValue& right) {
    const bool divides = operation == "/" || operation == "%";
    if (divides && !right.unknown && right.value == 0) {
      if (skipped_ > 0 || conditional_ > 0) return {};
      fault("divides by zero");
      return {};
    }
    if (left.unknown) return left;
    if (right.unknown) return right;
    const auto a = static_cast<std::uint64_t>(left.value);
    const auto b = static_cast<std::uint64_t>(right.value);
    const auto number = [](std::uint64_t value) {
      return ArithmeticValue{.value = static_cast<std::int64_t>(value), .unknown = {}};
    };
    if (operation == "+") return number(a + b);
    if (operation == "-") return number(a - b);
    if (operation == "*") return number(a * b);
    if (divides) {
      if (right.value == -1) return number(operation == "/" ? 0 - a : 0);
      return {.value = operation == "/" ? left.value / right.value : left.value % right.value, .unknown = {}};
    }
    if (operation == "**") return power(left.value, right.value);
    if (operation == "<<") return number(a << (b & 63));
    if (operation == ">>") return {.value = left.value >> (b & 63), .unknown = {}};
    if (operation == "&") return number(a & b);
    if (operation == "|") return number(a | b);
    if (operation == "^") return number(a ^ b);
    return {.value = compare(operation, left.value, right.value) ? 1 : 0, .unknown = {}};
  }

  static bool compare(std::string_view operation, std::int64_t a, std::int64_t b) {
    if (operation == "<") return a < b;
    if (operation == ">") return a > b;
    if (operation == "<=") return a <= b;
    if (operation == ">=") return a >= b;
    if (operation == "==") return a == b;
    if (operation == "!=") return a != b;
    return operation == "&&" ? a != 0 && b != 0 : a != 0 || b != 0;
  }

  ArithmeticValue power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) {
      if (skipped_ == 0) fault("has a negative exponent");
      return {};
    }
    std::uint64_t result = 1;
    auto factor = static_cast<std::uint64_t>(base);
    for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left >>= 1) {
      if ((left & 1) != 0) result *= factor;
      factor *= factor;
    }
    return {.value = static_cast<std::int64_t>(result), .unknown = {}};
  }

  ArithmeticValue unary() {
    const ShellDepth depth(shell_, place_);
    if (shell_.error) return {};
    for (const std::string_view step : {"++", "--"}) {
      skip();
      if (!text_.substr(at_).starts_with(step)) continue;
      const std::size_t name = text_.find_first_not_of(" \t\n", at_ + 2);
      if (name == std::string_view::npos || !is_name_character(text_[name], false)) continue;
      at_ = name;
      return stepped(step == "++" ? 1 : -1, true);
    }
    if (take("!")) {
      ArithmeticValue value = unary();
      value.value = value.value == 0 ? 1 : 0;
      return value;
    }
    for (const char sign : {'-', '+', '~'}) {
      if (!take(std::string_view(&sign, 1))) continue;
      ArithmeticValue value = unary();
      const auto bits = static_cast<std::uint64_t>(value.value);
      value.value = static_cast<std::int64_t>(sign == '-' ? 0 - bits : sign == '~' ? ~bits : bits);
      return value;
    }
    return primary();
  }

  ArithmeticValue primary() {
    if (take("(")) {
      const ArithmeticValue value = comma();
      if (!take(")")) fault("has no closing `)`");
      return value;
    }
    skip();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number();
    if (at_ < text_.size() && is_name_character(text_[at_], false)) return stepped(0, false);
    fault("has no operand where one is needed");
    return {};
  }

  ArithmeticValue number() {
    std::size_t end = at_;
    while (end < text_.size() && (is_name_character(text_[end], true) || text_[end] == '#')) ++end;
    std::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (const std::size_t mark = digits.find('#'); mark != std::string_view::npos) {
      const auto [last, code] = std::from_chars(digits.data(), digits.data() + mark, base);
      if (code != std::errc() || base < 2 || base > 36) base = 0;
      digits.remove_prefix(mark + 1);
    } else if (digits.size() > 1 && digits.front() == '0') {
      base = 8;
    }
    std::uint64_t value = 0;
    bool valid = base != 0 && !digits.empty();
    for (const char c : digits) {
      const auto byte = static_cast<unsigned char>(c);
      const int digit = std::isdigit(byte) != 0   ? c - '0'
                        : std::isalpha(byte) != 0 ? std::tolower(byte) - 'a' + 10
                                                  : 99;
      valid = valid && digit < base;
      value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit);
    }
    if (!valid) fault("has an invalid number");
    return {.value = static_cast<std::int64_t>(value), .unknown = {}};
  }

  /// Evaluates a variable with its assignment operator: `x`, `x++`, `x += 2`, `a[i]`. `before` is set for `++x`.
  ArithmeticValue stepped(int step, bool before) {
    skip();
    std::string name;
    while (at_ < text_.size() && is_name_character(text_[at_], true)) name += text_[at_++];
    std::optional<std::int64_t> index;
    std::optional<Unknown> lost;
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const ArithmeticValue value = comma();
      if (!take("]")) fault("has no closing `]`");
      index = value.value;
      lost = value.unknown;
    }
    if (before) {
      const ArithmeticValue value = apply("+", value_of(name, index, lost), {.value = step, .unknown = {}});
      store(name, index, value);
      return value;
    }
    for (const std::string_view operation : {"++", "--"}) {
      if (!take(operation)) continue;
      const ArithmeticValue value = value_of(name, index, lost);
      store(name, index, apply("+", value, {.value = operation == "++" ? 1 : -1, .unknown = {}}));
      return value;
    }
    skip();
    for (const std::string_view operation : {"<<", ">>", "*", "/", "%", "+", "-", "&", "^", "|"}) {
      if (!text_.substr(at_).starts_with(std::string(operation) + "=")) continue;
      at_ += operation.size() + 1;
      const ArithmeticValue right = ternary();
      const ArithmeticValue value = apply(operation, value_of(name, index, lost), right);
      store(name, index, value);
      return value;
    }
    if (next_is('=') && !text_.substr(at_).starts_with("==")) {
      ++at_;
      const ArithmeticValue value = ternary();
      store(name, index, value);
      return value;
    }
    return value_of(name, index, lost);
  }

  ArithmeticValue value_of(const std::string& name, std::optional<std::int64_t> index,
                           const std::optional<Unknown>& lost) {
    if (lost) return {.value = 0, .unknown = lost};
    if (skipped_ > 0) return {};
    WordPart part;
    part.kind = WordPart::Kind::parameter;
    part.place = place_;
    part.text = name;
    if (index) {
      part.subscript.emplace_back();
      part.subscript.back().emplace_back();
      part.subscript.back().back().text = std::to_string(*index);
    }
    const ParameterValue value = parameter_value(shell_, part);
    return compute(shell_, value.words.empty() ? Text() : value.words.front().text, place_);
  }

  void store(const std::string& name, std::optional<std::int64_t> index, ArithmeticValue value) {
    if (skipped_ > 0 || shell_.error) return;
    if (conditional_ > 0)
      value.unknown =
          Unknown{.place = place_, .what = "the value of " + base::quote(name), .variable = name, .many = false};
    if (!index) return assign_text(shell_, name, to_text(value), place_);
    Variable& variable = shell_.state.variables[name];
    if (variable.kind != Variable::Kind::associative) variable.kind = Variable::Kind::indexed;
    variable.indexed[*index] = {.text = to_text(value), .place = place_, .condition = {}};
  }

  Shell& shell_;
  std::string_view text_;
  Place place_;
  std::size_t at_ = 0;
  int skipped_ = 0;
  int conditional_ = 0;
};

}  // namespace

ArithmeticValue compute(Shell& shell, const Text& expression, const Place& place) {
  const ShellDepth depth(shell, place);
  if (shell.error || !spend(shell, place, 1)) return {};
  if (!is_known(expression)) return {.value = 0, .unknown = first_unknown(expression)};
  ArithmeticReader reader(shell, characters(expression), place);
  return reader.read();
}

Text to_text(const ArithmeticValue& value) {
  return value.unknown ? text_of(*value.unknown) : text_of(std::to_string(value.value));
}

}  // namespace dovetail::syntax
