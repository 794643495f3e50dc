// GPT-2's alphabet: a visible character for each byte (Radford et al. 2019; encoder.py of openai/gpt-2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dovetail::text {

/// The text with each of its bytes as its character: "a b" becomes "aĠb".
std::string to_byte_characters(std::string_view bytes);

/// The bytes that the characters stand for; nothing where one of them stands for none.
std::optional<std::string> from_byte_characters(std::string_view characters);

}  // namespace dovetail::text
