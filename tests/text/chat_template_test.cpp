#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <vector>

namespace dovetail::text {
namespace {

const std::vector<Message> question{{"system", "Be brief."}, {"user", " Why? "}};

TEST(PromptText, IsWhatModelsWereTrainedOn) {
  EXPECT_EQ(prompt_text(ChatTemplate::none, question), "Be brief. Why? ");
  EXPECT_EQ(prompt_text(ChatTemplate::chatml, question),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Why? <|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompt_text(ChatTemplate::llama3, question),
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>"
            "\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(PromptText, OfAnAnsweredQuestionAsksNothing) {
  std::vector<Message> answered = question;
  answered.push_back({"assistant", "So."});
  EXPECT_TRUE(prompt_text(ChatTemplate::chatml, answered).ends_with("<|im_start|>assistant\nSo.<|im_end|>\n"));
  EXPECT_EQ(prompt_text(ChatTemplate::chatml, {}), "");
}

}  // namespace
}  // namespace dovetail::text
