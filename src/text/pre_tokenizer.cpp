#include "text/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/assert.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace dovetail::text {
namespace {

using base::Node;
using base::Result;

/// GPT-2's expression for words (encoder.py of openai/gpt-2).
constexpr std::string_view word_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A part of the input: a match of an expression, or the text between two matches.
struct MatchedRange {
  Range range;
  bool match = false;
};

std::vector<MatchedRange> pieces_of(const std::vector<Range>& matches, std::size_t size) {
  std::vector<MatchedRange> pieces;
  std::size_t end = 0;
  for (const Range& match : matches) {
    if (match.begin > end) pieces.push_back({{end, match.begin}, false});
    pieces.push_back({match, true});
    end = match.end;
  }
  if (end < size) pieces.push_back({{end, size}, false});
  return pieces;
}

/// Joins neighbors for which `joins(left, right)` holds.
template <class Joins>
std::vector<Range> joined(const std::vector<MatchedRange>& pieces, const Joins& joins) {
  std::vector<Range> ranges;
  for (std::size_t index = 0; index < pieces.size(); ++index) {
    if (index > 0 && joins(pieces[index - 1], pieces[index]))
      ranges.back().end = pieces[index].range.end;
    else
      ranges.push_back(pieces[index].range);
  }
  return ranges;
}

std::vector<Range> arranged(const std::vector<MatchedRange>& pieces, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::isolated:
      return joined(pieces, [](const MatchedRange&, const MatchedRange&) { return false; });
    case SplitBehavior::contiguous:
      return joined(pieces,
                    [](const MatchedRange& left, const MatchedRange& right) { return left.match == right.match; });
    case SplitBehavior::merged_with_previous:
      return joined(pieces,
                    [](const MatchedRange& left, const MatchedRange& right) { return right.match && !left.match; });
    case SplitBehavior::merged_with_next:
      return joined(pieces,
                    [](const MatchedRange& left, const MatchedRange& right) { return left.match && !right.match; });
    case SplitBehavior::removed:
      break;
  }
  std::vector<Range> ranges;
  for (const MatchedRange& piece : pieces)
    if (!piece.match) ranges.push_back(piece.range);
  return ranges;
}

using Texts = std::vector<std::string>;

base::Status apply(const Split& split, const std::string& text, Texts& pieces) {
  DOVETAIL_TRY(const std::vector<Range> matches, split.pattern.matches(text));
  std::vector<MatchedRange> all = pieces_of(matches, text.size());
  if (split.inverted)
    for (MatchedRange& piece : all) piece.match = !piece.match;
  for (const Range& range : arranged(all, split.behavior)) pieces.push_back(text.substr(range.begin, range.size()));
  return {};
}

base::Status apply(const Digits& digits, const std::string& text, Texts& pieces) {
  std::vector<Range> matches;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto [code, length] = first_character(std::string_view(text).substr(begin));
    if (is_number(code)) matches.push_back({begin, begin + length});
    begin += length;
  }
  const SplitBehavior behavior = digits.individual ? SplitBehavior::isolated : SplitBehavior::contiguous;
  for (const Range& range : arranged(pieces_of(matches, text.size()), behavior))
    pieces.push_back(text.substr(range.begin, range.size()));
  return {};
}

base::Status apply(const ByteLevel& level, const std::string& text, Texts& pieces) {
  static const Pattern word_pattern = Pattern::compile(word_expression).value();
  const std::string prefixed = level.add_prefix_space && !text.starts_with(' ') ? " " + text : text;
  if (!level.splits) {
    pieces.push_back(to_byte_characters(prefixed));
    return {};
  }
  DOVETAIL_TRY(const std::vector<Range> matches, word_pattern.matches(prefixed));
  for (const MatchedRange& piece : pieces_of(matches, prefixed.size()))
    pieces.push_back(to_byte_characters(std::string_view(prefixed).substr(piece.range.begin, piece.range.size())));
  return {};
}

Result<Pattern> read_pattern(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "a pattern", {"Regex", "String"}));
  if (node.size() != 1 || !node.value(0).is_string())
    return node.error(R"(this is not a pattern; accepted: {"Regex": "..."} or {"String": "..."})");
  const Node value = node.value(0);
  if (node.key(0) == "String") return Pattern::literal(value.text());
  Result<Pattern> pattern = Pattern::compile(value.text());
  if (!pattern.ok()) return value.error(pattern.error().message + "; accepted: an expression that PCRE2 can compile");
  return pattern;
}

Result<Split> read_split(const Node& map) {
  DOVETAIL_CHECK(base::check_keys(map, "a Split", {"type", "pattern", "behavior", "invert"}));
  DOVETAIL_TRY(const Node pattern, base::require(map, "a Split", "pattern"));
  DOVETAIL_TRY(const Node behavior, base::require(map, "a Split", "behavior"));
  DOVETAIL_TRY(Pattern compiled, read_pattern(pattern));
  Split split{std::move(compiled)};
  DOVETAIL_TRY(split.behavior, base::read_enum<SplitBehavior>(behavior, "`behavior`"));
  DOVETAIL_CHECK(read_flag(map, "invert", split.inverted));
  return split;
}

}  // namespace

base::Status PreTokenizer::add(const Node& node, int depth) {
  DOVETAIL_TRY(const std::string_view type, type_of(node, "a pre-tokenizer"));
  if (type == "Sequence")
    return for_each_component(node, "pretokenizers", depth,
                              [&](const Node& component) { return add(component, depth + 1); });
  if (type == "Split") {
    DOVETAIL_TRY(Split split, read_split(node));
    steps_.emplace_back(std::move(split));
    return {};
  }
  if (type == "Digits") {
    DOVETAIL_CHECK(base::check_keys(node, "Digits", {"type", "individual_digits"}));
    Digits digits;
    DOVETAIL_CHECK(read_flag(node, "individual_digits", digits.individual));
    steps_.emplace_back(digits);
    return {};
  }
  if (type == "ByteLevel") {
    DOVETAIL_CHECK(base::check_keys(node, "ByteLevel", {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    ByteLevel level;
    DOVETAIL_CHECK(read_flag(node, "add_prefix_space", level.add_prefix_space));
    DOVETAIL_CHECK(read_flag(node, "use_regex", level.splits));
    steps_.emplace_back(level);
    return {};
  }
  return unknown_type(
      node, "the pre-tokenizer",
      depth == 0 ? "`Sequence`, `Split`, `Digits`, `ByteLevel`, null" : "`Sequence`, `Split`, `Digits`, `ByteLevel`");
}

Result<PreTokenizer> PreTokenizer::parse(const Node& node) {
  PreTokenizer parsed;
  if (!node.is_null()) DOVETAIL_CHECK(parsed.add(node, 0));
  return parsed;
}

Result<std::vector<std::string>> PreTokenizer::pieces(std::string_view text) const {
  Texts pieces;
  if (!text.empty()) pieces.emplace_back(text);
  for (const Step& step : steps_) {
    Texts cut;
    for (const std::string& piece : pieces)
      DOVETAIL_CHECK(std::visit([&](const auto& known) { return apply(known, piece, cut); }, step));
    pieces = std::move(cut);
  }
  return pieces;
}

bool PreTokenizer::is_byte_level() const {
  for (const Step& step : steps_)
    if (std::holds_alternative<ByteLevel>(step)) return true;
  return false;
}

namespace {

/// Unicode's White_Space, as the content of a character class.
constexpr std::string_view white_space =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// An expression with \s, and \S outside character classes, expanded.
struct Expansion {
  std::string text;
  std::vector<std::size_t> origins;  ///< [byte of text] offset in the expression that it comes from
};

Expansion with_white_space(std::string_view expression) {
  Expansion expanded;
  bool in_class = false;
  for (std::size_t index = 0; index < expression.size(); ++index) {
    const std::size_t origin = index;
    std::string next(1, expression[index]);
    if (next == "\\" && index + 1 < expression.size()) {
      const char escaped = expression[++index];
      if (escaped == 's')
        next = in_class ? std::string(white_space) : fmt::format("[{}]", white_space);
      else if (escaped == 'S' && !in_class)
        next = fmt::format("[^{}]", white_space);
      else
        next += escaped;
    }
    if (next == "[") in_class = true;
    if (next == "]") in_class = false;
    expanded.text += next;
    expanded.origins.resize(expanded.text.size(), origin);
  }
  return expanded;
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

PCRE2_SPTR as_pcre(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
/// Step limit of one match: a thousand times the needs of tokenizer expressions.
constexpr std::uint32_t max_steps = 1'000'000;

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled), limits(pcre2_match_context_create(nullptr)) {
    DOVETAIL_ASSERT(code != nullptr && limits != nullptr);
    pcre2_set_match_limit(limits, max_steps);
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // if the machine has no JIT compiler, matching is slower
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
  const Expansion expanded = with_white_space(expression);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(as_pcre(expanded.text), expanded.text.size(), options, &code, &offset, nullptr);
  if (compiled == nullptr) {
    const std::size_t origin = offset < expanded.origins.size() ? expanded.origins[offset] : expression.size();
    const std::string_view before = expression.substr(0, origin);
    const auto starts_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
    return base::bad_input(fmt::format("the expression is invalid after character {}: {}",
                                       std::count_if(before.begin(), before.end(), starts_character),
                                       message_of(code)));
  }
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
      return base::bad_input(fmt::format("the expression cannot be matched against this text: {}", message_of(count)));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    // \K may move the begin of a match beyond its end, or before the previous match.
    if (ends[0] >= ends[1] || ends[0] < from)
      return base::bad_input("the expression has a match that begins after its end or before the previous match ends");
    found.push_back({ends[0], ends[1]});
    from = ends[1];
  }
  return found;
}

}  // namespace dovetail::text
