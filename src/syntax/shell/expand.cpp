#include <algorithm>
#include <utility>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

/// Puts the fields of one word together.
class FieldBuilder {
 public:
  FieldBuilder(std::vector<Word>& words, const Place& place) : words_(words), place_(place) { start(); }

  void add(const Text& text, bool makes_word) {
    append(current_.text, text);
    exists_ = exists_ || makes_word || !is_empty(text);
  }
  /// Each word but the last ends a field.
  void add_list(const std::vector<Word>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) end_field();
      if (!exists_) current_.place = list[i].place;
      if (list[i].doubt && !current_.doubt) current_.doubt = list[i].doubt;
      add(list[i].text, true);
    }
  }
  void end_field() {
    if (exists_) words_.push_back(std::move(current_));
    start();
  }

 private:
  void start() {
    current_ = {.text = {}, .place = place_, .doubt = {}};
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

/// Fields of known characters by IFS: blanks in a row are one separator, others each.
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
        // What stands before a mark is a field, also where it is empty.
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
  for (const Piece& piece : text.pieces) {
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
    append(text, words[i].doubt ? text_of(*words[i].doubt) : words[i].text);
  }
  return text;
}

/// `~` and `~/...` at the begin of a word.
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
  return text_of(Unknown{.place = part.place, .what = "the name of a process's file", .variable = {}, .many = false});
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
    if (value.is_list && value.words[i].doubt) {
      fields.add_list({value.words[i]});
    } else {
      // An element of an array keeps its place.
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

/// The text of one part that is not split.
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
  // The last one is all that is left.
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
