// Parses tokenizers and encodes a text of many scripts. Checks that all resulting tokens exist.
#include "fuzz.h"
#include "text/tokenizer.h"

namespace text = dovetail::text;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tokenizer = text::Tokenizer::parse(dovetail::fuzz::as_text(data, size), "file");
  if (!tokenizer.ok()) {
    DOVETAIL_ASSERT(!tokenizer.error().message.empty());
    return 0;
  }
  const auto tokens = tokenizer->encode("I'll  go,\n12 34é <|end|>日本 \xF0\x9F\x98\x80", text::Frame::added);
  if (!tokens.ok()) {
    DOVETAIL_ASSERT(!tokens.error().message.empty());
    return 0;
  }
  for (const text::TokenId token : *tokens) DOVETAIL_ASSERT(tokenizer->has(token));
  tokenizer->decode(*tokens);
  return 0;
}
