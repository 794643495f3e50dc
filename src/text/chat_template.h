// How a conversation becomes the text that a model was trained to go on with.
#pragma once

#include <array>
#include <span>
#include <string>

#include "base/enum_names.h"

namespace dovetail::text {

/// `none`: the contents one behind the other. `chatml`: Qwen2, SmolLM2. `llama3`: Llama 3, whose tokenizer puts
/// "<|begin_of_text|>" in front by itself (Frame::added).
enum class ChatTemplate { none, chatml, llama3 };
constexpr auto names_of(ChatTemplate) {
  return std::array{base::EnumName{"none", ChatTemplate::none}, base::EnumName{"chatml", ChatTemplate::chatml},
                    base::EnumName{"llama3", ChatTemplate::llama3}};
}

struct Message {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

/// The messages, and where the last one is not the assistant's the beginning of its answer.
std::string prompt_text(ChatTemplate chat_template, std::span<const Message> messages);

/// What ends an answer ("<|im_end|>"); empty for none: the tokenizer's own end of text.
std::string_view end_of_turn(ChatTemplate chat_template);

}  // namespace dovetail::text
