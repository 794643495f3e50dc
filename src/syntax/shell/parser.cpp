#include "syntax/shell/parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/document.h"

namespace dovetail::syntax {
namespace {

using SyntaxKind = ShellNode::Kind;

constexpr std::array<std::string_view, 8> list_ends{"then", "elif", "else", "fi", "do", "done", "esac", "}"};
constexpr std::array<std::string_view, 8> compounds{"if", "while", "until", "for", "case", "function", "{", "[["};
constexpr std::array<std::string_view, 5> declarations{"export", "declare", "typeset", "local", "readonly"};

template <class List>
bool is_one_of(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Returns the characters of a word, or nullopt if it contains an expansion.
std::optional<std::string> plain_text(const ShellWord& word) {
  std::string text;
  for (const WordPart& part : word.parts) {
    if (part.kind != WordPart::Kind::text) return std::nullopt;
    text += part.text;
  }
  return text;
}

/// Returns the length of a name, optional index and `=` or `+=` at the start of `text`, or 0 if it is not an
/// assignment.
std::size_t assignment_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_name_character(text[at], at > 0)) ++at;
  if (at == 0) return 0;
  if (at < text.size() && text[at] == '[') {
    const std::size_t end = text.substr(0, text.find('\n')).find(']', at);
    if (end == std::string_view::npos) return 0;
    at = end + 1;
  }
  if (at + 1 < text.size() && text[at] == '+' && text[at + 1] == '=') return at + 2;
  return at < text.size() && text[at] == '=' ? at + 1 : 0;
}

/// Returns the length of a placeholder `<NAME>` alone on its line, or 0. The author of the script expects users to
/// replace it; it is not valid bash.
std::size_t placeholder_length(std::string_view text) {
  if (!text.starts_with('<')) return 0;
  std::size_t at = 1;
  while (at < text.size() && (is_name_character(text[at], true) || text[at] == '-')) ++at;
  const bool ends = at > 1 && at < text.size() && text[at] == '>' && (at + 1 == text.size() || text[at + 1] == '\n');
  return ends ? at + 1 : 0;
}

constexpr std::array<std::string_view, 14> condition_operators{"==",  "=",   "!=",  "=~",  "-eq", "-ne", "-lt",
                                                               "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<"};

bool is_unary(std::string_view word) {
  return word.size() == 2 && word[0] == '-' &&
         std::string_view("abcdefghknprstuvwxzGLNORS").find(word[1]) != std::string_view::npos;
}

}  // namespace

ShellNode ShellParser::start(ShellNode::Kind kind) const {
  ShellNode node;
  node.kind = kind;
  node.place = place();
  return node;
}

ShellNode ShellParser::parse_list() {
  const ParserDepth depth(*this);
  ShellNode list = start(SyntaxKind::list);
  for (;;) {
    skip_separators();
    if (at_end() || peek() == ')' || starts_with(";;") || starts_with(";&") || is_one_of(list_ends, peek_plain()))
      return list;
    list.children.push_back(parse_and_or());
    skip_blanks();
    if (peek() == '&' && peek(1) != '&') {
      ++position_;
      list.children.back().in_background = true;
    } else if (peek() == ';' && peek(1) != ';' && peek(1) != '&') {
      ++position_;
    } else if (!at_end() && peek() != '\n' && peek() != ')' && !starts_with(";;") && !starts_with(";&")) {
      fail(place(), fmt::format("unexpected {} after a command; accepted: a new line, or an operator such as `;`",
                                base::quote(rest().substr(0, 1))));
      return list;
    }
  }
}

ShellNode ShellParser::parse_and_or() {
  ShellNode node = start(SyntaxKind::and_or);
  node.children.push_back(parse_pipeline());
  for (;;) {
    skip_blanks();
    if (!starts_with("&&") && !starts_with("||")) break;
    node.operators.emplace_back(rest().substr(0, 2));
    position_ += 2;
    skip_separators();
    node.children.push_back(parse_pipeline());
  }
  if (node.children.size() > 1) return node;
  ShellNode only = std::move(node.children.front());
  return only;
}

ShellNode ShellParser::parse_pipeline() {
  ShellNode node = start(SyntaxKind::pipeline);
  for (;; skip_blanks()) {
    if (take_word("!"))
      node.negated = !node.negated;
    else if (!take_word("time"))
      break;
  }
  for (;;) {
    node.children.push_back(parse_command());
    skip_blanks();
    if (peek() != '|' || peek(1) == '|') break;
    position_ += peek(1) == '&' ? std::size_t{2} : std::size_t{1};
    skip_separators();
  }
  if (node.children.size() > 1 || node.negated) return node;
  ShellNode only = std::move(node.children.front());
  return only;
}

ShellNode ShellParser::parse_command() {
  const ParserDepth depth(*this);
  const std::string_view word = peek_plain();
  ShellNode node;
  if (starts_with("((")) {
    const std::size_t before = position_;
    node = start(SyntaxKind::arithmetic);
    position_ += 2;
    node.expressions.push_back(parse_expression("))"));
    if (take("))")) {
      parse_redirections(node);
      return node;
    }
    if (error_) return node;
    position_ = before;
  }
  if (peek() == '(' && !at_end()) {
    node = start(SyntaxKind::subshell);
    ++position_;
    node.children.push_back(parse_list());
    if (!take(")")) fail(node.place, "`(` is not closed; accepted: `(COMMANDS)`");
  } else if (is_one_of(compounds, word)) {
    node = parse_compound(word);
    if (node.kind == SyntaxKind::function) return node;
  } else {
    return parse_simple();
  }
  parse_redirections(node);
  return node;
}

ShellNode ShellParser::parse_compound(std::string_view word) {
  if (word == "[[") return parse_test();
  const Place here = place();
  position_ += word.size();
  ShellNode node;
  if (word == "if") {
    node = parse_conditional();
  } else if (word == "while" || word == "until") {
    node = parse_loop(word == "until");
  } else if (word == "for") {
    node = parse_for();
  } else if (word == "case") {
    node = parse_case();
  } else if (word == "function") {
    skip_blanks();
    const ShellWord name = parse_word();
    skip_blanks();
    if (take("(")) {
      skip_blanks();
      if (!take(")")) fail(place(), "unexpected text in `()` of a function; accepted: `function NAME() { ...; }`");
    }
    node = parse_function(plain_text(name).value_or(""), here);
  } else {
    node.kind = SyntaxKind::group;
    node.children.push_back(body_until("}"));
  }
  node.place = here;
  return node;
}

ShellNode ShellParser::body_until(std::string_view word) {
  ShellNode body = parse_list();
  expect_word(word);
  return body;
}

bool ShellParser::take_word(std::string_view word) {
  if (error_ || peek_plain() != word) return false;
  position_ += word.size();
  return true;
}

void ShellParser::expect_word(std::string_view word) {
  if (!error_ && !take_word(word))
    fail(place(), fmt::format("unexpected {}; accepted: `{}`",
                              at_end() ? "end of the script" : "`" + std::string(1, peek()) + "`", word));
}

ShellNode ShellParser::parse_conditional() {
  ShellNode node = start(SyntaxKind::conditional);
  do {
    node.children.push_back(body_until("then"));
    node.children.push_back(parse_list());
  } while (take_word("elif"));
  if (take_word("else")) node.children.push_back(parse_list());
  expect_word("fi");
  return node;
}

ShellNode ShellParser::parse_loop(bool until) {
  ShellNode node = start(SyntaxKind::loop);
  node.negated = until;
  node.children.push_back(body_until("do"));
  node.children.push_back(body_until("done"));
  return node;
}

ShellNode ShellParser::parse_for() {
  ShellNode node = start(SyntaxKind::for_each);
  skip_blanks();
  if (take("((")) return parse_for_arithmetic(std::move(node));
  node.name = plain_text(parse_word()).value_or("");
  if (!is_variable_name(node.name)) fail(node.place, "`for` needs a variable name; accepted: `for NAME in WORDS`");
  skip_separators();
  if (take_word("in")) {
    node.has_words = true;
    for (skip_blanks(); !at_end() && peek() != ';' && peek() != '\n'; skip_blanks()) {
      const std::size_t before = position_;
      node.words.push_back(parse_word());
      if (position_ == before) fail(place(), "unexpected text in `for`; accepted: words, then `;` or a new line");
    }
  }
  take(";");
  skip_separators();
  expect_word("do");
  node.children.push_back(body_until("done"));
  return node;
}

ShellNode ShellParser::parse_for_arithmetic(ShellNode node) {
  node.kind = SyntaxKind::for_arithmetic;
  for (const std::string_view end : {";", ";", "))"}) {
    node.expressions.push_back(parse_expression(end));
    if (!take(end)) fail(node.place, "`for ((` is incomplete; accepted: `for ((i = 0; i < 8; i++))`");
  }
  skip_blanks();
  take(";");
  skip_separators();
  if (take_word("{")) {
    node.children.push_back(body_until("}"));
  } else {
    expect_word("do");
    node.children.push_back(body_until("done"));
  }
  return node;
}

ShellNode ShellParser::parse_case() {
  ShellNode node = start(SyntaxKind::choice);
  skip_blanks();
  node.words.push_back(parse_word());
  skip_separators();
  expect_word("in");
  for (skip_separators(); !at_end() && peek_plain() != "esac"; skip_separators()) parse_arm(node);
  expect_word("esac");
  return node;
}

void ShellParser::parse_arm(ShellNode& node) {
  ShellNode::Arm arm;
  take("(");
  for (;;) {
    skip_blanks();
    arm.patterns.push_back(parse_word());
    skip_blanks();
    if (!take("|")) break;
  }
  if (!take(")")) return fail(place(), "a pattern of `case` is not closed; accepted: `PATTERN)`");
  ShellNode body = parse_list();
  arm.end = ";;";
  for (const std::string_view end : {";;&", ";;", ";&"}) {
    if (!take(end)) continue;
    arm.end = end;
    break;
  }
  node.arms.push_back(std::move(arm));
  node.children.push_back(std::move(body));
}

ShellNode ShellParser::parse_function(std::string name, Place place) {
  const ParserDepth depth(*this);
  ShellNode node;
  node.kind = SyntaxKind::function;
  node.place = place;
  node.name = std::move(name);
  skip_separators();
  if (at_end()) fail(place, "the function has no body; accepted: `NAME() { ...; }`");
  node.children.push_back(parse_command());
  return node;
}

ShellNode ShellParser::parse_simple() {
  ShellNode node = start(SyntaxKind::simple);
  bool declares = false;
  const std::size_t before = position_;
  while (!error_) {
    skip_blanks();
    if (node.words.size() == 1 && node.assignments.empty() && node.redirections.empty() && peek() == '(') {
      ++position_;
      skip_blanks();
      const std::optional<std::string> name = plain_text(node.words.front());
      if (!name || name->empty() || !take(")"))
        fail(place(), "unexpected `(` after a word; accepted: `NAME()` before the body of a function");
      return parse_function(name.value_or(""), node.place);
    }
    if (!parse_simple_part(node, declares)) break;
  }
  if (position_ == before && !error_)
    fail(node.place, fmt::format("unexpected {}; accepted: a command",
                                 at_end() ? "end of the script" : base::quote(rest().substr(0, 1))));
  return node;
}

bool ShellParser::parse_simple_part(ShellNode& node, bool& declares) {
  if (at_end()) return false;
  if (parse_redirection(node)) return true;
  const char c = peek();
  const bool is_process = (c == '<' || c == '>') && peek(1) == '(';
  if (!is_process && std::string_view("\n|&;()<>").find(c) != std::string_view::npos) return false;
  Assignment assignment;
  if ((node.words.empty() || declares) && parse_assignment(assignment)) {
    node.assignments.push_back(std::move(assignment));
    return true;
  }
  node.words.push_back(parse_word());
  if (node.words.size() == 1 && node.assignments.empty())
    declares = is_one_of(declarations, plain_text(node.words.front()).value_or(""));
  return true;
}

bool ShellParser::parse_assignment(Assignment& assignment) {
  const std::string_view text = rest();
  const std::size_t length = assignment_length(text);
  if (length == 0) return false;
  assignment.place = place();
  while (is_name_character(peek(), true)) assignment.name += content_[position_++];
  if (take("[")) {
    assignment.subscript.push_back(parse_until("]", false));
    take("]");
  }
  assignment.adds = take("+");
  if (!take("=")) {
    fail(assignment.place, "an array index is not closed; accepted: `NAME[INDEX]=VALUE`");
    return true;
  }
  if (take("(")) {
    parse_elements(assignment);
  } else if (const std::size_t filled = placeholder_length(rest()); filled > 0) {
    WordPart part;
    part.kind = WordPart::Kind::parameter;
    part.quoted = true;
    part.place = place();
    part.text = assignment.name;
    assignment.value = {.parts = {std::move(part)}, .place = place()};
    position_ += filled;
  } else {
    assignment.value = parse_word();
  }
  return true;
}

void ShellParser::parse_elements(Assignment& assignment) {
  assignment.is_list = true;
  for (skip_separators(); !at_end() && peek() != ')'; skip_separators()) {
    const std::size_t before = position_;
    ArrayElement element;
    if (peek() == '[' && rest_of_line().find("]=") != std::string_view::npos) {
      ++position_;
      element.subscript.push_back(parse_until("]", false));
      if (!take("]=")) return fail(assignment.place, "an array index has no value; accepted: `[INDEX]=VALUE`");
      element.value = parse_word();
    } else {
      element.value = parse_word();
      if (position_ == before)
        return fail(place(), fmt::format("unexpected {} in an array; accepted: words, `[INDEX]=VALUE` and `)`",
                                         base::quote(rest().substr(0, 1))));
    }
    assignment.elements.push_back(std::move(element));
  }
  if (!take(")")) fail(assignment.place, "the array is not closed; accepted: `NAME=(WORDS)`");
}

void ShellParser::parse_redirections(ShellNode& node) {
  do skip_blanks();
  while (!at_end() && parse_redirection(node));
}

bool ShellParser::parse_redirection(ShellNode& node) {
  std::size_t digits = 0;
  while (peek(digits) >= '0' && peek(digits) <= '9' && digits < 4) ++digits;
  if (const std::string_view after = rest().substr(digits);
      after.empty() || (after.front() != '<' && after.front() != '>' && !(digits == 0 && after.starts_with("&>"))))
    return false;
  if (peek(digits + 1) == '(' && digits == 0) return false;
  Redirection redirection;
  if (digits > 0) redirection.descriptor = std::stoi(std::string(rest().substr(0, digits)));
  position_ += digits;
  for (const std::string_view operation : {"<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"}) {
    if (!take(operation)) continue;
    redirection.operation = operation;
    break;
  }
  skip_blanks();
  const std::size_t before = position_;
  redirection.target = parse_word();
  if (position_ == before) fail(place(), "a redirection has no target; accepted: `> FILE`");
  if (redirection.operation == "<<" || redirection.operation == "<<-") {
    bool is_literal = false;
    for (const WordPart& part : redirection.target.parts) is_literal = is_literal || part.quoted;
    redirection.here_document = trees_.here_documents.size();
    trees_.here_documents.emplace_back();
    pending_.push_back({.index = redirection.here_document,
                        .end = plain_text(redirection.target).value_or(""),
                        .strips_tabs = redirection.operation == "<<-",
                        .is_literal = is_literal});
  }
  node.redirections.push_back(std::move(redirection));
  return true;
}

ShellNode ShellParser::parse_test() {
  ShellNode node = start(ShellNode::Kind::test);
  position_ += 2;
  node.test.push_back(parse_test_or());
  skip_separators();
  expect_word("]]");
  return node;
}

TestTree ShellParser::parse_test_or() {
  const ParserDepth depth(*this);
  TestTree tree = parse_test_and();
  for (skip_separators(); take("||"); skip_separators()) {
    TestTree both{.operation = "||", .operands = {}, .words = {}};
    both.operands.push_back(std::move(tree));
    both.operands.push_back(parse_test_and());
    tree = std::move(both);
  }
  return tree;
}

TestTree ShellParser::parse_test_and() {
  TestTree tree = parse_test_primary();
  for (skip_separators(); take("&&"); skip_separators()) {
    TestTree both{.operation = "&&", .operands = {}, .words = {}};
    both.operands.push_back(std::move(tree));
    both.operands.push_back(parse_test_primary());
    tree = std::move(both);
  }
  return tree;
}

TestTree ShellParser::parse_test_primary() {
  const ParserDepth depth(*this);
  skip_separators();
  TestTree tree;
  if (take_word("!")) {
    tree.operation = "!";
    tree.operands.push_back(parse_test_primary());
    return tree;
  }
  if (take("(")) {
    tree = parse_test_or();
    skip_separators();
    if (!take(")")) fail(place(), "`(` is not closed; accepted: `[[ (CONDITION) ]]`");
    return tree;
  }
  const std::string_view plain = peek_plain();
  if (is_unary(plain)) {
    tree.operation = plain;
    position_ += plain.size();
    skip_separators();
    tree.words.push_back(parse_word());
    if (tree.words.back().parts.empty()) fail(place(), "a condition has no operand; accepted: `[[ -n WORD ]]`");
    return tree;
  }
  const std::size_t before = position_;
  tree.words.push_back(parse_word());
  if (position_ == before) {
    fail(place(), "a condition has no operand; accepted: `[[ WORD == PATTERN ]]`");
    return tree;
  }
  tree.operation = "-n";
  skip_separators();
  std::string_view operation = peek_plain();
  if (peek() == '<' || peek() == '>') operation = rest().substr(0, 1);
  if (operation != ">" &&
      std::find(condition_operators.begin(), condition_operators.end(), operation) == condition_operators.end())
    return tree;
  tree.operation = operation;
  position_ += operation.size();
  skip_separators();
  tree.words.push_back(operation == "=~" ? parse_regex() : parse_word());
  if (tree.words.back().parts.empty())
    fail(place(), "a condition has no right-hand side; accepted: a word or a pattern");
  return tree;
}

ShellWord ShellParser::parse_regex() {
  ShellWord word;
  word.place = place();
  int open = 0;
  while (!at_end() && (open > 0 || (peek() != ' ' && peek() != '\t' && peek() != '\n' && peek() != ')'))) {
    if (starts_with("\\\n")) {
      position_ += 2;
      continue;
    }
    if (parse_quote(word.parts)) continue;
    open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
    add_text(word.parts, peek(), false, place());
    ++position_;
  }
  return word;
}

}  // namespace dovetail::syntax
