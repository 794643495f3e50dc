#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "text/byte_level.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"

namespace dovetail::text {
namespace {

using base::Node;
using base::Result;

/// GPT-2's words (encoder.py of openai/gpt-2).
constexpr std::string_view words_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A part of a text that is a match of an expression, or lies between two.
struct Piece {
  Range range;
  bool match = false;
};

std::vector<Piece> pieces_of(const std::vector<Range>& matches, std::size_t size) {
  std::vector<Piece> pieces;
  std::size_t end = 0;
  for (const Range& match : matches) {
    if (match.begin > end) pieces.push_back({{end, match.begin}, false});
    pieces.push_back({match, true});
    end = match.end;
  }
  if (end < size) pieces.push_back({{end, size}, false});
  return pieces;
}

/// Neighbours that `joins(left, right)` become one.
template <class Joins>
std::vector<Range> joined(const std::vector<Piece>& pieces, const Joins& joins) {
  std::vector<Range> ranges;
  for (std::size_t index = 0; index < pieces.size(); ++index) {
    if (index > 0 && joins(pieces[index - 1], pieces[index]))
      ranges.back().end = pieces[index].range.end;
    else
      ranges.push_back(pieces[index].range);
  }
  return ranges;
}

std::vector<Range> arranged(const std::vector<Piece>& pieces, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::isolated:
      return joined(pieces, [](const Piece&, const Piece&) { return false; });
    case SplitBehavior::contiguous:
      return joined(pieces, [](const Piece& left, const Piece& right) { return left.match == right.match; });
    case SplitBehavior::merged_with_previous:
      return joined(pieces, [](const Piece& left, const Piece& right) { return right.match && !left.match; });
    case SplitBehavior::merged_with_next:
      return joined(pieces, [](const Piece& left, const Piece& right) { return left.match && !right.match; });
    case SplitBehavior::removed:
      break;
  }
  std::vector<Range> ranges;
  for (const Piece& piece : pieces)
    if (!piece.match) ranges.push_back(piece.range);
  return ranges;
}

using Texts = std::vector<std::string>;

base::Status apply(const Split& split, const std::string& text, Texts& pieces) {
  DOVETAIL_TRY(const std::vector<Range> matches, split.pattern.matches(text));
  std::vector<Piece> all = pieces_of(matches, text.size());
  if (split.inverted)
    for (Piece& piece : all) piece.match = !piece.match;
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
  static const Pattern words = Pattern::compile(words_expression).value();
  const std::string whole = level.add_prefix_space && !text.starts_with(' ') ? " " + text : text;
  if (!level.splits) {
    pieces.push_back(to_byte_characters(whole));
    return {};
  }
  DOVETAIL_TRY(const std::vector<Range> matches, words.matches(whole));
  for (const Piece& piece : pieces_of(matches, whole.size()))
    pieces.push_back(to_byte_characters(std::string_view(whole).substr(piece.range.begin, piece.range.size())));
  return {};
}

Result<Pattern> read_pattern(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "a pattern", {"Regex", "String"}));
  if (node.size() != 1 || !node.value(0).is_string())
    return node.error(R"(this is no pattern; accepted: {"Regex": "..."} or {"String": "..."})");
  const Node value = node.value(0);
  if (node.key(0) == "String") return Pattern::literal(value.text());
  Result<Pattern> pattern = Pattern::compile(value.text());
  if (!pattern.ok()) return value.error(pattern.error().message + "; accepted: an expression that PCRE2 reads");
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
  if (type == "Sequence" && depth < max_depth)
    return for_each_part(node, "pretokenizers", [&](const Node& part) { return add(part, depth + 1); });
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
  return unknown_type(node, "the pre-tokenizer", "`Sequence`, `Split`, `Digits`, `ByteLevel`");
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

}  // namespace dovetail::text
