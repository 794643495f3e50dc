#include <algorithm>
#include <cctype>

#include "base/result.h"
#include "syntax/shell/parser.h"

namespace dovetail::syntax {
namespace {

constexpr int max_nesting = 64;
constexpr std::string_view metacharacters = " \t\n|&;()<>";

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
    parser_.fail(parser_.place(), "the script is nested too deep; accepted: at most " + std::to_string(max_nesting) +
                                      " commands and quotes within each other");
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
    parser.fail(parser.place(), "nothing is open that this would close; accepted: a command");
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

}  // namespace dovetail::syntax
