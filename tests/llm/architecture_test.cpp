// What models have beside a counted shape.
#include "llm/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dovetail::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> uncounted(const std::string& text) {
  const auto document = base::parse_json(text, "config.json");
  EXPECT_TRUE(document.ok()) << text;
  return document.ok() ? uncounted_parts(document->root()) : std::vector<std::string>{};
}

TEST(Architecture, ALanguageModelIsCountedWhole) {
  EXPECT_THAT(uncounted(R"({"model_type": "qwen3", "sliding_window": null})"), IsEmpty());
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": false})"), IsEmpty());
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 4096})"), IsEmpty());
  EXPECT_THAT(uncounted("[]"), IsEmpty());
}

TEST(Architecture, OtherPartsThanTheLanguageModelAreSaid) {
  const std::string only(only_language_part);
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2_5_vl"})"), ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"model_type": "other", "llm_config": {"model_type": "qwen2"}})"), ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text"}}})"),
              ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"model_type": "glm4v", "text_config": {"model_type": "glm4v_text"}})"),
              ElementsAre(only, std::string(no_output_norms)));
}

TEST(Architecture, WindowsOfAttentionAreSaidWhereTheyAreUsed) {
  EXPECT_THAT(uncounted(R"({"model_type": "mistral", "sliding_window": 4096})"),
              ElementsAre(HasSubstr("not over the last 4096")));
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 32768, "use_sliding_window": true})"),
              ElementsAre(HasSubstr("not over the last 32768")));
}

TEST(Architecture, WhatATransformerCannotSayHasAReason) {
  EXPECT_EQ(beyond_transformer("nemotron_h"), "many of its layers are state-space models (Mamba)");
  EXPECT_FALSE(beyond_transformer("llama").has_value());
}

}  // namespace
}  // namespace dovetail::llm
