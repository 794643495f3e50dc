// Tokenizers in the format of Hugging Face's tokenizer.json (huggingface.co/docs/tokenizers): byte-level byte-pair
// encodings, as in GPT-2, Llama 3, Qwen2 and SmolLM2. An Error names an unsupported component and its location.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/byte_pairs.h"

namespace dovetail::text {

/// Whether encoding adds the tokens of the post-processor, such as "<|begin_of_text|>".
enum class Frame { none, added };

/// Whether decoded text includes special tokens.
enum class SpecialTokens { shown, left_out };

/// A tokenizer. Immutable, so it may be shared between threads; cheap to copy.
class Tokenizer {
 public:
  /// Parses the content of a tokenizer.json. `path` is for messages.
  static base::Result<Tokenizer> parse(std::string_view content, const std::string& path);
  static base::Result<Tokenizer> read(const std::string& path);

  /// Encodes `text`. Returns an Error if Pattern::matches (pre_tokenizer.h) returns one for an expression of the
  /// tokenizer. REQUIRES: `text` is UTF-8.
  base::Result<std::vector<TokenId>> encode(std::string_view text, Frame frame = Frame::none) const;

  /// Returns the bytes of tokens. A character may be split over several tokens. Unknown token ids are ignored.
  std::string bytes_of(std::span<const TokenId> tokens, SpecialTokens special = SpecialTokens::shown) const;
  /// Returns the bytes of tokens as UTF-8. Invalid bytes become U+FFFD.
  std::string decode(std::span<const TokenId> tokens, SpecialTokens special = SpecialTokens::shown) const;

  /// Returns the largest token id plus one.
  std::size_t size() const;
  bool has(TokenId token) const;
  bool is_special(TokenId token) const;
  /// Returns the token or added token with that content ("<|im_end|>"), or nullopt.
  std::optional<TokenId> find(std::string_view content) const;
  /// Returns the content of a token as written in the file. REQUIRES: has(token).
  const std::string& content_of(TokenId token) const;

 private:
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> parts) : impl_(std::move(parts)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace dovetail::text
