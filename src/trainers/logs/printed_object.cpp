#include "trainers/logs/printed_object.h"

#include <fmt/core.h>

#include "base/document.h"

namespace dovetail::trainers {
namespace {

using Kind = PrintedValue::Kind;

constexpr int max_depth = 64;

/// Reads one map by recursive descent.
class ValueReader {
 public:
  ValueReader(const ConsoleLine& line, std::size_t at) : line_(line), text_(line.text), at_(at) {}

  base::Result<PrintedValue> read() {
    const std::size_t begin = at_;
    if (!is_at('{')) return line_.error(at_, "not an object; accepted: {...}");
    auto map = read_map("", 0);
    if (!map.ok() && at_ >= text_.size())
      return line_.error(begin, fmt::format("the object is not closed{}; accepted: {{...}}",
                                            line_.lines.empty() ? " on its line" : ""));
    return map;
  }

 private:
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool is_at_quote() const { return is_at('\'') || is_at('"'); }
  void skip_blanks() {
    while (is_at(' ') || is_at('\t') || is_at('\n')) ++at_;
  }
  base::Error error(std::string_view accepted) const {
    return line_.error(
        at_, fmt::format("unexpected {} in an object; accepted: {}", base::quote(text_.substr(at_, 20)), accepted));
  }

  PrintedValue begun(Kind kind) const {
    PrintedValue value;
    value.kind = kind;
    value.begin = at_;
    return value;
  }

  /// Skips "..." in place of the last entries, as in excerpts.
  bool passes_over_rest() {
    constexpr std::string_view rest = "...";
    if (!text_.substr(at_).starts_with(rest) ||
        text_.find_first_not_of(" \t\n", at_ + rest.size()) != text_.find('}', at_))
      return false;
    at_ += rest.size();
    return true;
  }

  base::Result<PrintedValue> read_map(const std::string& path, int depth) {
    if (depth > max_depth) return error(fmt::format("at most {} nested objects", max_depth));
    PrintedValue map = begun(Kind::map);
    ++at_;
    for (skip_blanks(); !is_at('}'); skip_blanks()) {
      if (passes_over_rest()) continue;
      DOVETAIL_TRY(std::string key, read_key());
      skip_blanks();
      if (!is_at(':')) return error("`:` after a key");
      ++at_;
      skip_blanks();
      std::string full_path = path;
      if (!full_path.empty()) full_path += "/";
      full_path += key;
      DOVETAIL_TRY(PrintedValue value, read_value(full_path, depth));
      if (value.kind == Kind::word) DOVETAIL_CHECK(check_word(full_path, value));
      map.keys.push_back(std::move(key));
      map.items.push_back(std::move(value));
      skip_blanks();
      if (is_at(',')) {
        ++at_;
      } else if (!is_at('}')) {
        return error("`,` or `}` after a value");
      }
    }
    map.end = ++at_;
    return map;
  }

  base::Result<std::string> read_key() {
    if (is_at_quote()) return read_characters();
    const std::size_t begin = at_;
    at_ += digits_at(text_.substr(at_));
    if (at_ == begin) return error("a key in quotes");
    return std::string(text_.substr(begin, at_ - begin));
  }

  base::Result<std::string> read_characters() {
    const char quote = text_[at_++];
    std::string text;
    while (!is_at(quote)) {
      if (at_ >= text_.size() || is_at('\n')) return error("a string that ends on its line");
      const bool escaped = is_at('\\') && at_ + 1 < text_.size();
      if (escaped) ++at_;
      const char c = text_[at_++];
      text += !escaped ? c : c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    ++at_;
    return text;
  }

  /// Reads a string, or several adjacent ones.
  base::Status read_text(PrintedValue& value) {
    value.kind = Kind::text;
    for (; is_at_quote(); skip_blanks()) {
      DOVETAIL_TRY(const std::string part, read_characters());
      value.text += part;
      value.end = at_;
    }
    return {};
  }

  base::Result<PrintedValue> read_value(const std::string& path, int depth) {
    if (is_at('{')) return read_map(path, depth + 1);
    if (is_at('[') || is_at('(')) return read_list(path, depth + 1);
    PrintedValue value = begun(Kind::word);
    if (is_at_quote()) {
      DOVETAIL_CHECK(read_text(value));
    } else {
      value.text = std::string(read_word());
      value.end = at_;
    }
    return value;
  }

  /// Returns whether a word is the representation of an object: `<Enum.x: 1>`, `array([1])`.
  static bool is_of_object(std::string_view word) {
    return word.find_first_of("<(") != std::string_view::npos && word.find_first_of(">)") != std::string_view::npos;
  }

  base::Status check_word(const std::string& path, PrintedValue& value) {
    const std::string& word = value.text;
    value.number = printed_number(word);
    if (!value.number.well_formed && !is_of_object(word)) {
      at_ = value.begin;
      return line_.error(
          at_, fmt::format("{} is {}; accepted: a number, True, False, None, a string in quotes, a list or an object",
                           base::quote(path), base::quote(word)));
    }
    value.number.well_formed = true;
    return {};
  }

  /// Reads a list or a tuple.
  base::Result<PrintedValue> read_list(const std::string& path, int depth) {
    if (depth > max_depth) return error(fmt::format("at most {} nested lists", max_depth));
    PrintedValue list = begun(Kind::list);
    const char end = is_at('[') ? ']' : ')';
    ++at_;
    bool has_comma = false;
    for (skip_blanks(); !is_at(end); skip_blanks()) {
      if (at_ >= text_.size()) return error("a closed list");
      if (is_at(']') || is_at(')') || is_at('}')) return error(end == ']' ? "`]`" : "`)`");
      DOVETAIL_TRY(PrintedValue item, read_value(path, depth));
      if (item.kind == Kind::word && item.text.find_first_of("'\"") != std::string::npos && !is_of_object(item.text)) {
        at_ = item.begin;
        return error("a string in matching quotes");
      }
      list.items.push_back(std::move(item));
      skip_blanks();
      if (is_at(',')) {
        has_comma = true;
        ++at_;
      } else if (at_ < text_.size() && !is_at(end)) {
        return error(end == ']' ? "`,` or `]` after a value" : "`,` or `)` after a value");
      }
    }
    list.end = ++at_;
    const bool is_text = end == ')' && !has_comma && list.items.size() == 1 && list.items.front().kind == Kind::text;
    if (!is_text) return list;
    PrintedValue text = std::move(list.items.front());
    text.begin = list.begin;
    text.end = list.end;
    return text;
  }

  /// Reads up to the end of a value, including text in brackets.
  std::string_view read_word() {
    const std::size_t begin = at_;
    int open = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (open == 0 && (c == ',' || c == '}')) break;
      if (c == '(' || c == '[') ++open;
      if (c == ')' || c == ']') --open;
      if (open < 0) break;
    }
    std::string_view word = text_.substr(begin, at_ - begin);
    while (word.ends_with(' ') || word.ends_with('\n')) word.remove_suffix(1);
    return word;
  }

  const ConsoleLine& line_;
  const std::string_view text_;
  std::size_t at_;
};

}  // namespace

base::Result<PrintedValue> read_printed_map(const ConsoleLine& line, std::size_t at) {
  return ValueReader(line, at).read();
}

namespace {

/// Adds the leaves below a value.
void add_leaves(const ConsoleLine& line, const std::string& path, const PrintedValue& value,
                std::vector<PrintedLeaf>& leaves) {
  if (value.kind == PrintedValue::Kind::map) {
    for (std::size_t i = 0; i < value.items.size(); ++i)
      add_leaves(line, path.empty() ? value.keys[i] : path + "/" + value.keys[i], value.items[i], leaves);
    return;
  }
  const bool is_word = value.kind == PrintedValue::Kind::word;
  leaves.push_back({path, line.text.substr(value.begin, value.end - value.begin),
                    is_word ? value.number : PrintedNumber{true, std::nullopt}, value.begin});
}

/// Returns the number at the start of `text`, as written: "12", "-1", "1.5". Returns an empty string if `text` starts
/// with anything else.
std::string_view number_at(std::string_view text) {
  const std::size_t full_path = text.starts_with('-') ? 1 : 0;
  std::size_t end = full_path + digits_at(text.substr(full_path));
  if (end == full_path) return {};
  if (text.substr(end).starts_with('.')) end += 1 + digits_at(text.substr(end + 1));
  return text.substr(0, end);
}

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  return !((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || before == '_' || before == '/');
}

}  // namespace

base::Result<std::vector<PrintedLeaf>> read_printed_object(const ConsoleLine& line, std::size_t at) {
  DOVETAIL_TRY(const PrintedValue map, read_printed_map(line, at));
  std::vector<PrintedLeaf> leaves;
  add_leaves(line, "", map, leaves);
  return leaves;
}

StepObject find_step_object(std::string_view text, std::string_view marker) {
  constexpr std::string_view object = ": {";
  for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
    const std::size_t step_at = at + marker.size();
    const std::string_view step = number_at(text.substr(step_at));
    const std::size_t step_end = step_at + step.size();
    if (begins_word(text, at) && !step.empty() && text.substr(step_end).starts_with(object))
      return {step_at, step, step_end + object.size() - 1};
  }
  return {};
}

base::Status add_step_object(const ConsoleLine& line, const StepObject& found, StepLogBuilder& log) {
  const auto step = logged_step(found.step);
  if (!step)
    return line.error(found.step_at, fmt::format("the step is {}; accepted: an integer from 0 to {}",
                                                 base::quote(found.step), max_step_number));
  DOVETAIL_TRY(const std::vector<PrintedLeaf> leaves, read_printed_object(line, found.object_at));
  for (const PrintedLeaf& leaf : leaves) add_leaf(line, leaf.key, leaf, *step, log);
  return {};
}

void add_leaf(const ConsoleLine& line, const std::string& key, const PrintedLeaf& leaf, std::int64_t step,
              StepLogBuilder& log) {
  if (leaf.number.value)
    log.add(key, *line.path, {step, *leaf.number.value, line.line, line.columns[leaf.at]});
  else
    log.add_not_number();
}

}  // namespace dovetail::trainers
