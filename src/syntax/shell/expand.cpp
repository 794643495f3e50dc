#include <fmt/core.h>

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

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value > 1'000'000'000 || value < -1'000'000'000)
    return std::nullopt;
  return value;
}

/// Expands a range: `1..8`, `08..10`, `8..1..2`, `a..e`. Returns an empty list if the text is not a range.
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

/// Expands the braces of one word as bash does: a brace closes at the first `}` after a comma or `..`.
class BraceExpansion {
 public:
  BraceExpansion(Shell& shell, const ShellWord& word) : shell_(shell), place_(word.place), parts_(word.parts) {
    for (const WordPart& part : parts_) {
      begins_.push_back(text_.size());
      text_ += is_plain(part) ? part.text : std::string(1, '\0');
    }
  }

  static bool is_plain(const WordPart& part) { return part.kind == WordPart::Kind::text && !part.quoted; }

  std::vector<WordParts> expand_all() { return expand(0, text_.size()); }

 private:
  /// Returns one copy of the text from `begin` to before `end` for each choice of its braces.
  std::vector<WordParts> expand(std::size_t begin, std::size_t end) {
    std::vector<WordParts> words(1);
    const ShellDepth depth(shell_, place_);
    for (std::size_t open = begin; !shell_.error && (open = text_.find('{', open)) < end;) {
      const bool is_empty_pair = open == begin && (open + 1 == end || text_[open + 1] == '}');
      const std::size_t close = is_empty_pair ? end : close_of(open, end);
      if (close == end) {
        ++open;
        continue;
      }
      append_to_each(words, slice(begin, open));
      multiply(words, choices_of(open, close));
      begin = open = close + 1;
    }
    append_to_each(words, slice(begin, end));
    return words;
  }

  /// Returns the position of the closing brace, or `end` if the brace is not closed.
  std::size_t close_of(std::size_t open, std::size_t end) {
    if (!spend_characters(end - open)) return end;
    bool has_choices = false;
    int level = 0;
    for (std::size_t at = open + 1; at < end; ++at) {
      const char c = text_[at];
      if (c == '}' && level == 0 && has_choices) return at;
      if (c == '{') ++level;
      if (c == '}' && level > 0) --level;
      const bool is_range = c == '.' && at + 2 < end && text_[at + 1] == '.' && text_[at + 2] != '}';
      has_choices = has_choices || (level == 0 && (c == ',' || is_range));
    }
    return end;
  }

  std::vector<WordParts> choices_of(std::size_t open, std::size_t close) {
    const std::string_view inside = std::string_view(text_).substr(open + 1, close - open - 1);
    if (inside.find(',') == std::string_view::npos) return range_of(open, close, inside);
    std::vector<WordParts> choices;
    int level = 0;
    std::size_t begin = open + 1;
    for (std::size_t at = begin; at <= close && !shell_.error; ++at) {
      if (at == close || (text_[at] == ',' && level == 0)) {
        for (WordParts& word : expand(begin, at)) choices.push_back(std::move(word));
        begin = at + 1;
        if (!fits(choices.size())) break;
      } else if (text_[at] == '{') {
        ++level;
      } else if (text_[at] == '}' && level > 0) {
        --level;
      }
    }
    return choices;
  }

  /// Returns the words of a range, or the braces themselves if the text between them is not a range.
  std::vector<WordParts> range_of(std::size_t open, std::size_t close, std::string_view inside) {
    const std::vector<std::string> numbers = numbers_of(inside);
    if (numbers.empty()) return {slice(open, close + 1)};
    std::vector<WordParts> words;
    WordPart word = parts_[part_at(open)];
    for (const std::string& number : numbers) {
      word.text = number;
      words.push_back({word});
    }
    return words;
  }

  std::size_t part_at(std::size_t position) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(begins_, position) - begins_.begin()) - 1;
  }

  WordParts slice(std::size_t begin, std::size_t end) const {
    WordParts result;
    while (begin < end) {
      const std::size_t i = part_at(begin);
      const std::size_t part_end = i + 1 < parts_.size() ? begins_[i + 1] : text_.size();
      result.push_back(parts_[i]);
      if (is_plain(parts_[i]))
        result.back().text = parts_[i].text.substr(begin - begins_[i], std::min(end, part_end) - begin);
      begin = part_end;
    }
    return result;
  }

  /// Replaces each word by its copies with each choice appended.
  void multiply(std::vector<WordParts>& words, const std::vector<WordParts>& choices) {
    if (!fits(words.size() * choices.size())) return;
    std::vector<WordParts> products;
    products.reserve(words.size() * choices.size());
    for (const WordParts& word : words) {
      for (const WordParts& choice : choices) {
        WordParts& product = products.emplace_back();
        product.reserve(word.size() + choice.size());
        if (!append(product, word) || !append(product, choice)) return;
      }
    }
    words = std::move(products);
  }

  void append_to_each(std::vector<WordParts>& words, const WordParts& parts) {
    for (WordParts& word : words)
      if (!append(word, parts)) return;
  }

  /// Appends a copy unless it exceeds the limits on steps and memory.
  bool append(WordParts& word, const WordParts& parts) {
    constexpr std::size_t parts_a_step = 8;
    std::size_t characters = 0;
    for (const WordPart& part : parts) characters += part.text.size();
    const auto bytes = static_cast<std::int64_t>(parts.size() * sizeof(WordPart) + characters);
    if (!spend(shell_, place_, static_cast<std::int64_t>(parts.size() / parts_a_step), bytes)) return false;
    if (!spend_characters(characters)) return false;
    word.insert(word.end(), parts.begin(), parts.end());
    return true;
  }

  bool spend_characters(std::size_t characters) {
    constexpr std::size_t characters_a_step = 64;
    return spend(shell_, place_, static_cast<std::int64_t>(characters / characters_a_step));
  }

  bool fits(std::size_t choices) {
    if (choices > max_choices)
      fail(shell_, place_, fmt::format("braces expand to too many words; accepted: at most {}", max_choices));
    return choices <= max_choices;
  }

  Shell& shell_;
  const Place& place_;
  const WordParts& parts_;
  std::vector<std::size_t> begins_;  ///< position in `text_` of each part
  std::string text_;                 ///< unquoted characters, and one zero for each other part
};

/// Returns one copy of the word for each choice of its braces.
std::vector<WordParts> expand_braces(Shell& shell, const ShellWord& word) {
  const auto has_brace = [](const WordPart& part) {
    return BraceExpansion::is_plain(part) && part.text.find('{') != std::string::npos;
  };
  if (std::ranges::none_of(word.parts, has_brace)) return {word.parts};
  return BraceExpansion(shell, word).expand_all();
}

/// Builds the fields of one word.
class FieldBuilder {
 public:
  FieldBuilder(std::vector<Word>& words, const Place& place) : words_(words), place_(place) { start(); }

  void add(const Text& text, bool makes_word) {
    append(current_.text, text);
    exists_ = exists_ || makes_word || !is_empty(text);
  }
  /// Adds words. Each word except the last ends a field.
  void add_list(const std::vector<Word>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) end_field();
      if (!exists_) current_.place = list[i].place;
      if (list[i].condition && !current_.condition) current_.condition = list[i].condition;
      add(list[i].text, true);
    }
  }
  void end_field() {
    if (exists_) words_.push_back(std::move(current_));
    start();
  }

 private:
  void start() {
    current_ = {.text = {}, .place = place_, .condition = {}};
    exists_ = false;
  }

  std::vector<Word>& words_;
  Place place_;
  Word current_;
  bool exists_ = false;
};

std::string separators_of(const Shell& shell) {
  const Variable* variable = find_variable(shell, "IFS");
  if (!variable || !variable->indexed.contains(0)) return " \t\n";
  const Text& text = variable->indexed.at(0).text;
  return is_known(text) ? std::string(characters(text)) : " \t\n";
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Splits known characters at IFS. A run of blanks is one separator; every other character separates on its own.
void split_characters(std::string_view text, const std::string& separators, FieldBuilder& fields) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    fields.add(text_of(text.substr(at, end - at)), end > at);
    if (end == text.size()) return;
    at = end;
    bool had_mark = false;
    while (at < text.size() && separators.find(text[at]) != std::string::npos) {
      if (!is_blank(text[at])) {
        if (had_mark) break;
        had_mark = true;
        // The characters before a separator form a field, which may be empty.
        fields.add({}, true);
      }
      ++at;
    }
    fields.end_field();
  }
}

void split_into(const Shell& shell, const Text& text, FieldBuilder& fields) {
  const std::string separators = separators_of(shell);
  Text names;
  names.defaulted = text.defaulted;
  fields.add(names, false);
  for (const TextPiece& piece : text.pieces) {
    if (piece.unknown) {
      Unknown unknown = *piece.unknown;
      unknown.many = true;
      fields.add(text_of(std::move(unknown)), true);
    } else {
      split_characters(piece.text, separators, fields);
    }
  }
}

Text joined(const Shell& shell, const std::vector<Word>& words) {
  const std::string separators = separators_of(shell);
  Text text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) append(text, std::string_view(separators).substr(0, 1));
    append(text, words[i].condition ? text_of(*words[i].condition) : words[i].text);
  }
  return text;
}

/// Expands `~` and `~/...` at the start of a word.
Text tilde_text(const Shell& shell, const WordPart& part) {
  const std::string& text = part.text;
  if (part.quoted || !text.starts_with('~') || (text.size() > 1 && text[1] != '/')) return text_of(text);
  const Variable* home = find_variable(shell, "HOME");
  Text result = home && home->indexed.contains(0) ? home->indexed.at(0).text : unset_text(shell, "HOME", part.place);
  append(result, std::string_view(text).substr(1));
  return result;
}

Text process_name(Shell& shell, const WordPart& part) {
  run_in_subshell(shell, part.commands.front(), false);
  return text_of(
      Unknown{.place = part.place, .what = "the file of a process substitution", .variable = {}, .many = false});
}

void expand_part(Shell& shell, const WordPart& part, bool is_first, FieldBuilder& fields);

void expand_parameter(Shell& shell, const WordPart& part, FieldBuilder& fields) {
  const ParameterValue value = parameter_value(shell, part);
  if (value.operand) {
    if (!value.words.empty()) split_into(shell, value.words.front().text, fields);
    for (std::size_t i = 0; i < value.operand->size() && !shell.error; ++i)
      expand_part(shell, (*value.operand)[i], i == 0, fields);
    return;
  }
  if (part.quoted) {
    if (value.is_list && !value.is_joined)
      fields.add_list(value.words);
    else
      fields.add(joined(shell, value.words), true);
    return;
  }
  for (std::size_t i = 0; i < value.words.size(); ++i) {
    if (i > 0) fields.end_field();
    if (value.is_list && value.words[i].condition) {
      fields.add_list({value.words[i]});
    } else {
      // Elements of arrays keep their place.
      std::vector<Word> words;
      FieldBuilder inner(words, value.is_list ? value.words[i].place : part.place);
      split_into(shell, value.words[i].text, inner);
      inner.end_field();
      const bool is_alone = value.is_list && words.size() == 1;
      if (is_alone)
        fields.add_list(words);
      else
        split_into(shell, value.words[i].text, fields);
    }
  }
}

void expand_part(Shell& shell, const WordPart& part, bool is_first, FieldBuilder& fields) {
  switch (part.kind) {
    case WordPart::Kind::text:
      return fields.add(is_first ? tilde_text(shell, part) : text_of(part.text), part.quoted);
    case WordPart::Kind::parameter:
      return expand_parameter(shell, part, fields);
    case WordPart::Kind::command:
      if (part.quoted) return fields.add(command_output(shell, part), true);
      return split_into(shell, command_output(shell, part), fields);
    case WordPart::Kind::arithmetic:
      return fields.add(to_text(compute(shell, expand_text(shell, part.operands.front()), part.place)), true);
    case WordPart::Kind::process:
      return fields.add(process_name(shell, part), true);
  }
}

std::string escaped(std::string_view text, std::string_view specials) {
  std::string result;
  for (const char c : text) {
    if (specials.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Expands one part without splitting it.
Text whole_text(Shell& shell, const WordPart& part, bool is_first) {
  if (part.kind == WordPart::Kind::parameter) {
    const ParameterValue value = parameter_value(shell, part);
    Text text = joined(shell, value.words);
    if (value.operand) append(text, expand_text(shell, *value.operand));
    return text;
  }
  std::vector<Word> words;
  FieldBuilder fields(words, part.place);
  if (part.kind == WordPart::Kind::command) return command_output(shell, part);
  expand_part(shell, part, is_first, fields);
  fields.end_field();
  return words.empty() ? Text() : words.front().text;
}

}  // namespace

void expand(Shell& shell, const ShellWord& word, std::vector<Word>& words) {
  if (shell.error) return;
  for (const WordParts& parts : expand_braces(shell, word)) {
    FieldBuilder fields(words, word.place);
    for (std::size_t i = 0; i < parts.size() && !shell.error; ++i) expand_part(shell, parts[i], i == 0, fields);
    fields.end_field();
    if (!words.empty() &&
        !spend(shell, word.place, 1, static_cast<std::int64_t>(sizeof(Word) + size_of(words.back().text))))
      return;
  }
}

Text expand_text(Shell& shell, const WordParts& parts) {
  Text text;
  for (std::size_t i = 0; i < parts.size() && !shell.error; ++i) append(text, whole_text(shell, parts[i], i == 0));
  if (!parts.empty()) spend(shell, parts.front().place, 1, static_cast<std::int64_t>(size_of(text)));
  return text;
}

Text expand_pattern(Shell& shell, const WordParts& parts, bool is_regex) {
  const std::string_view specials = is_regex ? "\\.[]{}()*+?^$|" : "\\*?[]";
  Text text;
  for (std::size_t i = 0; i < parts.size() && !shell.error; ++i) {
    const Text part = whole_text(shell, parts[i], i == 0);
    if (!parts[i].quoted || !is_known(part))
      append(text, part);
    else
      append(text, escaped(characters(part), specials));
  }
  return text;
}

std::vector<Word> split(const Shell& shell, const Text& text, const Place& place) {
  std::vector<Word> words;
  FieldBuilder fields(words, place);
  split_into(shell, text, fields);
  fields.end_field();
  return words;
}

std::vector<std::string> split_off(const Shell& shell, std::string_view text, std::size_t count) {
  const std::string separators = separators_of(shell);
  const auto is_separator = [&](char c) { return separators.find(c) != std::string::npos; };
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && is_blank(text[at]) && is_separator(text[at])) ++at;
  };
  skip_blanks();
  std::vector<std::string> fields;
  std::size_t last = at;
  while (fields.size() < count && at < text.size()) {
    last = at;
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    fields.emplace_back(text.substr(at, end - at));
    at = end;
    skip_blanks();
    if (at < text.size() && !is_blank(text[at]) && is_separator(text[at])) ++at;
    skip_blanks();
  }
  if (at == text.size() || fields.empty()) return fields;
  // The last field holds the rest.
  std::size_t end = text.size();
  while (end > last && is_blank(text[end - 1]) && is_separator(text[end - 1])) --end;
  fields.back() = text.substr(last, end - last);
  return fields;
}

Text command_output(Shell& shell, const WordPart& part) {
  Text output = run_in_subshell(shell, part.commands.front(), true);
  while (!output.pieces.empty() && !output.pieces.back().unknown) {
    std::string& last = output.pieces.back().text;
    last.erase(last.find_last_not_of('\n') + 1);
    if (!last.empty()) break;
    output.pieces.pop_back();
  }
  return output;
}

}  // namespace dovetail::syntax
