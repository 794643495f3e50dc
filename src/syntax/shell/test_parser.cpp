#include <algorithm>
#include <array>
#include <utility>

#include "syntax/shell/parser.h"

namespace dovetail::syntax {
namespace {

constexpr std::array<std::string_view, 14> binary_operators{"==",  "=",   "!=",  "=~",  "-eq", "-ne", "-lt",
                                                            "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<"};

bool is_unary(std::string_view word) {
  return word.size() == 2 && word[0] == '-' &&
         std::string_view("abcdefghknprstuvwxzGLNORS").find(word[1]) != std::string_view::npos;
}

}  // namespace

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
    if (!take(")")) fail(place(), "`(` has no end; accepted: `[[ (CONDITION) ]]`");
    return tree;
  }
  const std::string_view plain = peek_plain();
  if (is_unary(plain)) {
    tree.operation = plain;
    position_ += plain.size();
    skip_separators();
    tree.words.push_back(parse_word());
    if (tree.words.back().parts.empty()) fail(place(), "a condition lacks its word; accepted: `[[ -n WORD ]]`");
    return tree;
  }
  const std::size_t before = position_;
  tree.words.push_back(parse_word());
  if (position_ == before) {
    fail(place(), "a condition lacks its word; accepted: `[[ WORD == PATTERN ]]`");
    return tree;
  }
  tree.operation = "-n";
  skip_separators();
  std::string_view operation = peek_plain();
  if (peek() == '<' || peek() == '>') operation = rest().substr(0, 1);
  if (operation != ">" &&
      std::find(binary_operators.begin(), binary_operators.end(), operation) == binary_operators.end())
    return tree;
  tree.operation = operation;
  position_ += operation.size();
  skip_separators();
  tree.words.push_back(operation == "=~" ? parse_regex() : parse_word());
  if (tree.words.back().parts.empty()) fail(place(), "a condition lacks its right side; accepted: a word or a pattern");
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
