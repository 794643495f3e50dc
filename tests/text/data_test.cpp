#include "text/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace dovetail::text {
namespace {

using testing::HasSubstr;

TEST(Prompts, AreTextsOrConversations) {
  const auto prompts = parse_prompts(
      "\xEF\xBB\xBF{\"prompt\": \"1+1=\", \"answer\": {\"b\": [2.0], \"a\": null}}\n\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\r\n",
      "p.jsonl", ChatTemplate::chatml);
  ASSERT_TRUE(prompts.ok()) << to_text(prompts.error());
  ASSERT_EQ(prompts->size(), 2U);
  EXPECT_EQ(prompts->front().text, "<|im_start|>user\n1+1=<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompts->front().answer, R"({"a":null,"b":[2]})");
  EXPECT_EQ(prompts->back().text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompts->back().answer, "");
  EXPECT_EQ(prompts->back().line, 3);
  EXPECT_EQ(parse_prompts(R"({"prompt": "1+1="})", "p", ChatTemplate::none)->front().text, "1+1=");
}

std::string whole(const Example& example) {
  std::string text;
  for (const Segment& segment : example.segments)
    text += (segment.learned ? "[" : "(") + segment.text + (segment.learned ? "]" : ")");
  return text;
}

TEST(Examples, LearnOnlyAnswers) {
  const std::string conversation =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  const auto plain = parse_examples(
      "{\"text\": \"all of it\"}\n{\"prompt\": \"a\", \"response\": \"b\"}\n" + conversation, "e", ChatTemplate::none);
  ASSERT_TRUE(plain.ok()) << to_text(plain.error());
  EXPECT_EQ(whole(plain->at(0)), "[all of it]");
  EXPECT_EQ(whole(plain->at(1)), "(a)[b]");
  EXPECT_EQ(whole(plain->at(2)), "(a)[b](c)[d]");
  const auto framed = parse_examples(conversation, "e", ChatTemplate::chatml);
  EXPECT_EQ(whole(framed->front()),
            "(<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n)[b<|im_end|>\n]"
            "(<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n)[d<|im_end|>\n]");
}

TEST(Preferences, HaveTwoResponses) {
  const auto pairs = parse_preferences(R"({"prompt": "p", "chosen": "c", "rejected": "r"})", "p", ChatTemplate::none);
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(pairs->front().prompt + pairs->front().chosen + pairs->front().rejected, "pcr");
}

std::string prompt_error(const std::string& content) {
  const auto prompts = parse_prompts(content, "p.jsonl", ChatTemplate::none);
  return prompts.ok() ? "no error" : to_text(prompts.error());
}

std::string example_error(const std::string& content) {
  const auto examples = parse_examples(content, "e.jsonl", ChatTemplate::none);
  return examples.ok() ? "no error" : to_text(examples.error());
}

TEST(Data, ReportsTheLineOfAnError) {
  const std::string good = "{\"prompt\": \"p\"}\n";
  EXPECT_EQ(prompt_error(""), "p.jsonl: the file has no data; accepted: JSON lines with one object each");
  EXPECT_EQ(prompt_error(" \n\n"), "p.jsonl: the file has no data; accepted: JSON lines with one object each");
  EXPECT_THAT(prompt_error(good + "{\"prompt\": }"), HasSubstr("p.jsonl:2:12: "));
  EXPECT_EQ(prompt_error(good + good + "[1]"), "p.jsonl:3:1: this line is a list; accepted: a JSON object");
  EXPECT_EQ(prompt_error(good + R"({"prompt": ""})"), "p.jsonl:2:12: `prompt` is empty; accepted: a non-empty string");
  EXPECT_EQ(prompt_error(good + R"({"prompt": 7})"), "p.jsonl:2:12: `prompt` is 7; accepted: a non-empty string");
  EXPECT_THAT(prompt_error(good + R"({"promt": "a"})"), HasSubstr("p.jsonl:2:2: "));
  EXPECT_THAT(prompt_error(R"({"prompt": "a", "messages": []})"),
              HasSubstr("`messages` and `prompt` cannot be combined"));
  EXPECT_THAT(prompt_error(R"({"messages": []})"), HasSubstr("`messages` is empty"));
  EXPECT_THAT(prompt_error(R"({"messages": [{"role": "tool", "content": "a"}]})"),
              HasSubstr("the role is the string `tool`; accepted: `system`, `user`, `assistant`"));
  EXPECT_THAT(prompt_error("{\"prompt\": \"\xFF\"}"), HasSubstr("p.jsonl:1:"));
  EXPECT_THAT(example_error(R"({"text": "a", "response": "b"})"), HasSubstr("`text` alone"));
  EXPECT_THAT(example_error(R"({"prompt": "a"})"), HasSubstr("needs the key `response`"));
  EXPECT_THAT(example_error(R"({"messages": [{"role": "user", "content": "a"}]})"),
              HasSubstr("no message is from the assistant"));
  EXPECT_THAT(example_error(R"({"messages": [{"role": "assistant", "content": "a"}]})"),
              HasSubstr("the first message is from the assistant"));
}

const std::vector<Message> question{{"system", "Be brief."}, {"user", " Why? "}};

TEST(PromptText, FollowsTheTemplates) {
  EXPECT_EQ(prompt_text(ChatTemplate::none, question), "Be brief. Why? ");
  EXPECT_EQ(prompt_text(ChatTemplate::chatml, question),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Why? <|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompt_text(ChatTemplate::llama3, question),
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>"
            "\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(PromptText, DoesNotOpenATurnAfterAnAnswer) {
  std::vector<Message> answered = question;
  answered.push_back({"assistant", "So."});
  EXPECT_TRUE(prompt_text(ChatTemplate::chatml, answered).ends_with("<|im_start|>assistant\nSo.<|im_end|>\n"));
  EXPECT_EQ(prompt_text(ChatTemplate::chatml, {}), "");
}

}  // namespace
}  // namespace dovetail::text
