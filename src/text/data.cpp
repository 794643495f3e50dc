#include "text/data.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"

namespace dovetail::text {
namespace {

using base::Node;
using base::Result;

/// Calls `add` with the JSON object and the number of each line.
template <class Add>
base::Status for_each_line(std::string_view content, const std::string& path, const Add& add) {
  DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path));
  content = base::without_byte_order_mark(content);
  int number = 0;
  bool any = false;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    any = true;
    const auto at_line = [number](base::Error error) {
      error.line = number;
      return error;
    };
    const auto document = base::parse_json(line, path);
    if (!document.ok()) return at_line(document.error());
    const Node root = document->root();
    if (!root.is_map())
      return at_line(root.error(fmt::format("this line is {}; accepted: a JSON object", root.describe())));
    if (base::Status added = add(root, number); !added.ok()) return at_line(added.error());
  }
  if (any) return {};
  return base::Error{base::Failure::bad_input, path, 0, 0,
                     "the file has no data; accepted: JSON lines with one object each"};
}

/// Reads the required non-empty string at `key`.
Result<std::string> require_text(const Node& map, std::string_view what, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(map, what, key));
  return base::read_text(node, base::quote(key));
}

Result<std::vector<Message>> read_messages(const Node& node) {
  if (!node.is_list() || node.size() == 0)
    return node.error(fmt::format("`messages` is {}; accepted: a list of at least one message",
                                  node.is_list() ? std::string("empty") : node.describe()));
  std::vector<Message> messages;
  for (std::size_t index = 0; index < node.size(); ++index) {
    const Node message = node.item(index);
    DOVETAIL_CHECK(base::check_keys(message, "a message", {"role", "content"}));
    DOVETAIL_TRY(const Node role, base::require(message, "a message", "role"));
    constexpr std::string_view roles[] = {"system", "user", "assistant"};
    if (!role.is_string() || std::find(std::begin(roles), std::end(roles), role.text()) == std::end(roles))
      return role.error(fmt::format("the role is {}; accepted: `system`, `user`, `assistant`", role.describe()));
    DOVETAIL_TRY(std::string content, require_text(message, "a message", "content"));
    messages.push_back({std::string(role.text()), std::move(content)});
  }
  return messages;
}

/// Returns the question of a line: its `messages`, or its `prompt` as a user's message.
Result<std::vector<Message>> read_question(const Node& map, std::string_view what) {
  const auto messages = map.find("messages");
  if (messages && map.find("prompt"))
    return messages->error("`messages` and `prompt` cannot be combined; accepted: one of them");
  if (messages) return read_messages(*messages);
  DOVETAIL_TRY(std::string prompt, require_text(map, what, "prompt"));
  return std::vector<Message>{{"user", std::move(prompt)}};
}

const std::string assistant = "assistant";

/// Splits a conversation into context and learned text: each answer with the end of its turn.
Result<std::vector<Segment>> segments_of(const Node& node, const std::vector<Message>& messages,
                                         ChatTemplate chat_template) {
  std::vector<Segment> segments;
  std::string before;  // the text so far
  for (std::size_t index = 0; index < messages.size(); ++index) {
    if (messages[index].role != assistant) continue;
    const std::span<const Message> all(messages);
    const std::string question = prompt_text(chat_template, all.first(index));
    const std::string answered = prompt_text(chat_template, all.first(index + 1));
    if (index == 0)
      return node.error("the first message is from the assistant; accepted: a system or user message before it");
    segments.push_back({question.substr(before.size()), false});
    segments.push_back({answered.substr(question.size()), true});
    before = answered;
  }
  if (segments.empty()) return node.error("no message is from the assistant; accepted: at least one to learn from");
  return segments;
}

Result<Example> read_example(const Node& map, int line, ChatTemplate chat_template) {
  constexpr std::string_view what = "an example";
  DOVETAIL_CHECK(base::check_keys(map, what, {"text", "prompt", "response", "messages"}));
  if (const auto text = map.find("text")) {
    if (map.size() > 1) return text->error("`text` cannot be combined with other keys; accepted: `text` alone");
    DOVETAIL_TRY(std::string content, require_text(map, what, "text"));
    return Example{{{std::move(content), true}}, line};
  }
  DOVETAIL_TRY(std::vector<Message> messages, read_question(map, what));
  const auto given = map.find("messages");
  if (given && map.find("response"))
    return given->error("`messages` and `response` cannot be combined; accepted: one of them");
  if (!given) {
    DOVETAIL_TRY(std::string response, require_text(map, what, "response"));
    messages.push_back({assistant, std::move(response)});
  }
  DOVETAIL_TRY(std::vector<Segment> segments, segments_of(given ? *given : map, messages, chat_template));
  return Example{std::move(segments), line};
}

}  // namespace

Result<std::vector<Prompt>> parse_prompts(std::string_view content, const std::string& path,
                                          ChatTemplate chat_template) {
  std::vector<Prompt> prompts;
  DOVETAIL_CHECK(for_each_line(content, path, [&](const Node& map, int line) -> base::Status {
    constexpr std::string_view what = "a prompt";
    DOVETAIL_CHECK(base::check_keys(map, what, {"prompt", "messages", "answer"}));
    DOVETAIL_TRY(const std::vector<Message> question, read_question(map, what));
    const auto answer = map.find("answer");
    prompts.push_back({prompt_text(chat_template, question), answer ? base::canonical_json(*answer) : "", line});
    return {};
  }));
  return prompts;
}

Result<std::vector<Example>> parse_examples(std::string_view content, const std::string& path,
                                            ChatTemplate chat_template) {
  std::vector<Example> examples;
  DOVETAIL_CHECK(for_each_line(content, path, [&](const Node& map, int line) -> base::Status {
    DOVETAIL_TRY(Example example, read_example(map, line, chat_template));
    examples.push_back(std::move(example));
    return {};
  }));
  return examples;
}

Result<std::vector<Preference>> parse_preferences(std::string_view content, const std::string& path,
                                                  ChatTemplate chat_template) {
  std::vector<Preference> preferences;
  DOVETAIL_CHECK(for_each_line(content, path, [&](const Node& map, int line) -> base::Status {
    constexpr std::string_view what = "a preference";
    DOVETAIL_CHECK(base::check_keys(map, what, {"prompt", "chosen", "rejected"}));
    DOVETAIL_TRY(std::string prompt, require_text(map, what, "prompt"));
    DOVETAIL_TRY(std::string chosen, require_text(map, what, "chosen"));
    DOVETAIL_TRY(std::string rejected, require_text(map, what, "rejected"));
    const Message question{"user", std::move(prompt)};
    preferences.push_back(
        {prompt_text(chat_template, std::span(&question, 1)), std::move(chosen), std::move(rejected), line});
    return {};
  }));
  return preferences;
}

namespace {

/// Returns the text that opens a turn of `role`.
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

/// Returns the text that closes any turn.
std::string_view closing(ChatTemplate chat_template) {
  return chat_template == ChatTemplate::chatml ? "<|im_end|>\n" : end_of_turn(chat_template);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

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
    // Llama 3's template trims the content of messages.
    text += chat_template == ChatTemplate::llama3 ? trimmed(message.content) : std::string_view(message.content);
    text += closing(chat_template);
  }
  if (!messages.empty() && messages.back().role != assistant) text += opening(chat_template, assistant);
  return text;
}

}  // namespace dovetail::text
