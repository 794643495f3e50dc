#include "text/chat_template.h"

#include <fmt/format.h>

#include <string_view>

namespace dovetail::text {
namespace {

/// What opens a turn of `role`, and closes any.
std::string opening(ChatTemplate chat_template, std::string_view role) {
  switch (chat_template) {
    case ChatTemplate::chatml:
      return fmt::format("<|im_start|>{}\n", role);
    case ChatTemplate::llama3:
      return fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n", role);
    case ChatTemplate::none:
      break;
  }
  return "";
}

std::string_view closing(ChatTemplate chat_template) {
  return chat_template == ChatTemplate::chatml ? "<|im_end|>\n" : end_of_turn(chat_template);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

constexpr std::string_view assistant = "assistant";

}  // namespace

std::string_view end_of_turn(ChatTemplate chat_template) {
  switch (chat_template) {
    case ChatTemplate::chatml:
      return "<|im_end|>";
    case ChatTemplate::llama3:
      return "<|eot_id|>";
    case ChatTemplate::none:
      break;
  }
  return "";
}

std::string prompt_text(ChatTemplate chat_template, std::span<const Message> messages) {
  std::string text;
  for (const Message& message : messages) {
    text += opening(chat_template, message.role);
    // Llama 3's own template trims what it is given.
    text += chat_template == ChatTemplate::llama3 ? trimmed(message.content) : std::string_view(message.content);
    text += closing(chat_template);
  }
  if (!messages.empty() && messages.back().role != assistant) text += opening(chat_template, assistant);
  return text;
}

}  // namespace dovetail::text
