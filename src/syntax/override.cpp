#include "syntax/override.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/quantity.h"

namespace dovetail::syntax {
namespace {

using ValueKind = Setting::Kind;

constexpr int max_value_depth = 64;

bool is_key_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./@[]:$").find(c) != std::string_view::npos;
}

bool begins_key(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Converts plain text to null, a boolean, a number or a string.
Setting plain_value(std::string text, const Place& place) {
  Setting setting;
  setting.place = place;
  setting.text = std::move(text);
  const std::string word = lower(setting.text);
  std::string digits = setting.text;
  std::erase(digits, '_');
  const bool has_digit_first = !setting.text.empty() && setting.text.front() != '_' && setting.text.back() != '_';
  if (word == "null") {
    setting.kind = ValueKind::null;
    setting.text.clear();
  } else if (word == "true" || word == "false") {
    setting.kind = ValueKind::boolean;
    setting.text = word;
  } else if (has_digit_first && base::is_decimal(digits)) {
    setting.kind = ValueKind::number;
    setting.text = digits;
  } else {
    setting.kind = ValueKind::string;
  }
  return setting;
}

/// Parses a value. Keeps the first error.
class ValueReader {
 public:
  ValueReader(std::string_view text, const Place& place, const std::vector<std::string>& sources)
      : text_(text), place_(place), sources_(sources) {}

  base::Result<Setting> read() {
    skip();
    if (at_ == text_.size()) return plain_value({}, place_);
    Setting setting = value("");
    skip();
    if (!error_ && at_ < text_.size())
      fail(text_[at_] == ',' ? "the value is a sweep over several runs; accepted: one value, with lists in `[...]`"
                             : "unexpected text after the value; accepted: one value");
    if (error_) return *error_;
    return setting;
  }

 private:
  void fail(std::string message) {
    if (error_) return;
    const auto source = static_cast<std::size_t>(place_.source);
    error_ = base::Error{.failure = base::Failure::bad_input,
                         .path = source < sources_.size() ? sources_[source] : std::string(),
                         .line = place_.line,
                         .column = place_.column,
                         .message = std::move(message)};
    at_ = text_.size();
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }

  /// Parses a value that ends before one of `ends` or at the end of the text.
  Setting value(std::string_view ends) {
    if (++depth_ > max_value_depth)
      fail(fmt::format("the value is nested too deeply; accepted: at most {} levels", max_value_depth));
    skip();
    Setting setting;
    if (at_ >= text_.size()) {
      setting = plain_value({}, place_);
    } else if (text_[at_] == '[') {
      setting = list();
    } else if (text_[at_] == '{') {
      setting = map();
    } else if (text_[at_] == '\'' || text_[at_] == '"') {
      setting = quoted(ends);
    } else {
      setting = plain(ends);
    }
    --depth_;
    return setting;
  }

  Setting list() {
    Setting setting;
    setting.kind = ValueKind::list;
    setting.place = place_;
    ++at_;
    while (!error_ && !next_is(']')) {
      setting.items.push_back(value(",]"));
      if (next_is(','))
        ++at_;
      else if (!next_is(']'))
        fail("the list is not closed, or its items are not separated by commas; accepted: `[a, b]`");
    }
    ++at_;
    return setting;
  }

  Setting map() {
    Setting setting;
    setting.kind = ValueKind::map;
    setting.place = place_;
    ++at_;
    while (!error_ && !next_is('}')) {
      const Setting key = value(":,}");
      if (!next_is(':')) {
        fail("a key of the map has no value; accepted: `{key: value}`");
        break;
      }
      ++at_;
      Setting item = value(",}");
      if (Setting* existing = find_member(setting, key.text))
        *existing = std::move(item);
      else
        setting.members.emplace_back(key.text, std::move(item));
      if (next_is(','))
        ++at_;
      else if (!next_is('}'))
        fail("the map is not closed, or its items are not separated by commas; accepted: `{a: 1, b: 2}`");
    }
    ++at_;
    return setting;
  }

  Setting quoted(std::string_view ends) {
    const char quote = text_[at_];
    std::string text;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == quote || text_[at_ + 1] == '\\')) ++at_;
      text += text_[at_];
    }
    if (at_ >= text_.size()) fail("the quote is not closed; accepted: text in quotes");
    ++at_;
    skip();
    if (!error_ && at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos && text_[at_] != ',')
      fail("unexpected text after a closing quote; accepted: quoted text alone");
    Setting setting;
    setting.kind = ValueKind::string;
    setting.place = place_;
    setting.text = std::move(text);
    return setting;
  }

  Setting plain(std::string_view ends) {
    std::string text;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_).starts_with("${")) {
        interpolation(text);
        continue;
      }
      if (c == ',' || ends.find(c) != std::string_view::npos) break;
      if (c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}' || c == '"' || c == '\'') {
        fail(c == '(' ? "an unquoted `(` calls a Hydra function; accepted: a plain value, or text in quotes"
                      : fmt::format("unquoted text contains `{}`; put the text in quotes", c));
        break;
      }
      if (c == '\\' && at_ + 1 < text_.size() &&
          std::string_view("\\()[]{}:=,  \t").find(text_[at_ + 1]) != std::string_view::npos)
        ++at_;
      text += text_[at_++];
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
    return plain_value(std::move(text), place_);
  }

  /// Copies `${...}` as written, with everything nested in it.
  void interpolation(std::string& text) {
    int open = 0;
    do {
      if (text_[at_] == '{') ++open;
      if (text_[at_] == '}') --open;
      text += text_[at_++];
    } while (at_ < text_.size() && (open > 0 || text_[at_ - 1] == '$'));
    if (open > 0) fail("`${` is not closed; accepted: `${key}`");
  }

  std::string_view text_;
  Place place_;
  const std::vector<std::string>& sources_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<base::Error> error_;
};

/// Returns the known characters at the start of a word.
std::string_view beginning(const Word& word) {
  const auto& pieces = word.text.pieces;
  return pieces.empty() || pieces.front().unknown ? std::string_view() : std::string_view(pieces.front().text);
}

base::Error override_error(const SettingTree& tree, const Override& one, std::string message) {
  const auto source = static_cast<std::size_t>(one.place.source);
  return {.failure = base::Failure::bad_input,
          .path = source < tree.sources.size() ? tree.sources[source] : std::string(),
          .line = one.place.line,
          .column = one.place.column,
          .message = std::move(message)};
}

}  // namespace

bool is_override(const Word& word) {
  std::string_view text = beginning(word);
  if (text.starts_with('~')) return text.size() > 1 && begins_key(text[1]);
  while (text.starts_with('+')) text.remove_prefix(1);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || !begins_key(text.front())) return false;
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals), is_key_character);
}

base::Result<Override> parse_override(const Word& word, const std::vector<std::string>& sources) {
  Override one;
  one.place = word.place;
  std::string_view text = beginning(word);
  if (text.starts_with("~")) {
    one.kind = Override::Kind::remove;
    text.remove_prefix(1);
  } else if (text.starts_with("++")) {
    one.kind = Override::Kind::force;
    text.remove_prefix(2);
  } else if (text.starts_with("+")) {
    one.kind = Override::Kind::add;
    text.remove_prefix(1);
  }
  const std::size_t equals = text.find('=');
  const bool is_valid = is_override(word) && !text.starts_with('+') &&
                        (equals != std::string_view::npos || one.kind == Override::Kind::remove);
  const auto source = static_cast<std::size_t>(word.place.source);
  if (!is_valid)
    return base::Error{
        .failure = base::Failure::bad_input,
        .path = source < sources.size() ? sources[source] : std::string(),
        .line = word.place.line,
        .column = word.place.column,
        .message = fmt::format(
            "{} is not an override; accepted: `key=value`, `+key=value`, `++key=value`, `~key`, `~key=value`",
            base::quote(describe(word.text)))};
  one.key = text.substr(0, equals);
  if (const std::size_t at = one.key.find('@'); at != std::string::npos) {
    one.package = one.key.substr(at + 1);
    one.key.resize(at);
  }
  if (equals == std::string_view::npos) return one;
  if (is_known(word.text)) {
    DOVETAIL_TRY(one.value, parse_value(text.substr(equals + 1), word.place, sources));
    if (word.condition) one.value->unknown = word.condition;
    return one;
  }
  one.value = Setting{.kind = ValueKind::unknown,
                      .text = {},
                      .items = {},
                      .members = {},
                      .place = word.place,
                      .unknown = word.condition ? word.condition : first_unknown(word.text)};
  return one;
}

base::Result<Setting> parse_value(std::string_view text, const Place& place, const std::vector<std::string>& sources) {
  return ValueReader(text, place, sources).read();
}

base::Status apply_overrides(SettingTree& tree, const std::vector<Override>& overrides) {
  for (const Override& one : overrides) {
    const Setting* present = find_setting(tree.root, one.key);
    const bool is_there = present != nullptr;
    if (one.kind == Override::Kind::remove) {
      if (present && one.value && to_json(*present) != to_json(*one.value))
        return override_error(
            tree, one,
            fmt::format("{} does not have the value that the override removes; accepted: its current value, or `~{}`",
                        base::quote(one.key), one.key));
      if (!remove_setting(tree.root, one.key))
        return override_error(
            tree, one, fmt::format("cannot remove {}; accepted: an existing key of a map", base::quote(one.key)));
      continue;
    }
    if (one.kind == Override::Kind::change && !is_there)
      return override_error(tree, one,
                            fmt::format("there is no key {}; accepted: an existing key, or `+{}=...` to add it",
                                        base::quote(one.key), one.key));
    const bool is_whole = one.value && (one.value->kind == ValueKind::map || one.value->kind == ValueKind::list);
    if (one.kind == Override::Kind::add && is_there && present->kind != ValueKind::null && !is_whole)
      return override_error(
          tree, one,
          fmt::format("{} already exists; accepted: `++{}=...`, which replaces it", base::quote(one.key), one.key));
    Setting value = *one.value;
    if (const Setting* existing = find_setting(tree.root, one.key); existing && existing->kind == ValueKind::map) {
      Setting merged = *existing;
      merge_setting(merged, std::move(value));
      value = std::move(merged);
    }
    if (!put_setting(tree.root, one.key, std::move(value)))
      return override_error(
          tree, one,
          fmt::format("{} is inside a value that is not a map; accepted: a key of a map", base::quote(one.key)));
  }
  return {};
}

}  // namespace dovetail::syntax
