#include "trainers/logs/printed_object.h"

#include <fmt/format.h>

#include <utility>

#include "base/document.h"

namespace dovetail::trainers {
namespace {

constexpr int max_depth = 64;

/// Reads one object by recursive descent.
class ObjectReader {
 public:
  ObjectReader(const ConsoleLine& line, std::size_t at) : line_(line), text_(line.text), at_(at) {}

  base::Result<std::vector<PrintedLeaf>> read() {
    const std::size_t begin = at_;
    if (!is_at('{')) return line_.error(at_, "there is no object here; accepted: {...}");
    if (base::Status read = read_map("", 0); !read.ok()) {
      if (at_ >= text_.size()) return line_.error(begin, "the object does not end in its line; accepted: {...}");
      return std::move(read).error();
    }
    return std::move(leaves_);
  }

 private:
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void skip_blanks() {
    while (is_at(' ') || is_at('\t')) ++at_;
  }
  base::Error error(std::string_view accepted) const {
    return line_.error(
        at_, fmt::format("{} stands here in an object; accepted: {}", base::quote(text_.substr(at_, 20)), accepted));
  }

  base::Status read_map(const std::string& prefix, int depth) {
    if (depth > max_depth) return error(fmt::format("at most {} objects in each other", max_depth));
    ++at_;
    for (skip_blanks(); !is_at('}'); skip_blanks()) {
      DOVETAIL_TRY(const std::string key, read_key());
      skip_blanks();
      if (!is_at(':')) return error("`:` behind a key");
      ++at_;
      skip_blanks();
      DOVETAIL_CHECK(read_value(prefix + key, depth));
      skip_blanks();
      if (is_at(',')) {
        ++at_;
      } else if (!is_at('}')) {
        return error("`,` or `}` behind a value");
      }
    }
    ++at_;
    return {};
  }

  base::Result<std::string> read_key() {
    if (is_at('\'') || is_at('"')) return read_text();
    const std::size_t begin = at_;
    at_ += digits_at(text_.substr(at_));
    if (at_ == begin) return error("a key in quotes");
    return std::string(text_.substr(begin, at_ - begin));
  }

  base::Result<std::string> read_text() {
    const char quote = text_[at_++];
    std::string text;
    while (!is_at(quote)) {
      if (at_ >= text_.size()) return error("a text that ends");
      if (is_at('\\') && at_ + 1 < text_.size()) ++at_;
      text += text_[at_++];
    }
    ++at_;
    return text;
  }

  base::Status read_value(const std::string& key, int depth) {
    const std::size_t begin = at_;
    if (is_at('{')) return read_map(key + "/", depth + 1);
    PrintedNumber number{true, std::nullopt};
    if (is_at('\'') || is_at('"')) {
      DOVETAIL_CHECK(read_text());
    } else if (is_at('[') || is_at('(')) {
      DOVETAIL_CHECK(skip_list(depth));
    } else {
      const std::string_view word = read_word();
      // What begins with a letter and has more than a word is some object's own text: `<Enum.x: 1>`, `array([1])`.
      number = printed_number(word);
      const bool other =
          word.find_first_of("<(") != std::string_view::npos && word.find_first_of(">)") != std::string_view::npos;
      if (!number.well_formed && !other) {
        at_ = begin;
        return line_.error(begin, fmt::format("{} is {}; accepted: a number", base::quote(key), base::quote(word)));
      }
    }
    leaves_.push_back({key, std::string(text_.substr(begin, at_ - begin)), number, begin});
    return {};
  }

  /// A list or a tuple of anything.
  base::Status skip_list(int depth) {
    if (depth > max_depth) return error(fmt::format("at most {} lists in each other", max_depth));
    const char end = is_at('[') ? ']' : ')';
    ++at_;
    for (skip_blanks(); !is_at(end); skip_blanks()) {
      if (at_ >= text_.size()) return error("a list that ends");
      if (is_at('\'') || is_at('"')) {
        DOVETAIL_CHECK(read_text());
      } else if (is_at('[') || is_at('(')) {
        DOVETAIL_CHECK(skip_list(depth + 1));
      } else if (is_at(']') || is_at(')')) {
        return error(end == ']' ? "`]`" : "`)`");
      } else {
        ++at_;
      }
    }
    ++at_;
    return {};
  }

  /// Up to what ends a value; what stands in brackets belongs to it.
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
    while (word.ends_with(' ')) word.remove_suffix(1);
    return word;
  }

  const ConsoleLine& line_;
  const std::string_view text_;
  std::size_t at_;
  std::vector<PrintedLeaf> leaves_;
};

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  return !((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || before == '_' || before == '/');
}

}  // namespace

base::Result<std::vector<PrintedLeaf>> read_printed_object(const ConsoleLine& line, std::size_t at) {
  return ObjectReader(line, at).read();
}

StepObject find_step_object(std::string_view text, std::string_view words) {
  constexpr std::string_view object = ": {";
  for (std::size_t at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const std::size_t step_at = at + words.size();
    const std::string_view step = text.substr(step_at, digits_at(text.substr(step_at)));
    if (begins_word(text, at) && !step.empty() && text.substr(step_at + step.size()).starts_with(object))
      return {step_at, step, step_at + step.size() + object.size() - 1};
  }
  return {};
}

base::Status add_step_object(const ConsoleLine& line, const StepObject& found, StepLogBuilder& log) {
  const auto step = logged_step(found.step);
  if (!step)
    return line.error(found.step_at, fmt::format("the step is {}; accepted: a whole number from 0 to {}",
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
