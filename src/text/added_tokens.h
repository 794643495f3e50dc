// Tokens that the model of a tokenizer does not produce. Added tokens ("<|im_start|>") are found in the text before it
// is split. The post-processor adds others around the input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "text/byte_pairs.h"

namespace dovetail::text {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      ///< omitted from decoded text with SpecialTokens::left_out
  bool normalized = false;   ///< searched for in the normalized text, not in the original
  bool single_word = false;  ///< matches only complete words
  bool takes_left = false;   ///< includes white space before it
  bool takes_right = false;  ///< includes white space after it
};

/// Parses `added_tokens` of tokenizer.json. Invalid keys and duplicate ids or contents are Errors.
base::Result<std::vector<AddedToken>> parse_added_tokens(const base::Node& node);

/// A part of the input: an added token, or the text before, between or after added tokens.
struct TextPart {
  const AddedToken* token = nullptr;  ///< null for text
  std::string_view text;
};

/// Finds added tokens in text. Prefers the longest of several that begin at the same place. Keeps pointers to the
/// tokens.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// Searches for the tokens with this value of AddedToken::normalized. `tokens` must outlive this object.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, bool normalized);

  /// Splits `text` into non-empty parts. REQUIRES: it is UTF-8.
  std::vector<TextPart> parts(std::string_view text) const;

 private:
  const AddedToken* token_at(std::string_view text) const;

  std::vector<std::vector<const AddedToken*>> by_first_byte_;  ///< [byte] longest first
};

/// Tokens that the post-processor puts around the input.
struct TextFrame {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

/// Parses a `post_processor`: ByteLevel (which adds nothing), TemplateProcessing of a single input, a Sequence of
/// these, or null. Anything else is an Error.
base::Result<TextFrame> parse_frame(const base::Node& node);

}  // namespace dovetail::text
