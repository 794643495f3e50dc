// Regular expressions over Unicode text, as tokenizers use them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::text {

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
