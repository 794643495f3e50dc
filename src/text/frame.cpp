#include "text/frame.h"

#include <fmt/format.h>

#include "text/tokenizer_parts.h"

namespace dovetail::text {
namespace {

using base::Node;
using base::Result;

constexpr std::string_view what = "TemplateProcessing";

/// The numbers of the special token that a template calls `id`.
Result<std::vector<TokenId>> ids_of(const Node& special_tokens, const Node& id) {
  const auto entry = special_tokens.is_map() && id.is_string() ? special_tokens.find(id.text()) : std::nullopt;
  if (!entry) return id.error(fmt::format("{} is no key of `special_tokens`; accepted: one of them", id.describe()));
  DOVETAIL_TRY(const Node ids, base::require(*entry, "a special token", "ids"));
  if (!ids.is_list()) return ids.error(fmt::format("`ids` is {}; accepted: a list", ids.describe()));
  std::vector<TokenId> tokens;
  for (std::size_t index = 0; index < ids.size(); ++index) {
    DOVETAIL_TRY(const std::int64_t token, base::read_whole(ids.item(index), "the number of a token", 0, max_token_id));
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

base::Status add_template(const Node& node, TextFrame& frame) {
  DOVETAIL_CHECK(base::check_keys(node, what, {"type", "single", "pair", "special_tokens"}));
  DOVETAIL_TRY(const Node single, base::require(node, what, "single"));
  DOVETAIL_TRY(const Node special, base::require(node, what, "special_tokens"));
  if (!single.is_list()) return single.error(fmt::format("`single` is {}; accepted: a list", single.describe()));
  TextFrame read;
  bool text = false;
  for (std::size_t index = 0; index < single.size(); ++index) {
    const Node piece = single.item(index);
    if (piece.is_map() && piece.find("Sequence") && !text) {
      text = true;
    } else if (const auto token = piece.is_map() ? piece.find("SpecialToken") : std::nullopt) {
      DOVETAIL_TRY(const Node id, base::require(*token, "a special token of a template", "id"));
      DOVETAIL_TRY(const std::vector<TokenId> ids, ids_of(special, id));
      std::vector<TokenId>& side = text ? read.after : read.before;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      return piece.error("this is no part of a template; accepted: a `SpecialToken`, or `Sequence` once");
    }
  }
  if (!text) return single.error("the template has no text; accepted: `Sequence` once, with special tokens around it");
  // Of several templates each frames what the one before gives.
  frame.before.insert(frame.before.begin(), read.before.begin(), read.before.end());
  frame.after.insert(frame.after.end(), read.after.begin(), read.after.end());
  return {};
}

base::Status add(const Node& node, TextFrame& frame, int depth) {
  DOVETAIL_TRY(const std::string_view type, type_of(node, "a post-processor"));
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return add_template(node, frame);
  if (type == "Sequence" && depth < max_depth)
    return for_each_part(node, "processors", [&](const Node& part) { return add(part, frame, depth + 1); });
  return unknown_type(node, "the post-processor", "`ByteLevel`, `TemplateProcessing`, `Sequence`");
}

}  // namespace

Result<TextFrame> parse_frame(const Node& node) {
  TextFrame frame;
  if (!node.is_null()) DOVETAIL_CHECK(add(node, frame, 0));
  return frame;
}

}  // namespace dovetail::text
