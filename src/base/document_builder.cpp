#include "base/document_builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"

namespace dovetail::base {

namespace {

Error text_error(const std::string& path, FilePlace place, std::string message) {
  return Error{.failure = Failure::bad_input,
               .path = path,
               .line = place.line,
               .column = place.column,
               .message = std::move(message)};
}

}  // namespace

void DocumentBuilder::reserve(std::size_t values, std::size_t text_bytes) {
  document_.records_.reserve(values);
  document_.children_.reserve(values);
  document_.text_.reserve(text_bytes);
}

std::uint32_t DocumentBuilder::add_null(FilePlace place) { return add(Kind::null, place, {}); }
std::uint32_t DocumentBuilder::add_boolean(FilePlace place, std::string_view text) {
  return add(Kind::boolean, place, text);
}
std::uint32_t DocumentBuilder::add_number(FilePlace place, std::string_view text) {
  return add(Kind::number, place, text);
}
std::uint32_t DocumentBuilder::add_string(FilePlace place, std::string_view text) {
  return add(Kind::string, place, text);
}
std::uint32_t DocumentBuilder::begin_list(FilePlace place) { return begin(Kind::list, place); }
std::uint32_t DocumentBuilder::begin_map(FilePlace place) { return begin(Kind::map, place); }

std::uint32_t DocumentBuilder::add(Kind kind, FilePlace place, std::string_view text) {
  if (failed()) return 0;
  const auto index = static_cast<std::uint32_t>(document_.records_.size());
  document_.records_.push_back({.begin = static_cast<std::uint32_t>(document_.text_.size()),
                                .length = static_cast<std::uint32_t>(text.size()),
                                .line = place.line,
                                .column = place.column,
                                .kind = kind});
  document_.text_ += text;
  attach(index, place);
  return index;
}

std::uint32_t DocumentBuilder::begin(Kind kind, FilePlace place) {
  if (failed()) return 0;
  const std::uint32_t index = add(kind, place, {});
  open_.push_back({.index = index, .first_child = pending_.size()});
  return index;
}

bool DocumentBuilder::expects_key() const {
  if (open_.empty() || document_.records_[open_.back().index].kind != Kind::map) return false;
  return (pending_.size() - open_.back().first_child) % 2 == 0;
}

void DocumentBuilder::attach(std::uint32_t index, FilePlace place) {
  if (open_.empty()) {
    document_.root_ = index;
    return;
  }
  const Kind kind = document_.records_[index].kind;
  if (expects_key() && (kind == Kind::null || kind == Kind::list || kind == Kind::map)) {
    fail(place, fmt::format("a key is {}; accepted: a string", Node(&document_, index).kind_name()));
  }
  pending_.push_back(index);
}

void DocumentBuilder::end() {
  if (failed()) return;
  const OpenValue closed = open_.back();
  open_.pop_back();
  Document::Record& record = document_.records_[closed.index];
  record.begin = static_cast<std::uint32_t>(document_.children_.size());
  record.length = static_cast<std::uint32_t>(pending_.size() - closed.first_child);
  const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(closed.first_child);
  document_.children_.insert(document_.children_.end(), first, pending_.end());
  pending_.erase(first, pending_.end());
  if (record.kind == Kind::map) check_duplicate_keys(closed.index);
}

void DocumentBuilder::check_duplicate_keys(std::uint32_t map) {
  const Node node(&document_, map);
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (seen.insert(node.key(i)).second) continue;
    const Node key = node.key_node(i);
    fail({.line = key.line(), .column = key.column()},
         fmt::format("duplicate key {}; each key may appear only once", quote(node.key(i))));
    return;
  }
}

void DocumentBuilder::share(FilePlace place, std::uint32_t value) {
  if (failed()) return;
  const bool is_open =
      std::any_of(open_.begin(), open_.end(), [&](const OpenValue& open) { return open.index == value; });
  if (is_open) {
    fail(place, "an alias refers to a value that contains it; accepted: an alias of a value that ends before it");
    return;
  }
  attach(value, place);
}

void DocumentBuilder::fail(FilePlace place, std::string message) {
  if (!failed()) error_ = text_error(document_.path_, place, std::move(message));
}

Result<Document> DocumentBuilder::finish() && {
  if (failed()) return *std::move(error_);
  DOVETAIL_ASSERT(open_.empty() && !document_.records_.empty());
  return std::move(document_);
}

Status check_text(std::string_view content, const std::string& path, std::string_view accepted) {
  const std::string_view text = without_byte_order_mark(content);
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; })) {
    return text_error(path, {1, 1}, fmt::format("the file is empty; accepted: {}", accepted));
  }
  // The parsers would silently skip a second byte order mark.
  if (text.starts_with(byte_order_mark))
    return text_error(path, {1, 1}, "a second byte order mark; accepted: one at the start");
  return check_characters(text, path);
}

FilePlace place_at(std::string_view content, std::size_t offset) {
  const std::string_view before = content.substr(0, offset);
  const std::size_t line_break = before.rfind('\n');
  const std::size_t line_begin = line_break == std::string_view::npos ? 0 : line_break + 1;
  return {.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + static_cast<int>(before.size() - line_begin)};
}

}  // namespace dovetail::base
