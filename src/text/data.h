// The data of a run, as JSON lines: prompts, examples for supervised fine-tuning, and preference pairs. Also the chat
// templates that turn conversations into text.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"

namespace dovetail::text {

/// Format of a conversation. `none`: the concatenated contents. `chatml`: Qwen2, SmolLM2. `llama3`: Llama 3, whose
/// tokenizer adds "<|begin_of_text|>" itself (Frame::added).
enum class ChatTemplate { none, chatml, llama3 };
constexpr auto names_of(ChatTemplate) {
  return std::array{base::EnumName{"none", ChatTemplate::none}, base::EnumName{"chatml", ChatTemplate::chatml},
                    base::EnumName{"llama3", ChatTemplate::llama3}};
}

struct Message {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
};

/// Returns the text of the messages. If the last message is not the assistant's, appends the text that opens the
/// assistant's turn.
std::string prompt_text(ChatTemplate chat_template, std::span<const Message> messages);

/// Returns the text that ends a turn ("<|im_end|>"). Returns an empty string for `none`, where the tokenizer's
/// end-of-text token ends a turn.
std::string_view end_of_turn(ChatTemplate chat_template);

/// Text to generate from, with the answer that a reward command needs.
struct Prompt {
  std::string text;
  std::string answer;  ///< canonical JSON; empty if the line has none
  int line = 0;
};

/// Part of an example: learned text or context.
struct Segment {
  std::string text;
  bool learned = false;  ///< true if its tokens are trained on
};
struct Example {
  std::vector<Segment> segments;
  int line = 0;
};

/// Two responses to a prompt, of which one is better.
struct Preference {
  std::string prompt;
  std::string chosen;
  std::string rejected;
  int line = 0;
};

// Each line is a JSON object; blank lines are skipped. `path` is for messages. Errors report a file without data or,
// with a line and a column, invalid JSON, unknown or missing keys, and invalid values such as empty strings.

/// Parses prompts. A line has `prompt`, which the template formats as a user's message, or `messages`. It may have
/// `answer`, any JSON value.
base::Result<std::vector<Prompt>> parse_prompts(std::string_view content, const std::string& path,
                                                ChatTemplate chat_template);

/// Parses examples. A line has either `text`, or `prompt` and `response`, or `messages`. All of `text` is learned. In
/// the other two forms, the responses and the ends of their turns are learned.
base::Result<std::vector<Example>> parse_examples(std::string_view content, const std::string& path,
                                                  ChatTemplate chat_template);

/// Parses preferences. A line has `prompt`, `chosen` and `rejected`.
base::Result<std::vector<Preference>> parse_preferences(std::string_view content, const std::string& path,
                                                        ChatTemplate chat_template);

}  // namespace dovetail::text
