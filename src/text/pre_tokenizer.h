// Pre-tokenization: uses a tokenizer's regular expressions to split text into pieces, which the tokenizer's model
// encodes one by one.
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

/// A range of bytes of the input.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// A compiled regular expression. The syntax is PCRE2 with Unicode classes, except that \s is Unicode's White_Space, as
/// in Oniguruma, which tokenizers use. Immutable, so it may be shared between threads.
class Pattern {
 public:
  /// Compiles an expression. The Error has no location. Its message gives the number of characters before the fault.
  static base::Result<Pattern> compile(std::string_view expression);
  /// Returns a pattern that matches the text literally.
  static Pattern literal(std::string_view text);

  /// Returns all non-empty matches from left to right. Returns an Error if a match takes too long to find, or if \K
  /// moves its begin after its end or into the previous match. REQUIRES: `text` is UTF-8.
  base::Result<std::vector<Range>> matches(std::string_view text) const;

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

 private:
  struct Code;
  explicit Pattern(std::unique_ptr<Code> code);

  std::unique_ptr<Code> code_;
};

/// Treatment of the matches of a Split. Matches are removed, become separate pieces (isolated), or join the text before
/// or after them. `contiguous`: adjacent matches together become one piece.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
constexpr auto names_of(SplitBehavior) {
  return std::array{base::EnumName{"Removed", SplitBehavior::removed},
                    base::EnumName{"Isolated", SplitBehavior::isolated},
                    base::EnumName{"MergedWithPrevious", SplitBehavior::merged_with_previous},
                    base::EnumName{"MergedWithNext", SplitBehavior::merged_with_next},
                    base::EnumName{"Contiguous", SplitBehavior::contiguous}};
}

/// Splits at the matches of an expression or, if inverted, at the text between them.
struct Split {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool inverted = false;
};

/// Splits at each number character (Unicode category N) if `individual`, otherwise at each run of number characters.
struct Digits {
  bool individual = false;
};

/// GPT-2's pre-tokenizer: splits into words, numbers and other text if `splits`, then replaces each byte by a visible
/// character (to_byte_characters).
struct ByteLevel {
  bool add_prefix_space = true;
  bool splits = true;
};

/// The steps of a `pre_tokenizer` of tokenizer.json, in order. Null means no steps.
class PreTokenizer {
 public:
  /// Parses a `pre_tokenizer`. Returns an Error at the unknown or invalid part.
  static base::Result<PreTokenizer> parse(const base::Node& node);

  /// Splits `text` into non-empty pieces. Returns the errors of Pattern::matches. REQUIRES: `text` is UTF-8.
  base::Result<std::vector<std::string>> pieces(std::string_view text) const;

  /// Whether pieces consist of characters that represent bytes.
  bool is_byte_level() const;

 private:
  using Step = std::variant<Split, Digits, ByteLevel>;
  std::vector<Step> steps_;

  base::Status add(const base::Node& node, int depth);
};

}  // namespace dovetail::text
