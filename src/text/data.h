// The data of a run: JSON lines of prompts, of texts to imitate, of pairs to prefer between.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"

namespace dovetail::text {

/// What is generated from, and what a reward command needs to know of it.
struct Prompt {
  std::string text;
  std::string answer;  ///< JSON, as the line has it; empty where it has none
  int line = 0;
};

/// A part of a text to imitate.
struct Segment {
  std::string text;
  bool learned = false;  ///< the model is trained on it; else it is what that follows
};
struct Example {
  std::vector<Segment> segments;
  int line = 0;
};

/// Two responses, of which one is better.
struct Preference {
  std::string prompt;
  std::string chosen;
  std::string rejected;
  int line = 0;
};

// Each line is a JSON object; lines of blanks are passed over. `path` is for messages. Errors have the line and column
// of what is wrong: keys of another kind of data, texts that are none, a file without a line.

/// Of `prompt`, a text that the template makes a user's question of, or `messages`; and `answer`, any JSON.
base::Result<std::vector<Prompt>> parse_prompts(std::string_view content, const std::string& path,
                                                ChatTemplate chat_template);

/// Of `text`, all of it learned; or of `prompt` and `response`, or `messages`, of which the responses and the end of
/// their turns are learned.
base::Result<std::vector<Example>> parse_examples(std::string_view content, const std::string& path,
                                                  ChatTemplate chat_template);

/// Of `prompt`, `chosen` and `rejected`.
base::Result<std::vector<Preference>> parse_preferences(std::string_view content, const std::string& path,
                                                        ChatTemplate chat_template);

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
