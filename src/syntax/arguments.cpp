#include "syntax/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/document.h"

namespace dovetail::syntax {
namespace {

/// Calls `take` with each of the names separated by |.
template <class Take>
void each_name(std::string_view names, Take take) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('|'), names.size());
    take(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether argparse accepts the word as a negative number: `-1`, `-.5`, without an exponent.
bool is_negative_number(std::string_view word) {
  if (word.size() < 2 || word.front() != '-') return false;
  word.remove_prefix(1);
  const std::size_t dot = word.find('.');
  const std::string_view integer_part = word.substr(0, dot);
  const std::string_view part = dot == std::string_view::npos ? std::string_view() : word.substr(dot + 1);
  if (dot == std::string_view::npos ? integer_part.empty() : part.empty()) return false;
  return std::all_of(integer_part.begin(), integer_part.end(), is_digit) &&
         std::all_of(part.begin(), part.end(), is_digit);
}

/// Returns the known characters at the start of a word.
std::string_view known_head(const Word& word) {
  const std::vector<TextPiece>& pieces = word.text.pieces;
  return pieces.empty() || pieces.front().unknown ? std::string_view() : std::string_view(pieces.front().text);
}

bool looks_like_flag(const Word& word) {
  const std::string_view head = known_head(word);
  if (head.size() < 2 || head.front() != '-' || (is_known(word.text) && is_negative_number(head))) return false;
  return head.substr(0, head.find('=')).find(' ') == std::string_view::npos;
}

/// The flag that a word refers to.
struct Called {
  const Flag* flag = nullptr;
  bool negated = false;       ///< `--no-x`
  std::optional<Text> value;  ///< text after `=`
};

/// Returns the rest of `text` after position `at` of its first piece.
Text text_after(const Text& text, std::size_t at) {
  Text rest;
  append(rest, std::string_view(text.pieces.front().text).substr(at + 1));
  for (std::size_t i = 1; i < text.pieces.size(); ++i) rest.pieces.push_back(text.pieces[i]);
  return rest;
}

/// Drops the folder of a path if it is unknown and the part after it is known.
Text without_unknown_folder(Text text) {
  std::vector<TextPiece>& pieces = text.pieces;
  if (is_known(text) || pieces.back().unknown) return text;
  const std::string& tail = pieces.back().text;
  const std::size_t slash = tail.find('/');
  if (slash == std::string::npos || slash + 1 == tail.size()) return text;
  return text_of(std::string_view(tail).substr(slash + 1));
}

std::string words_of(FlagKind kind) {
  switch (kind) {
    case FlagKind::integer:
      return "an integer";
    case FlagKind::number:
      return "a number";
    case FlagKind::pair:
      return "two numbers";
    default:
      return "a value";
  }
}

/// Returns the accepted values of a flag for messages.
std::string accepted_values(const Flag& flag) {
  if (flag.accepted.empty()) return words_of(flag.kind);
  std::vector<std::string_view> values;
  each_name(flag.accepted, [&](std::string_view each) { values.push_back(each); });
  return fmt::format("{}", fmt::join(values, ", "));
}

Setting::Kind kind_of(FlagKind kind) {
  switch (kind) {
    case FlagKind::on:
    case FlagKind::either:
      return Setting::Kind::boolean;
    case FlagKind::integer:
    case FlagKind::number:
    case FlagKind::pair:
      return Setting::Kind::number;
    default:
      return Setting::Kind::string;
  }
}

/// Returns a number that Python accepts in the form that YAML uses, or nullopt if `text` is not a number.
std::optional<std::string> number_text(FlagKind kind, std::string_view argument) {
  std::string text;
  for (const char c : argument)
    if (c != '_' && c != ' ') text += c;
  if (text.starts_with('+')) text.erase(0, 1);
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (kind == FlagKind::integer &&
      !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(), is_digit))
    return std::nullopt;
  return text;
}

class ArgumentReader {
 public:
  ArgumentReader(std::span<const Flag> flags, std::span<const Word> words, const std::vector<std::string>& sources)
      : flags_(flags), words_(words) {
    read_.tree.sources = sources;
    for (const Flag& flag : flags) put_setting(read_.tree.root, flag.name, default_of(flag));
  }

  base::Result<Arguments> read() {
    while (at_ < words_.size()) DOVETAIL_CHECK(read_word());
    return std::move(read_);
  }

 private:
  static Setting default_of(const Flag& flag) {
    Setting setting;
    const bool is_switch = flag.kind == FlagKind::on;
    if (flag.fallback.empty() && !is_switch) return setting;
    setting.kind = kind_of(flag.kind);
    setting.text = is_switch && flag.fallback.empty() ? "false" : std::string(flag.fallback);
    return setting;
  }

  base::Error error(const Word& word, std::string message) const {
    const auto source = static_cast<std::size_t>(word.place.source);
    return {.failure = base::Failure::bad_input,
            .path = source < read_.tree.sources.size() ? read_.tree.sources[source] : std::string(),
            .line = word.place.line,
            .column = word.place.column,
            .message = std::move(message)};
  }

  /// Returns the flag with this name or older name.
  Called exact(std::string_view name) const {
    for (const Flag& flag : flags_) {
      if (flag.name == name) return {.flag = &flag, .negated = false, .value = {}};
      if (flag.kind == FlagKind::either && name.starts_with("--no-") && name.substr(5) == flag.name.substr(2))
        return {.flag = &flag, .negated = true, .value = {}};
      bool older = false;
      each_name(flag.older_names, [&](std::string_view each) { older = older || each == name; });
      if (older) return {.flag = &flag, .negated = false, .value = {}};
    }
    return {};
  }

  /// Returns the only flag whose name starts with `name`. Current names are tried before older ones.
  base::Result<Called> begun(const Word& word, std::string_view name) const {
    for (const bool older : {false, true}) {
      std::vector<std::string> names;
      const Flag* found = nullptr;
      for (const Flag& flag : flags_)
        each_name(older ? flag.older_names : flag.name, [&](std::string_view each) {
          if (!each.starts_with(name)) return;
          names.emplace_back(each);
          found = &flag;
        });
      if (names.size() == 1) return Called{.flag = found, .negated = false, .value = {}};
      if (!names.empty())
        return error(word, fmt::format("the flag {} is ambiguous; accepted: one of {}", base::quote(name),
                                       fmt::join(names, ", ")));
    }
    return Called{};
  }

  base::Result<Called> called(const Word& word) const {
    const std::string_view head = known_head(word);
    if (is_known(word.text)) {
      if (Called exact_match = exact(head); exact_match.flag != nullptr) return exact_match;
    }
    const std::size_t equals = head.find('=');
    if (equals == std::string_view::npos && !is_known(word.text)) return Called{};
    const std::string_view name = head.substr(0, equals);
    Called found = exact(name);
    if (found.flag == nullptr && name.starts_with("--") && name.size() > 2) {
      DOVETAIL_TRY(found, begun(word, name));
    }
    if (found.flag != nullptr && equals != std::string_view::npos) found.value = text_after(word.text, equals);
    return found;
  }

  base::Status read_word() {
    const Word& word = words_[at_++];
    if (!looks_like_flag(word)) {
      std::vector<StrayArgument>& stray = is_known(word.text) ? read_.unknown : read_.uncertain;
      stray.push_back({.text = describe(word.text), .place = word.place});
      return {};
    }
    DOVETAIL_TRY(const Called flag, called(word));
    if (flag.flag != nullptr) return read_flag(word, flag);
    read_.unknown.push_back({.text = describe(word.text), .place = word.place});
    // The words that follow are values of the unknown flag.
    while (at_ < words_.size() && !looks_like_flag(words_[at_])) ++at_;
    return {};
  }

  base::Status read_flag(const Word& word, const Called& called) {
    const Flag& flag = *called.flag;
    Setting setting;
    if (flag.kind == FlagKind::on || flag.kind == FlagKind::either) {
      if (called.value)
        return error(word, fmt::format("{0} is a switch but has a value; accepted: {0} alone", flag.name));
      setting.kind = Setting::Kind::boolean;
      setting.text = called.negated ? "false" : "true";
    } else if (flag.kind == FlagKind::list || flag.kind == FlagKind::pair) {
      DOVETAIL_TRY(setting, list_of(word, called));
    } else {
      DOVETAIL_TRY(const Word value, value_of(word, called));
      DOVETAIL_TRY(setting, single(flag, value));
      if (value.condition && !setting.unknown) setting.unknown = value.condition;
    }
    setting.place = word.place;
    if (word.condition) setting.unknown = word.condition;
    put_setting(read_.tree.root, flag.name, std::move(setting));
    return {};
  }

  /// Returns the value of a flag that expects one word.
  base::Result<Word> value_of(const Word& word, const Called& called) {
    if (called.value) return Word{.text = *called.value, .place = word.place, .condition = word.condition};
    if (at_ < words_.size() && !looks_like_flag(words_[at_])) return words_[at_++];
    return error(word, fmt::format("{} has no value; accepted: {}", called.flag->name, accepted_values(*called.flag)));
  }

  base::Result<Setting> list_of(const Word& word, const Called& called) {
    const Flag& flag = *called.flag;
    Setting list{.kind = Setting::Kind::list, .text = {}, .items = {}, .members = {}, .place = {}, .unknown = {}};
    const std::size_t most = flag.kind == FlagKind::pair ? 2 : words_.size();
    if (called.value) {
      DOVETAIL_TRY(Setting item, single(flag, {.text = *called.value, .place = word.place, .condition = {}}));
      list.items.push_back(std::move(item));
    }
    while (!called.value && list.items.size() < most && at_ < words_.size() && !looks_like_flag(words_[at_])) {
      DOVETAIL_TRY(Setting item, single(flag, words_[at_++]));
      list.items.push_back(std::move(item));
    }
    if (flag.kind == FlagKind::pair && list.items.size() != 2)
      return error(word, fmt::format("{} has {} of 2 values; accepted: two numbers", flag.name, list.items.size()));
    return list;
  }

  base::Result<Setting> single(const Flag& flag, const Word& word) const {
    const Text text = flag.kind == FlagKind::path ? without_unknown_folder(word.text) : word.text;
    Setting setting;
    setting.place = word.place;
    if (!is_known(text)) {
      setting.kind = Setting::Kind::unknown;
      setting.unknown = first_unknown(text);
      return setting;
    }
    setting.kind = kind_of(flag.kind);
    setting.text = std::string(characters(text));
    if (setting.kind == Setting::Kind::number) {
      const std::optional<std::string> number = number_text(flag.kind, setting.text);
      if (!number)
        return error(word, fmt::format("{} is {}; accepted: {}", flag.name, base::quote(setting.text),
                                       flag.kind == FlagKind::integer ? "an integer" : "a number"));
      setting.text = *number;
    }
    bool accepted = flag.accepted.empty();
    each_name(flag.accepted, [&](std::string_view each) { accepted = accepted || each == setting.text; });
    if (accepted) return setting;
    return error(word,
                 fmt::format("{} is {}; accepted: {}", flag.name, base::quote(setting.text), accepted_values(flag)));
  }

  std::span<const Flag> flags_;
  std::span<const Word> words_;
  std::size_t at_ = 0;
  Arguments read_;
};

}  // namespace

base::Result<Arguments> parse_arguments(std::span<const Flag> flags, std::span<const Word> words,
                                        const std::vector<std::string>& sources) {
  return ArgumentReader(flags, words, sources).read();
}

}  // namespace dovetail::syntax
