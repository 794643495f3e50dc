#include "text/byte_pairs.h"

#include <fmt/core.h>

#include <array>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace dovetail::text {
namespace {

using base::Node;
using base::Result;

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

/// Returns the two sides of a merge: "a b" or ["a", "b"].
Result<std::array<std::string_view, 2>> sides_of(const Node& node) {
  if (node.is_string()) {
    const std::string_view text = node.text();
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos)
      return std::array{text.substr(0, space), text.substr(space + 1)};
  }
  if (node.is_list() && node.size() == 2 && node.item(0).is_string() && node.item(1).is_string())
    return std::array{node.item(0).text(), node.item(1).text()};
  return node.error(fmt::format(R"(this merge is {}; accepted: "left right" or ["left", "right"])", node.describe()));
}

/// Returns an Error unless the key is missing, null, empty or false.
base::Status reject_unless_off(const Node& model, std::string_view key) {
  const auto node = model.find(key);
  const bool off = !node || node->is_null() || (node->is_string() && node->text().empty()) ||
                   (node->is_boolean() && node->text() == "false");
  return off ? base::Status()
             : node->error(fmt::format("`{}` is {}; accepted: null, false or an empty string", key, node->describe()));
}

/// A token of a piece in a linked list, from which merges remove entries.
struct Link {
  TokenId token = 0;
  int previous = -1;
  int next = -1;
  bool gone = false;
};

}  // namespace

base::Status BytePairs::read_vocabulary(const Node& node) {
  if (!node.is_map())
    return node.error(fmt::format("`vocab` is {}; accepted: a map from tokens to ids", node.describe()));
  for (std::size_t index = 0; index < node.size(); ++index) {
    DOVETAIL_TRY(const std::int64_t id, base::read_integer(node.value(index), "a token id", 0, max_token_id));
    vocabulary_.emplace(node.key(index), static_cast<TokenId>(id));
  }
  return {};
}

base::Status BytePairs::read_merges(const Node& node) {
  if (!node.is_list()) return node.error(fmt::format("`merges` is {}; accepted: a list", node.describe()));
  for (std::size_t index = 0; index < node.size(); ++index) {
    const Node merge = node.item(index);
    DOVETAIL_TRY(const auto sides, sides_of(merge));
    std::array<TokenId, 2> tokens{};
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const auto found = vocabulary_.find(sides[side]);
      if (found == vocabulary_.end())
        return merge.error(
            fmt::format("{} in this merge is not a token; accepted: tokens of `vocab`", base::quote(sides[side])));
      tokens[side] = found->second;
    }
    const auto merged = vocabulary_.find(std::string(sides[0]) + std::string(sides[1]));
    if (merged == vocabulary_.end())
      return merge.error(fmt::format("the result of this merge, {}, is not a token; accepted: tokens of `vocab`",
                                     base::quote(std::string(sides[0]) + std::string(sides[1]))));
    merges_.insert_or_assign(pair_key(tokens[0], tokens[1]), Merge{static_cast<std::int32_t>(index), merged->second});
  }
  return {};
}

Result<BytePairs> BytePairs::parse(const Node& node) {
  constexpr std::string_view what = "a BPE model";
  DOVETAIL_TRY(const std::string_view type, type_of(node, what));
  if (type != "BPE") return unknown_type(node, "the model", "`BPE`");
  DOVETAIL_CHECK(base::check_keys(node, what,
                                  {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                                   "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  for (const std::string_view key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
    DOVETAIL_CHECK(reject_unless_off(node, key));
  BytePairs model;
  DOVETAIL_TRY(const Node vocabulary, base::require(node, what, "vocab"));
  DOVETAIL_TRY(const Node merges, base::require(node, what, "merges"));
  DOVETAIL_CHECK(model.read_vocabulary(vocabulary));
  DOVETAIL_CHECK(model.read_merges(merges));
  DOVETAIL_CHECK(read_flag(node, "fuse_unk", model.fuses_unknown_));
  DOVETAIL_CHECK(read_flag(node, "ignore_merges", model.merges_whole_first_));
  if (const auto unknown = node.find("unk_token"); unknown && !unknown->is_null()) {
    const auto found = model.vocabulary_.find(unknown->text());
    if (!unknown->is_string() || found == model.vocabulary_.end())
      return unknown->error(
          fmt::format("`unk_token` is {}; accepted: a token of `vocab`, or null", unknown->describe()));
    model.unknown_ = found->second;
  }
  return model;
}

std::vector<TokenId> BytePairs::characters_of(std::string_view piece) const {
  std::vector<TokenId> tokens;
  bool after_unknown = false;
  while (!piece.empty()) {
    const std::size_t length = first_character(piece).length;
    const auto found = vocabulary_.find(piece.substr(0, length));
    piece.remove_prefix(length);
    const bool is_unknown = found == vocabulary_.end();
    if (!is_unknown)
      tokens.push_back(found->second);
    else if (unknown_ && !(fuses_unknown_ && after_unknown))
      tokens.push_back(*unknown_);
    after_unknown = is_unknown;
  }
  return tokens;
}

void BytePairs::encode(std::string_view piece, std::vector<TokenId>& tokens) const {
  if (merges_whole_first_)
    if (const auto merged = vocabulary_.find(piece); merged != vocabulary_.end()) {
      tokens.push_back(merged->second);
      return;
    }
  std::vector<Link> chain;
  for (const TokenId token : characters_of(piece)) {
    const int place = static_cast<int>(chain.size());
    chain.push_back({token, place - 1, place + 1});
  }
  if (chain.empty()) return;
  chain.back().next = -1;
  // Rank, index of the left side, pair of tokens, result. A candidate is stale if the pair has changed since it was
  // added.
  using Candidate = std::tuple<std::int32_t, int, std::uint64_t, TokenId>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](int left) {
    if (left < 0 || chain[static_cast<std::size_t>(left)].next < 0) return;
    const Link& link = chain[static_cast<std::size_t>(left)];
    const std::uint64_t key = pair_key(link.token, chain[static_cast<std::size_t>(link.next)].token);
    if (const auto merge = merges_.find(key); merge != merges_.end())
      candidates.emplace(merge->second.rank, left, key, merge->second.token);
  };
  for (int place = 0; place < static_cast<int>(chain.size()); ++place) consider(place);
  while (!candidates.empty()) {
    const auto [rank, left, key, merged] = candidates.top();
    candidates.pop();
    Link& link = chain[static_cast<std::size_t>(left)];
    if (link.gone || link.next < 0) continue;
    Link& right = chain[static_cast<std::size_t>(link.next)];
    if (pair_key(link.token, right.token) != key) continue;
    right.gone = true;
    link.token = merged;
    link.next = right.next;
    if (link.next >= 0) chain[static_cast<std::size_t>(link.next)].previous = left;
    consider(link.previous);
    consider(left);
  }
  for (const Link& link : chain)
    if (!link.gone) tokens.push_back(link.token);
}

}  // namespace dovetail::text
