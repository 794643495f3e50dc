// Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909): turns a piece of text into tokens by merging pairs of
// adjacent tokens, starting with single characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/document.h"

namespace dovetail::text {

using TokenId = std::int32_t;
inline constexpr std::int64_t max_token_id = (1 << 24) - 1;

/// Hash that allows lookup by string_view.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library requires this name
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Vocabulary = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

/// The `model` of tokenizer.json, of type BPE.
class BytePairs {
 public:
  /// Parses the model. Unsupported settings are Errors: byte fallback, dropout, word affixes.
  static base::Result<BytePairs> parse(const base::Node& node);

  /// Appends the tokens of one piece from the pre-tokenizer. Merges apply in order of rank, the leftmost first among
  /// equal ranks. With `ignore_merges`, a piece in the vocabulary becomes its token instead. A character without a
  /// token becomes the unknown token, or nothing if the model has no unknown token. With `fuse_unk`, adjacent unknown
  /// tokens become one. REQUIRES: `piece` is UTF-8.
  void encode(std::string_view piece, std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    std::int32_t rank = 0;
    TokenId token = 0;
  };

  Vocabulary vocabulary_;
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< keyed by the left and the right token
  std::optional<TokenId> unknown_;
  bool fuses_unknown_ = false;
  bool merges_whole_first_ = false;  ///< a piece in the vocabulary becomes its token without merges

  base::Status read_vocabulary(const base::Node& node);
  base::Status read_merges(const base::Node& node);
  std::vector<TokenId> characters_of(std::string_view piece) const;
};

}  // namespace dovetail::text
