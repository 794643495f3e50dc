// Cuts text into the pieces that a tokenizer's model sees one by one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/result.h"

namespace dovetail::text {

/// What becomes of the matches of a Split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
constexpr auto names_of(SplitBehavior) {
  return std::array{base::EnumName{"Removed", SplitBehavior::removed},
                    base::EnumName{"Isolated", SplitBehavior::isolated},
                    base::EnumName{"MergedWithPrevious", SplitBehavior::merged_with_previous},
                    base::EnumName{"MergedWithNext", SplitBehavior::merged_with_next},
                    base::EnumName{"Contiguous", SplitBehavior::contiguous}};
}

/// At the matches of an expression, or between them where it is inverted.
struct Split {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool inverted = false;
};

/// At each number character (Unicode's category N), or at each run of them.
struct Digits {
  bool individual = false;
};

/// GPT-2's: into words, numbers and what is between them, where it is asked for; then each byte becomes a character
/// that can be seen (byte_level.h).
struct ByteLevel {
  bool add_prefix_space = true;
  bool splits = true;
};

/// The steps of a `pre_tokenizer` of tokenizer.json, one behind the other; none where it is null.
class PreTokenizer {
 public:
  /// Errors at the part that is not known or is wrong.
  static base::Result<PreTokenizer> parse(const base::Node& node);

  /// The pieces of `text`, none empty. REQUIRES: it is UTF-8.
  base::Result<std::vector<std::string>> pieces(std::string_view text) const;

  /// Whether pieces are of the characters that stand for bytes.
  bool is_byte_level() const;

 private:
  using Step = std::variant<Split, Digits, ByteLevel>;
  std::vector<Step> steps_;

  base::Status add(const base::Node& node, int depth);
};

/// A part of a text, in bytes.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// A compiled expression: PCRE2 with Unicode classes, but for \s, which is Unicode's White_Space, as in Oniguruma,
/// which tokenizers use. Immutable, so safe to share between threads.
class Pattern {
 public:
  /// An Error without a place where it is no expression; it says at which character.
  static base::Result<Pattern> compile(std::string_view expression);
  /// That finds the text itself.
  static Pattern literal(std::string_view text);

  /// The matches from left to right, none empty. An Error where one takes too long to find. REQUIRES: `text` is UTF-8.
  base::Result<std::vector<Range>> matches(std::string_view text) const;

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

 private:
  struct Code;
  explicit Pattern(std::unique_ptr<Code> code);

  std::unique_ptr<Code> code_;
};

}  // namespace dovetail::text
