#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>

#include "base/document.h"
#include "base/result.h"
#include "syntax/shell/parser.h"

namespace dovetail::syntax {
namespace {

constexpr int max_nesting = 64;
constexpr std::string_view metacharacters = " \t\n|&;()<>";

constexpr std::string_view word_ends = " \t\n|&;()<>";
constexpr std::string_view special_parameters = "@*#?-$!";

void append_utf8(std::string& text, std::uint32_t code) {
  const auto byte = [&text](std::uint32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x110000) {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// Reads up to `most` digits of `base` at the start of `text`. Returns their value and count.
std::pair<std::uint32_t, std::size_t> leading_digits(std::string_view text, unsigned base, std::size_t most) {
  std::uint32_t value = 0;
  std::size_t count = 0;
  for (; count < most && count < text.size(); ++count) {
    const auto c = static_cast<unsigned char>(text[count]);
    if (std::isxdigit(c) == 0) break;
    const unsigned digit = std::isdigit(c) != 0 ? c - '0' : static_cast<unsigned>(std::tolower(c)) - 'a' + 10U;
    if (digit >= base) break;
    value = value * base + digit;
  }
  return {value, count};
}

/// Decodes the escape at the start of `text`, after a backslash, into `result`. Returns the characters consumed.
std::size_t decode_escape(std::string_view text, std::string& result) {
  constexpr std::string_view letters = "abeEfnrtv\\'\"?";
  constexpr std::string_view meanings = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?";
  if (const std::size_t at = letters.find(text.front()); at != std::string_view::npos) {
    result += meanings[at];
    return 1;
  }
  const char c = text.front();
  const bool is_code = c == 'x' || c == 'u' || c == 'U';
  if (is_code) {
    const auto [value, count] = leading_digits(text.substr(1), 16, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    if (count > 0) {
      if (c == 'x')
        result += static_cast<char>(value);
      else
        append_utf8(result, value);
      return 1 + count;
    }
  } else if (const auto [value, count] = leading_digits(text, 8, 3); count > 0) {
    result += static_cast<char>(value);
    return count;
  }
  result += '\\';
  result += c;
  return 1;
}

}  // namespace

bool is_name_character(char c, bool inside) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || std::isalpha(byte) != 0 || (inside && std::isdigit(byte) != 0);
}

bool is_variable_name(std::string_view text) {
  if (text.empty() || !is_name_character(text.front(), false)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_name_character(c, true); });
}

ParserDepth::ParserDepth(ShellParser& parser) : parser_(parser) {
  if (++parser_.depth_ > max_nesting)
    parser_.fail(parser_.place(), "commands and quotes are nested too deeply; accepted: at most " +
                                      std::to_string(max_nesting) + " levels");
}

ShellParser::ShellParser(std::string_view content, const std::string& path, Place begin, int depth, ShellTrees& trees)
    : content_(content), path_(path), begin_(begin), trees_(trees), lines_{0}, depth_(depth) {
  for (std::size_t i = 0; i < content.size(); ++i)
    if (content[i] == '\n') lines_.push_back(i + 1);
}

Place ShellParser::place() const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), position_);
  const auto line = static_cast<std::size_t>(next - lines_.begin()) - 1;
  const auto column = static_cast<int>(position_ - lines_[line]);
  return {.source = begin_.source,
          .line = begin_.line + static_cast<int>(line),
          .column = (line == 0 ? begin_.column : 1) + column};
}

void ShellParser::fail(Place place, std::string message) {
  if (!error_)
    error_ = base::Error{.failure = base::Failure::bad_input,
                         .path = path_,
                         .line = place.line,
                         .column = place.column,
                         .message = std::move(message)};
  position_ = content_.size();
}

char ShellParser::peek(std::size_t ahead) const {
  return position_ + ahead < content_.size() ? content_[position_ + ahead] : '\0';
}

std::string_view ShellParser::rest() const {
  return position_ < content_.size() ? content_.substr(position_) : std::string_view();
}

bool ShellParser::starts_with(std::string_view text) const { return rest().starts_with(text); }

bool ShellParser::take(std::string_view text) {
  if (error_ || !starts_with(text)) return false;
  position_ += text.size();
  return true;
}

void ShellParser::skip_continuations() {
  while (starts_with("\\\n")) position_ += 2;
}

void ShellParser::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      ++position_;
    } else if (starts_with("\\\n")) {
      position_ += 2;
    } else if (peek() == '#') {
      position_ += rest_of_line().size();
    } else {
      return;
    }
  }
}

void ShellParser::skip_separators() {
  for (;;) {
    skip_blanks();
    if (peek() == '\n' && !at_end())
      take_newline();
    else
      return;
  }
}

std::string_view ShellParser::peek_plain() const {
  std::size_t end = position_;
  while (end < content_.size() && metacharacters.find(content_[end]) == std::string_view::npos) {
    if (std::string_view("\"'`$\\").find(content_[end]) != std::string_view::npos) return {};
    ++end;
  }
  return rest().substr(0, end - position_);
}

std::string_view ShellParser::rest_of_line() const {
  const std::string_view text = rest();
  return text.substr(0, text.find('\n'));
}

void ShellParser::take_newline() {
  ++position_;
  std::vector<PendingDocument> documents;
  documents.swap(pending_);
  for (const PendingDocument& document : documents) read_document(document);
}

void ShellParser::read_document(const PendingDocument& document) {
  const Place begin = place();
  std::string body;
  while (!at_end()) {
    std::string_view line = rest_of_line();
    position_ = std::min(position_ + line.size() + 1, content_.size());
    if (document.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == document.end) break;
    body += line;
    body += '\n';
  }
  WordParts& parts = trees_.here_documents[document.index];
  if (document.is_literal) {
    if (body.empty()) return;
    parts.emplace_back();
    parts.back().quoted = true;
    parts.back().place = begin;
    parts.back().text = std::move(body);
    return;
  }
  ShellParser inner(body, path_, begin, depth_ + 1, trees_);
  WordParts read = inner.parse_all_quoted();
  if (inner.error_)
    fail(begin, inner.error_->message);
  else
    trees_.here_documents[document.index] = std::move(read);
}

base::Result<const ShellNode*> parse_shell(std::string_view content, const std::string& path, Place begin,
                                           ShellTrees& trees) {
  ShellParser parser(content, path, begin, 0, trees);
  ShellNode list = parser.parse_list();
  if (!parser.error() && !parser.at_end())
    parser.fail(parser.place(), "unexpected closing word or bracket; accepted: a command");
  if (parser.error()) return *parser.error();
  return &trees.roots.emplace_back(std::move(list));
}

base::Result<WordParts> parse_quoted(std::string_view content, const std::string& path, Place begin,
                                     ShellTrees& trees) {
  ShellParser parser(content, path, begin, 0, trees);
  WordParts parts = parser.parse_all_quoted();
  if (parser.error()) return *parser.error();
  return parts;
}

void ShellParser::add_text(WordParts& parts, char c, bool quoted, Place place) {
  if (parts.empty() || parts.back().kind != WordPart::Kind::text || parts.back().quoted != quoted) {
    parts.emplace_back();
    parts.back().quoted = quoted;
    parts.back().place = place;
  }
  parts.back().text += c;
}

ShellWord ShellParser::parse_word() {
  ShellWord word;
  word.place = place();
  parse_word_parts(word.parts);
  return word;
}

void ShellParser::parse_word_parts(WordParts& parts) {
  const ParserDepth depth(*this);
  while (!at_end()) {
    skip_continuations();
    if (at_end()) return;
    const char c = peek();
    if ((c == '<' || c == '>') && peek(1) == '(') {
      WordPart part;
      part.kind = WordPart::Kind::process;
      part.place = place();
      part.operation = std::string(1, c);
      ++position_;
      parse_command_substitution(part);
      parts.push_back(std::move(part));
    } else if (word_ends.find(c) != std::string_view::npos) {
      return;
    } else if (!parse_quote(parts)) {
      add_text(parts, c, false, place());
      ++position_;
    }
  }
}

bool ShellParser::parse_quote(WordParts& parts) {
  const Place here = place();
  switch (peek()) {
    case '\'':
      parse_single_quoted(parts);
      return true;
    case '"':
      parse_double_quoted(parts);
      return true;
    case '`':
      parse_backquoted(parts, false);
      return true;
    case '$':
      parse_dollar(parts, false);
      return true;
    case '\\':
      add_text(parts, position_ + 1 < content_.size() ? peek(1) : '\\', true, here);
      position_ = std::min(position_ + 2, content_.size());
      return true;
    default:
      return false;
  }
}

WordParts ShellParser::parse_until(std::string_view ends, bool quoted) {
  const ParserDepth depth(*this);
  WordParts parts;
  while (!at_end() && ends.find(peek()) == std::string_view::npos) {
    if (starts_with("\\\n")) {
      position_ += 2;
    } else if (!quoted) {
      if (parse_quote(parts)) continue;
      add_text(parts, peek(), false, place());
      ++position_;
    } else if (peek() == '"') {
      parse_double_quoted(parts);
    } else if (peek() == '`') {
      parse_backquoted(parts, true);
    } else if (peek() == '$') {
      parse_dollar(parts, true);
    } else {
      if (peek() == '\\' && std::string_view("$`\"\\}").find(peek(1)) != std::string_view::npos && peek(1) != '\0')
        ++position_;
      add_text(parts, peek(), true, place());
      ++position_;
    }
  }
  return parts;
}

WordParts ShellParser::parse_all_quoted() {
  WordParts parts;
  while (!at_end()) {
    if (starts_with("\\\n")) {
      position_ += 2;
    } else if (peek() == '`') {
      parse_backquoted(parts, true);
    } else if (peek() == '$') {
      parse_dollar(parts, true);
    } else {
      if (peek() == '\\' && std::string_view("$`\\").find(peek(1)) != std::string_view::npos && peek(1) != '\0')
        ++position_;
      add_text(parts, peek(), true, place());
      ++position_;
    }
  }
  return parts;
}

void ShellParser::parse_double_quoted(WordParts& parts) {
  const ParserDepth depth(*this);
  const Place begin = place();
  ++position_;
  const std::size_t before = position_;
  while (!at_end() && peek() != '"') {
    if (starts_with("\\\n")) {
      position_ += 2;
    } else if (peek() == '`') {
      parse_backquoted(parts, true);
    } else if (peek() == '$') {
      parse_dollar(parts, true);
    } else {
      if (peek() == '\\' && std::string_view("$`\"\\").find(peek(1)) != std::string_view::npos && peek(1) != '\0')
        ++position_;
      add_text(parts, peek(), true, place());
      ++position_;
    }
  }
  // A quoted string is a word even if it is empty.
  if (position_ == before) {
    parts.emplace_back();
    parts.back().quoted = true;
    parts.back().place = begin;
  }
  if (!take("\"")) fail(begin, "the quote is not closed; accepted: text that ends with `\"`");
}

void ShellParser::parse_single_quoted(WordParts& parts) {
  const Place begin = place();
  const std::size_t end = content_.find('\'', position_ + 1);
  if (end == std::string_view::npos) return fail(begin, "the quote is not closed; accepted: text that ends with `'`");
  parts.emplace_back();
  parts.back().quoted = true;
  parts.back().place = begin;
  parts.back().text = std::string(content_.substr(position_ + 1, end - position_ - 1));
  position_ = end + 1;
}

void ShellParser::parse_ansi_quoted(WordParts& parts) {
  const Place begin = place();
  position_ += 2;
  std::string text;
  while (!at_end() && peek() != '\'') {
    if (peek() == '\\' && position_ + 1 < content_.size()) {
      ++position_;
      position_ += decode_escape(rest(), text);
    } else {
      text += peek();
      ++position_;
    }
  }
  if (!take("'")) return fail(begin, "the quote is not closed; accepted: text that ends with `'`");
  parts.emplace_back();
  parts.back().quoted = true;
  parts.back().place = begin;
  // Like a C string, the text ends at a null character.
  parts.back().text = text.substr(0, text.find('\0'));
}

void ShellParser::parse_dollar(WordParts& parts, bool quoted) {
  const ParserDepth depth(*this);
  WordPart part;
  part.kind = WordPart::Kind::parameter;
  part.quoted = quoted;
  part.place = place();
  const char next = peek(1);
  if (!quoted && next == '\'') return parse_ansi_quoted(parts);
  if (!quoted && next == '"') {
    ++position_;
    return parse_double_quoted(parts);
  }
  if (next == '(') {
    if (peek(2) != '(' || !parse_arithmetic(part)) {
      ++position_;
      part.kind = WordPart::Kind::command;
      parse_command_substitution(part);
    }
  } else if (next == '{') {
    position_ += 2;
    parse_braced(part);
  } else if (is_name_character(next, false)) {
    ++position_;
    while (is_name_character(peek(), true)) part.text += content_[position_++];
  } else if (next != '\0' &&
             (special_parameters.find(next) != std::string_view::npos || (next >= '0' && next <= '9'))) {
    part.text = std::string(1, next);
    position_ += 2;
  } else {
    add_text(parts, '$', quoted, part.place);
    ++position_;
    return;
  }
  parts.push_back(std::move(part));
}

void ShellParser::parse_braced(WordPart& part) {
  const Place begin = part.place;
  const char next = peek(1);
  const bool names_next = is_name_character(next, true) || next == '@' || next == '*';
  if ((peek() == '#' &&
       (names_next || (next != '}' && next != '\0' && std::string_view("?-$!#").find(next) != std::string_view::npos &&
                       peek(2) == '}'))) ||
      (peek() == '!' && names_next)) {
    part.prefix = peek();
    ++position_;
  }
  if (is_name_character(peek(), false)) {
    while (is_name_character(peek(), true)) part.text += content_[position_++];
  } else if (peek() >= '0' && peek() <= '9') {
    while (peek() >= '0' && peek() <= '9') part.text += content_[position_++];
  } else if (!at_end() && special_parameters.find(peek()) != std::string_view::npos) {
    part.text = std::string(1, content_[position_++]);
  } else {
    return fail(begin, "`${` needs a variable name; accepted: `${NAME}`");
  }
  if (take("[")) {
    part.subscript.push_back(parse_until("]", false));
    if (!take("]")) return fail(begin, "the array index is not closed; accepted: `${NAME[INDEX]}`");
  }
  if (!starts_with("}")) parse_operation(part);
  if (!take("}")) fail(begin, "`${` is not closed; accepted: `${NAME}` or `${NAME:-TEXT}`");
}

void ShellParser::parse_operation(WordPart& part) {
  for (const std::string_view operation : {":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,", "-",
                                           "=",  "?",  "+",  "#",  "%",  "/",  "^",  ",",  ":",  "@",  "*"}) {
    if (!take(operation)) continue;
    part.operation = operation;
    const bool is_pattern = std::string_view("#%/^,").find(operation.front()) != std::string_view::npos;
    const bool quoted = part.quoted && !is_pattern;
    if (operation.front() == '/' || operation == ":") {
      part.operands.push_back(parse_until(operation == ":" ? ":}" : "/}", quoted));
      if (take(operation == ":" ? ":" : "/")) part.operands.push_back(parse_until("}", quoted));
    } else {
      part.operands.push_back(parse_until("}", quoted));
    }
    return;
  }
}

bool ShellParser::parse_arithmetic(WordPart& part) {
  const std::size_t before = position_;
  position_ += 3;
  WordParts expression = parse_expression("))");
  if (error_) return true;
  if (!take("))")) {
    position_ = before;
    return false;
  }
  part.kind = WordPart::Kind::arithmetic;
  part.operands.push_back(std::move(expression));
  return true;
}

WordParts ShellParser::parse_expression(std::string_view end) {
  WordParts parts;
  int open = 0;
  while (!at_end()) {
    if (open == 0 && starts_with(end)) break;
    if (starts_with("\\\n")) {
      position_ += 2;
      continue;
    }
    const char c = peek();
    if (c == ')' && open == 0) break;
    if (c == '"') {
      ++position_;
    } else if (c == '`') {
      parse_backquoted(parts, true);
    } else if (c == '$') {
      parse_dollar(parts, true);
    } else {
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      add_text(parts, c, true, place());
      ++position_;
    }
  }
  return parts;
}

void ShellParser::parse_command_substitution(WordPart& part) {
  const Place begin = part.place;
  ++position_;
  std::vector<PendingDocument> outer;
  outer.swap(pending_);
  part.commands.push_back(parse_list());
  pending_.swap(outer);
  if (!take(")")) fail(begin, "`$(` is not closed; accepted: `$(COMMAND)`");
}

void ShellParser::parse_backquoted(WordParts& parts, bool quoted) {
  const Place begin = place();
  std::string inner;
  ++position_;
  while (!at_end() && peek() != '`') {
    if (peek() == '\\' && (peek(1) == '`' || peek(1) == '\\' || peek(1) == '$' || (quoted && peek(1) == '"')))
      ++position_;
    inner += peek();
    ++position_;
  }
  if (!take("`")) return fail(begin, "the backquote is not closed; accepted: a command that ends with a backquote");
  ShellParser parser(inner, path_, begin, depth_ + 1, trees_);
  WordPart part;
  part.kind = WordPart::Kind::command;
  part.quoted = quoted;
  part.place = begin;
  part.commands.push_back(parser.parse_list());
  if (!parser.error() && !parser.at_end())
    parser.fail(begin, "the backquotes do not contain a complete command; accepted: `$(COMMAND)`");
  if (parser.error()) return fail(begin, parser.error()->message);
  parts.push_back(std::move(part));
}

}  // namespace dovetail::syntax
