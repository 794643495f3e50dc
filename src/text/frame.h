// What a tokenizer.json puts around a text (`post_processor`).
#pragma once

#include <vector>

#include "base/document.h"
#include "text/byte_pairs.h"

namespace dovetail::text {

struct TextFrame {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

/// Reads a `post_processor`: null, ByteLevel (which adds nothing), TemplateProcessing of a single text, or a Sequence
/// of these. Errors at what is not known.
base::Result<TextFrame> parse_frame(const base::Node& node);

}  // namespace dovetail::text
