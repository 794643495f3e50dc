#include <regex.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

constexpr std::size_t max_regex = 256;
constexpr std::size_t max_regex_text = 4096;

bool is_of_class(std::string_view name, unsigned char c) {
  if (name == "alpha") return std::isalpha(c) != 0;
  if (name == "digit") return std::isdigit(c) != 0;
  if (name == "alnum") return std::isalnum(c) != 0;
  if (name == "space") return std::isspace(c) != 0;
  if (name == "upper") return std::isupper(c) != 0;
  if (name == "lower") return std::islower(c) != 0;
  if (name == "punct") return std::ispunct(c) != 0;
  if (name == "xdigit") return std::isxdigit(c) != 0;
  return name == "blank" && (c == ' ' || c == '\t');
}

/// Returns whether the set that starts after `[` at `at` contains `c`, and moves `at` past the set. Returns nullopt if
/// the set is not closed, so `[` is literal.
std::optional<bool> takes_set(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  const auto byte = static_cast<unsigned char>(c);
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (pattern.substr(i).starts_with("[:")) {
      if (const std::size_t end = pattern.find(":]", i + 2); end != std::string_view::npos) {
        found = found || is_of_class(pattern.substr(i + 2, end - i - 2), byte);
        i = end + 2;
        continue;
      }
    }
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const auto low = static_cast<unsigned char>(pattern[i++]);
    auto high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
      high = static_cast<unsigned char>(pattern[i++]);
    }
    found = found || (low <= byte && byte <= high);
  }
  if (i >= pattern.size()) return std::nullopt;
  at = i + 1;
  return found != negated;
}

/// Returns whether the pattern element at `at`, which is not a star, matches the character. Moves `at` past the
/// element.
bool takes(std::string_view pattern, std::size_t& at, char c) {
  if (pattern[at] == '?') {
    ++at;
    return true;
  }
  if (pattern[at] == '[') {
    std::size_t inside = at + 1;
    if (const std::optional<bool> found = takes_set(pattern, inside, c)) {
      at = inside;
      return *found;
    }
  }
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return pattern[at++] == c;
}

/// Returns the length of the longest match at the start of the text, or nullopt without a match.
std::optional<std::size_t> match_length(std::string_view pattern, std::string_view text) {
  for (std::size_t length = text.size() + 1; length-- > 0;)
    if (matches_pattern(pattern, text.substr(0, length))) return length;
  return std::nullopt;
}

/// Returns whether glibc is certain to match quickly: no back-references and at most one repetition count.
bool is_simple(const std::string& regex) {
  for (std::size_t i = 0; i + 1 < regex.size(); ++i)
    if (regex[i] == '\\' && std::isdigit(static_cast<unsigned char>(regex[i + 1])) != 0) return false;
  return regex.size() <= max_regex && std::count(regex.begin(), regex.end(), '{') <= 1 &&
         std::count(regex.begin(), regex.end(), '(') <= 9;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
      continue;
    }
    if (p < pattern.size() && takes(pattern, p, text[t])) {
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string remove_pattern(std::string_view text, std::string_view pattern, PatternPlace place) {
  const bool is_prefix = place == PatternPlace::min_prefix || place == PatternPlace::max_prefix;
  const bool is_max = place == PatternPlace::max_prefix || place == PatternPlace::max_suffix;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const std::size_t length = is_max ? text.size() - i : i;
    const std::size_t left = text.size() - length;
    if (matches_pattern(pattern, is_prefix ? text.substr(0, length) : text.substr(left)))
      return std::string(is_prefix ? text.substr(length) : text.substr(0, left));
  }
  return std::string(text);
}

std::string replace_pattern(std::string_view text, std::string_view pattern, std::string_view replacement,
                            ReplacePlace place) {
  std::string result;
  if (place == ReplacePlace::suffix) {
    for (std::size_t i = 0; i <= text.size(); ++i)
      if (matches_pattern(pattern, text.substr(i))) return std::string(text.substr(0, i)) + std::string(replacement);
    return std::string(text);
  }
  if (pattern.empty() && place != ReplacePlace::prefix) return std::string(text);
  for (std::size_t at = 0; at <= text.size();) {
    const std::optional<std::size_t> length = match_length(pattern, text.substr(at));
    const bool takes_something = length && (*length > 0 || (at == 0 && text.empty()) || place != ReplacePlace::all);
    if (takes_something) {
      result += replacement;
      at += *length;
      if (place != ReplacePlace::all || *length == 0) return result + std::string(text.substr(at));
    } else {
      if (place == ReplacePlace::prefix) return std::string(text);
      if (at < text.size()) result += text[at];
      ++at;
    }
  }
  return result;
}

std::optional<std::vector<std::string>> find_regex(const std::string& regex, const std::string& text) {
  if (!is_simple(regex) || text.size() > max_regex_text) return std::nullopt;
  regex_t compiled;
  if (regcomp(&compiled, regex.c_str(), REG_EXTENDED) != 0) return std::nullopt;
  std::array<regmatch_t, 10> found{};
  std::vector<std::string> groups;
  if (regexec(&compiled, text.c_str(), found.size(), found.data(), 0) == 0) {
    for (std::size_t i = 0; i <= std::min(compiled.re_nsub, found.size() - 1); ++i) {
      const regmatch_t& group = found[i];
      const auto begin = static_cast<std::size_t>(std::max(group.rm_so, 0));
      groups.push_back(group.rm_so < 0 ? "" : text.substr(begin, static_cast<std::size_t>(group.rm_eo) - begin));
    }
  }
  regfree(&compiled);
  return groups;
}

}  // namespace dovetail::syntax
