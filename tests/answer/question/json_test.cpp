#include "answer/question/json.h"

#include <gtest/gtest.h>

#include "answer/question/output.h"

namespace dovetail::answer {
namespace {

TEST(AnswerJson, WritesIntegersExactly) {
  EXPECT_EQ(json_number("12").dump(), "12");
  EXPECT_EQ(json_number("1.25").dump(), "1.25");
  EXPECT_EQ(json_ratio(1.0 / 3).dump(), "0.333333");
  EXPECT_EQ(json_seconds(1.23456).dump(), "1.235");
  EXPECT_EQ(json_memory(std::optional<base::Memory>()).dump(), "null");
}

TEST(AnswerJson, EscapesControlCharacters) {
  const std::string text = json_text(Json{{"name", "a\x1b[31m\xC2\x9B"}}, -1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x9B'), std::string::npos);
  EXPECT_EQ(Json::parse(text).at("name").get<std::string>().substr(0, 2), "a\x1b");
}

TEST(AnswerJson, EmbedsAFileAsJsonOrText) {
  EXPECT_EQ(Json::parse(json_with_output(R"({"a": 1})", R"({"b": [2]})")).dump(), R"({"a":1,"output":{"b":[2]}})");
  EXPECT_EQ(Json::parse(json_with_output(R"({"a": 1})", "b,2\n")).dump(), R"({"a":1,"output":"b,2\n"})");
}

}  // namespace
}  // namespace dovetail::answer
