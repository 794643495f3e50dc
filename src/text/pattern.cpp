#include "text/pattern.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/assert.h"

namespace dovetail::text {
namespace {

/// Unicode's White_Space, as the content of a class.
constexpr std::string_view white_space =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// The expression with \s, and outside of classes \S, spelled out.
std::string with_white_space(std::string_view expression) {
  std::string result;
  bool in_class = false;
  for (std::size_t index = 0; index < expression.size(); ++index) {
    const char character = expression[index];
    if (character == '\\' && index + 1 < expression.size()) {
      const char escaped = expression[++index];
      if (escaped == 's')
        result += in_class ? std::string(white_space) : fmt::format("[{}]", white_space);
      else if (escaped == 'S' && !in_class)
        result += fmt::format("[^{}]", white_space);
      else
        result += {'\\', escaped};
      continue;
    }
    if (character == '[') in_class = true;
    if (character == ']') in_class = false;
    result += character;
  }
  return result;
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

PCRE2_SPTR as_pcre(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
/// Steps of one match: a thousand times what expressions of tokenizers take.
constexpr std::uint32_t max_steps = 1'000'000;

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled), limits(pcre2_match_context_create(nullptr)) {
    DOVETAIL_ASSERT(code != nullptr && limits != nullptr);
    pcre2_set_match_limit(limits, max_steps);
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where the machine has no such compiler, matching is slower
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }

  pcre2_code* code;
  pcre2_match_context* limits;
};

Pattern::Pattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

base::Result<Pattern> Pattern::compile(std::string_view expression) {
  const std::string spelled = with_white_space(expression);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(as_pcre(spelled), spelled.size(), options, &code, &offset, nullptr);
  if (compiled == nullptr)
    return base::bad_input(fmt::format("the expression is wrong at character {}: {}", offset, message_of(code)));
  return Pattern(std::make_unique<Code>(compiled));
}

Pattern Pattern::literal(std::string_view text) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  return Pattern(std::make_unique<Code>(
      pcre2_compile(as_pcre(text), text.size(), PCRE2_UTF | PCRE2_LITERAL, &code, &offset, nullptr)));
}

base::Result<std::vector<Range>> Pattern::matches(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
      pcre2_match_data_create_from_pattern(code_->code, nullptr), pcre2_match_data_free);
  DOVETAIL_ASSERT(data != nullptr);
  std::vector<Range> found;
  std::size_t from = 0;
  while (from < text.size()) {
    const int count = pcre2_match(code_->code, as_pcre(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY,
                                  data.get(), code_->limits);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0)
      return base::bad_input(fmt::format("the expression cannot be matched with this text: {}", message_of(count)));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    // \K may put the begin of a match behind its end, or before the one before it.
    if (ends[0] >= ends[1] || ends[0] < from)
      return base::bad_input("the expression has a match that begins behind its end");
    found.push_back({ends[0], ends[1]});
    from = ends[1];
  }
  return found;
}

}  // namespace dovetail::text
