// Tokens that are looked for in the text itself, before it is cut: "<|im_start|>" and the like.
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
  bool special = false;      ///< left out of decoded text where that is asked for
  bool normalized = false;   ///< looked for behind the normalizer, not before it
  bool single_word = false;  ///< not inside of a word
  bool takes_left = false;   ///< white space before it belongs to it
  bool takes_right = false;  ///< and behind it
};

/// The `added_tokens` of tokenizer.json. Errors at what is wrong: keys, numbers or contents twice.
base::Result<std::vector<AddedToken>> parse_added_tokens(const base::Node& node);

/// A part of a text: an added token, or what lies between two.
struct TextPart {
  const AddedToken* token = nullptr;  ///< null: it is text
  std::string_view text;
};

/// Finds added tokens, of several that begin at one place the longest. It keeps pointers to the tokens.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// Of those of `tokens`, which must outlive this, that are normalized or not.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, bool normalized);

  /// The parts of `text`, none empty. REQUIRES: it is UTF-8.
  std::vector<TextPart> parts(std::string_view text) const;

 private:
  const AddedToken* token_at(std::string_view text) const;

  std::vector<std::vector<const AddedToken*>> by_first_byte_;  ///< [byte] the longest first
};

struct TextFrame {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

/// Reads a `post_processor`: null, ByteLevel (which adds nothing), TemplateProcessing of a single text, or a Sequence
/// of these. Errors at what is not known.
base::Result<TextFrame> parse_frame(const base::Node& node);

}  // namespace dovetail::text
