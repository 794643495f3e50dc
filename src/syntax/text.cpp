#include "syntax/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace dovetail::syntax {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Returns the length in bytes of the common prefix, cut back to the end of a word.
std::size_t shared_beginning(std::string_view one, std::string_view other) {
  const auto differ = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  auto length = static_cast<std::size_t>(differ.first - one.begin());
  const auto ends_word = [](std::string_view text, std::size_t at) { return at == text.size() || is_space(text[at]); };
  if (ends_word(one, length) && ends_word(other, length)) return length;
  while (length > 0 && !is_space(one[length - 1])) --length;
  return length;
}

void add_defaulted(Text& text, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::find(text.defaulted.begin(), text.defaulted.end(), name) == text.defaulted.end())
      text.defaulted.push_back(name);
}

}  // namespace

Text text_of(std::string_view text) {
  Text result;
  append(result, text);
  return result;
}

Text text_of(Unknown unknown) {
  Text result;
  result.pieces.push_back({.text = {}, .unknown = std::move(unknown)});
  return result;
}

bool is_known(const Text& text) {
  return text.pieces.empty() || (text.pieces.size() == 1 && !text.pieces.front().unknown);
}

bool is_empty(const Text& text) { return text.pieces.empty(); }

std::string_view characters(const Text& text) {
  DOVETAIL_ASSERT(is_known(text));
  return text.pieces.empty() ? std::string_view() : std::string_view(text.pieces.front().text);
}

bool has_characters(const Text& text) {
  return std::any_of(text.pieces.begin(), text.pieces.end(), [](const TextPiece& piece) { return !piece.unknown; });
}

const Unknown& first_unknown(const Text& text) {
  const auto found = std::find_if(text.pieces.begin(), text.pieces.end(),
                                  [](const TextPiece& piece) { return piece.unknown.has_value(); });
  DOVETAIL_ASSERT(found != text.pieces.end());
  return *found->unknown;
}

std::size_t size_of(const Text& text) {
  std::size_t size = 0;
  for (const TextPiece& piece : text.pieces)
    size += piece.text.size() + (piece.unknown ? piece.unknown->what.size() + sizeof(TextPiece) : 0);
  return size;
}

void append(Text& text, std::string_view more) {
  if (more.empty()) return;
  if (text.pieces.empty() || text.pieces.back().unknown)
    text.pieces.push_back({.text = std::string(more), .unknown = {}});
  else
    text.pieces.back().text += more;
}

void append(Text& text, const Text& more) {
  add_defaulted(text, more.defaulted);
  for (const TextPiece& piece : more.pieces) {
    if (piece.unknown)
      text.pieces.push_back(piece);
    else
      append(text, piece.text);
  }
}

std::string describe(const Text& text) {
  std::string result;
  for (const TextPiece& piece : text.pieces)
    result += piece.unknown ? fmt::format("<{}>", piece.unknown->what) : piece.text;
  return result;
}

Text either(const Text& one, const Text& other, const Unknown& why) {
  if (one == other) return one;
  const auto leading = [](const Text& text) -> std::string_view {
    return text.pieces.empty() || text.pieces.front().unknown ? std::string_view() : text.pieces.front().text;
  };
  const std::size_t beginning = shared_beginning(leading(one), leading(other));
  Text result = text_of(leading(one).substr(0, beginning));
  add_defaulted(result, one.defaulted);
  add_defaulted(result, other.defaulted);
  Unknown rest = why;
  rest.many = true;
  result.pieces.push_back({.text = {}, .unknown = std::move(rest)});
  return result;
}

std::vector<Word> either(const std::vector<Word>& one, const std::vector<Word>& other, const Unknown& why) {
  // Places do not matter.
  const auto same = [](const Word& a, const Word& b) { return a.text == b.text && a.condition == b.condition; };
  std::size_t first = 0;
  while (first < one.size() && first < other.size() && same(one[first], other[first])) ++first;
  std::size_t last = 0;
  while (last < one.size() - first && last < other.size() - first &&
         same(one[one.size() - 1 - last], other[other.size() - 1 - last]))
    ++last;
  std::vector<Word> result(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(first));
  for (const auto* list : {&one, &other}) {
    for (std::size_t i = first; i < list->size() - last; ++i) {
      result.push_back((*list)[i]);
      if (!result.back().condition) result.back().condition = why;
    }
  }
  result.insert(result.end(), one.end() - static_cast<std::ptrdiff_t>(last), one.end());
  return result;
}

}  // namespace dovetail::syntax
