// Tokenizers as Hugging Face's tokenizer.json describes them (huggingface.co/docs/tokenizers): byte-level byte-pair
// encodings, as GPT-2, Llama 3, Qwen2 and SmolLM2 have them. Any other part is refused by its name and place.
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

/// Whether what frames a text in training ("<|begin_of_text|>") is added to it.
enum class Frame { none, added };

/// Whether special tokens are shown in decoded text.
enum class SpecialTokens { shown, left_out };

/// Immutable, so safe to share between threads; a cheap copy.
class Tokenizer {
 public:
  /// Reads the content of a tokenizer.json; `path` is for messages.
  static base::Result<Tokenizer> parse(std::string_view content, const std::string& path);
  static base::Result<Tokenizer> read(const std::string& path);

  /// The tokens of `text`. An Error where an expression of the tokenizer takes too long. REQUIRES: it is UTF-8.
  base::Result<std::vector<TokenId>> encode(std::string_view text, Frame frame = Frame::none) const;

  /// The bytes of tokens: a character may need several of them. A token that is none of the tokenizer's has none.
  std::string bytes_of(std::span<const TokenId> tokens, SpecialTokens special = SpecialTokens::shown) const;
  /// The same as UTF-8: what is none becomes U+FFFD.
  std::string decode(std::span<const TokenId> tokens, SpecialTokens special = SpecialTokens::shown) const;

  /// One more than the greatest token.
  std::size_t size() const;
  bool has(TokenId token) const;
  bool is_special(TokenId token) const;
  /// The token of that content, added ones among them: "<|im_end|>".
  std::optional<TokenId> find(std::string_view content) const;
  /// The content of a token as the file has it. REQUIRES: has(token).
  const std::string& content_of(TokenId token) const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace dovetail::text
