#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

constexpr std::size_t max_choices = 4096;

/// A place within the parts of a word.
struct BracePosition {
  std::size_t part = 0;
  std::size_t at = 0;
};

/// The unquoted character there; a null for what is quoted or expands, which no brace is.
char brace_character(const WordParts& parts, const BracePosition& position) {
  const WordPart& part = parts[position.part];
  return part.kind == WordPart::Kind::text && !part.quoted ? part.text[position.at] : '\0';
}

bool advance(const WordParts& parts, BracePosition& position) {
  const WordPart& part = parts[position.part];
  const bool has_more = part.kind == WordPart::Kind::text && !part.quoted && position.at + 1 < part.text.size();
  if (has_more) {
    ++position.at;
    return true;
  }
  position = {.part = position.part + 1, .at = 0};
  return position.part < parts.size();
}

WordParts slice(const WordParts& parts, const BracePosition& begin, const BracePosition& end) {
  WordParts result;
  for (std::size_t i = begin.part; i < parts.size() && i <= end.part; ++i) {
    if (i == end.part && end.at == 0) break;
    WordPart part = parts[i];
    if (part.kind == WordPart::Kind::text && !part.quoted) {
      const std::size_t first = i == begin.part ? begin.at : 0;
      part.text = i == end.part ? part.text.substr(first, end.at - first) : part.text.substr(first);
      if (part.text.empty()) continue;
    }
    result.push_back(std::move(part));
  }
  return result;
}

struct Braces {
  BracePosition open, close;
  std::vector<BracePosition> commas;
};

/// The first brace that has its end, with the commas of its own.
std::optional<Braces> find_braces(const WordParts& parts, BracePosition from) {
  Braces braces;
  int depth = 0;
  bool found = false;
  for (bool more = from.part < parts.size(); more; more = advance(parts, from)) {
    const char c = brace_character(parts, from);
    if (c == '{' && depth == 0) {
      braces = {.open = from, .close = {}, .commas = {}};
      found = true;
    } else if (c == ',' && depth == 1) {
      braces.commas.push_back(from);
    } else if (c == '}' && depth == 1) {
      braces.close = from;
      return braces;
    }
    if (c == '{') ++depth;
    if (c == '}' && depth > 0) --depth;
  }
  // The outer one has no end; one within it may have.
  if (found && advance(parts, braces.open)) return find_braces(parts, braces.open);
  return std::nullopt;
}

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value > 1'000'000'000 || value < -1'000'000'000)
    return std::nullopt;
  return value;
}

/// `1..8`, `08..10`, `8..1..2`, `a..e`.
std::vector<std::string> numbers_of(std::string_view text) {
  std::vector<std::string_view> ends;
  for (std::size_t at; (at = text.find("..")) != std::string_view::npos; text.remove_prefix(at + 2))
    ends.push_back(text.substr(0, at));
  ends.push_back(text);
  if (ends.size() < 2 || ends.size() > 3) return {};
  const std::optional<std::int64_t> step = ends.size() == 3 ? whole_of(ends[2]) : 1;
  std::optional<std::int64_t> first = whole_of(ends[0]);
  std::optional<std::int64_t> last = whole_of(ends[1]);
  const auto is_letter = [](std::string_view end) {
    return end.size() == 1 && (end[0] | 32) >= 'a' && (end[0] | 32) <= 'z';
  };
  const bool letters = is_letter(ends[0]) && is_letter(ends[1]);
  if (letters) {
    first = ends[0][0];
    last = ends[1][0];
  }
  if (!first || !last || !step) return {};
  const std::int64_t by = std::max<std::int64_t>(std::abs(*step), 1);
  const auto is_padded = [](std::string_view end) {
    return end.size() > 1 && (end[0] == '0' || end.starts_with("-0"));
  };
  const std::size_t width = is_padded(ends[0]) || is_padded(ends[1]) ? std::max(ends[0].size(), ends[1].size()) : 0;
  if (std::abs(*last - *first) / by >= static_cast<std::int64_t>(max_choices)) return {};
  std::vector<std::string> result;
  for (std::int64_t value = *first; *first <= *last ? value <= *last : value >= *last;
       value += *first <= *last ? by : -by) {
    std::string number = letters ? std::string(1, static_cast<char>(value)) : std::to_string(std::abs(value));
    const std::size_t sign = !letters && value < 0 ? 1 : 0;
    if (number.size() + sign < width) number.insert(0, width - number.size() - sign, '0');
    result.push_back((sign > 0 ? "-" : "") + number);
  }
  return result;
}

/// What stands between the braces, once for each choice; empty where they are no choice.
std::vector<WordParts> choices_of(const WordParts& parts, const Braces& braces) {
  std::vector<WordParts> choices;
  BracePosition begin = braces.open;
  ++begin.at;
  if (braces.commas.empty()) {
    const WordParts inside = slice(parts, begin, braces.close);
    if (inside.size() != 1 || inside[0].kind != WordPart::Kind::text || inside[0].quoted) return {};
    for (const std::string& number : numbers_of(inside[0].text)) {
      choices.push_back(inside);
      choices.back()[0].text = number;
    }
    return choices;
  }
  for (const BracePosition& comma : braces.commas) {
    choices.push_back(slice(parts, begin, comma));
    begin = comma;
    ++begin.at;
  }
  choices.push_back(slice(parts, begin, braces.close));
  return choices;
}

/// How many steps a copy of the parts counts.
std::int64_t copy_steps(const WordParts& parts) {
  constexpr std::size_t parts_a_step = 8;
  constexpr std::size_t characters_a_step = 64;
  std::size_t characters = 0;
  for (const WordPart& part : parts) characters += part.text.size();
  return static_cast<std::int64_t>(1 + parts.size() / parts_a_step + characters / characters_a_step);
}

void expand_from(Shell& shell, const WordParts& parts, BracePosition from, const Place& place,
                 std::vector<WordParts>& result) {
  const ShellDepth depth(shell, place);
  if (shell.error) return;
  std::optional<Braces> braces = find_braces(parts, from);
  std::vector<WordParts> choices;
  while (braces && (choices = choices_of(parts, *braces)).empty()) {
    BracePosition next = braces->open;
    braces = advance(parts, next) ? find_braces(parts, next) : std::nullopt;
  }
  if (!braces) {
    result.push_back(parts);
    return;
  }
  BracePosition after = braces->close;
  ++after.at;
  for (const WordParts& choice : choices) {
    if (result.size() > max_choices ||
        !spend(shell, place, copy_steps(parts), static_cast<std::int64_t>(parts.size() * sizeof(WordPart))))
      return fail(shell, place, "braces have too many choices; accepted: at most " + std::to_string(max_choices));
    WordParts one = slice(parts, {}, braces->open);
    one.insert(one.end(), choice.begin(), choice.end());
    for (WordPart& part : slice(parts, after, {.part = parts.size(), .at = 0})) one.push_back(std::move(part));
    expand_from(shell, one,
                braces->open.part < one.size() ? BracePosition{.part = braces->open.part, .at = 0}
                                               : BracePosition{.part = one.size(), .at = 0},
                place, result);
  }
}

}  // namespace

std::vector<WordParts> expand_braces(Shell& shell, const ShellWord& word) {
  bool has_brace = false;
  for (const WordPart& part : word.parts)
    has_brace =
        has_brace || (part.kind == WordPart::Kind::text && !part.quoted && part.text.find('{') != std::string::npos);
  if (!has_brace) return {word.parts};
  std::vector<WordParts> result;
  expand_from(shell, word.parts, {}, word.place, result);
  return result;
}

}  // namespace dovetail::syntax
