#include "text/added_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace dovetail::text {
namespace {

using base::Node;

base::Result<AddedToken> parse_token(const Node& node) {
  constexpr std::string_view what = "an added token";
  DOVETAIL_CHECK(
      base::check_keys(node, what, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
  DOVETAIL_TRY(const Node id, base::require(node, what, "id"));
  DOVETAIL_TRY(const Node content, base::require(node, what, "content"));
  AddedToken token;
  DOVETAIL_TRY(const std::int64_t number, base::read_integer(id, "the `id` of an added token", 0, max_token_id));
  token.id = static_cast<TokenId>(number);
  if (!content.is_string() || content.text().empty())
    return content.error(
        fmt::format("the content of an added token is {}; accepted: a non-empty string", content.describe()));
  token.content = content.text();
  const std::pair<std::string_view, bool*> flags[] = {{"single_word", &token.single_word},
                                                      {"lstrip", &token.takes_left},
                                                      {"rstrip", &token.takes_right},
                                                      {"normalized", &token.normalized},
                                                      {"special", &token.special}};
  for (const auto& [key, flag] : flags) DOVETAIL_CHECK(read_flag(node, key, *flag));
  return token;
}

/// Returns the offset of the last character of `text`. REQUIRES: it is not empty.
std::size_t last_character_begin(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word(first_character(text.substr(last_character_begin(text))).code);
}

bool starts_with_word(std::string_view text) { return !text.empty() && is_word(first_character(text).code); }

/// Returns the number of bytes of trailing white space.
std::size_t white_space_at_end(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const std::size_t begin = last_character_begin(text);
    if (!is_white_space(first_character(text.substr(begin)).code)) break;
    text = text.substr(0, begin);
  }
  return size - text.size();
}

std::size_t white_space_at_start(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (!is_white_space(code)) break;
    text.remove_prefix(length);
  }
  return size - text.size();
}

constexpr std::size_t byte_count = 256;

}  // namespace

base::Result<std::vector<AddedToken>> parse_added_tokens(const Node& node) {
  if (!node.is_list()) return node.error(fmt::format("`added_tokens` is {}; accepted: a list", node.describe()));
  std::vector<AddedToken> tokens;
  std::set<TokenId> ids;
  std::set<std::string> contents;
  for (std::size_t index = 0; index < node.size(); ++index) {
    DOVETAIL_TRY(AddedToken token, parse_token(node.item(index)));
    if (!ids.insert(token.id).second || !contents.insert(token.content).second)
      return node.item(index).error(
          fmt::format("the added token {} with id {} has the id or the content of an earlier one; accepted: unique ids "
                      "and contents",
                      base::quote(token.content), token.id));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, bool normalized)
    : by_first_byte_(byte_count) {
  for (const AddedToken& token : tokens)
    if (token.normalized == normalized)
      by_first_byte_[static_cast<unsigned char>(token.content.front())].push_back(&token);
  for (std::vector<const AddedToken*>& alike : by_first_byte_)
    std::sort(alike.begin(), alike.end(),
              [](const AddedToken* a, const AddedToken* b) { return a->content.size() > b->content.size(); });
}

const AddedToken* AddedTokenFinder::token_at(std::string_view text) const {
  for (const AddedToken* token : by_first_byte_[static_cast<unsigned char>(text.front())])
    if (text.starts_with(token->content)) return token;
  return nullptr;
}

std::vector<TextPart> AddedTokenFinder::parts(std::string_view text) const {
  std::vector<TextPart> parts;
  std::size_t end = 0;  // end of the last part
  for (std::size_t at = 0; at < text.size() && !by_first_byte_.empty();) {
    const AddedToken* token = token_at(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t stop = at + token->content.size();
    at = stop;
    if (token->single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(stop)))) continue;
    if (token->takes_left) begin = std::max(begin - white_space_at_end(text.substr(0, begin)), end);
    if (token->takes_right) stop += white_space_at_start(text.substr(stop));
    // White space that belongs to the previous token does not also belong to this one.
    begin = std::max(begin, end);
    if (begin > end) parts.push_back({nullptr, text.substr(end, begin - end)});
    parts.push_back({token, text.substr(begin, stop - begin)});
    end = stop;
    at = std::max(at, stop);
  }
  if (end < text.size()) parts.push_back({nullptr, text.substr(end)});
  return parts;
}

namespace {

using base::Node;
using base::Result;

constexpr std::string_view template_name = "TemplateProcessing";

/// Returns the token ids of the special token that a template names `id`.
Result<std::vector<TokenId>> ids_of(const Node& special_tokens, const Node& id) {
  const auto entry = special_tokens.is_map() && id.is_string() ? special_tokens.find(id.text()) : std::nullopt;
  if (!entry)
    return id.error(fmt::format("{} is not a key of `special_tokens`; accepted: one of its keys", id.describe()));
  DOVETAIL_TRY(const Node ids, base::require(*entry, "a special token", "ids"));
  if (!ids.is_list()) return ids.error(fmt::format("`ids` is {}; accepted: a list", ids.describe()));
  std::vector<TokenId> tokens;
  for (std::size_t index = 0; index < ids.size(); ++index) {
    DOVETAIL_TRY(const std::int64_t token, base::read_integer(ids.item(index), "a token id", 0, max_token_id));
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

base::Status add_template(const Node& node, TextFrame& frame) {
  DOVETAIL_CHECK(base::check_keys(node, template_name, {"type", "single", "pair", "special_tokens"}));
  DOVETAIL_TRY(const Node single, base::require(node, template_name, "single"));
  DOVETAIL_TRY(const Node special, base::require(node, template_name, "special_tokens"));
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
      return piece.error(
          "this item of the template is unknown, or a second `Sequence`; accepted: `SpecialToken`, or `Sequence` once");
    }
  }
  if (!text)
    return single.error("the template has no `Sequence`; accepted: `Sequence` once, with special tokens around it");
  // Each of several templates frames the result of the previous one.
  frame.before.insert(frame.before.begin(), read.before.begin(), read.before.end());
  frame.after.insert(frame.after.end(), read.after.begin(), read.after.end());
  return {};
}

base::Status add(const Node& node, TextFrame& frame, int depth) {
  DOVETAIL_TRY(const std::string_view type, type_of(node, "a post-processor"));
  if (type == "ByteLevel") return {};
  if (type == template_name) return add_template(node, frame);
  if (type == "Sequence")
    return for_each_component(node, "processors", depth,
                              [&](const Node& component) { return add(component, frame, depth + 1); });
  return unknown_type(node, "the post-processor",
                      depth == 0 ? "`ByteLevel`, `TemplateProcessing`, `Sequence`, null"
                                 : "`ByteLevel`, `TemplateProcessing`, `Sequence`");
}

}  // namespace

Result<TextFrame> parse_frame(const Node& node) {
  TextFrame frame;
  if (!node.is_null()) DOVETAIL_CHECK(add(node, frame, 0));
  return frame;
}

}  // namespace dovetail::text
