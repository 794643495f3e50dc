#include "llm/computation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "llm/huggingface_config.h"

namespace dovetail::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Result<Computation> read(const std::string& config) {
  const auto document = base::parse_json(config, "config.json");
  EXPECT_TRUE(document.ok());
  const auto shape = parse_config(document->root(), "model");
  EXPECT_TRUE(shape.ok()) << base::to_text(shape.error());
  return parse_computation(document->root(), *shape);
}

std::string config_with(const std::string& more, const std::string& type = "llama") {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 32, "vocab_size": 100)" +
         more + "}";
}

void expect_rejected(const std::string& more, const std::string& message, const std::string& type = "llama") {
  const auto computation = read(config_with(more, type));
  ASSERT_FALSE(computation.ok()) << more;
  EXPECT_THAT(computation.error().message, HasSubstr(message));
  EXPECT_GT(computation.error().line, 0);
}

TEST(Computation, ReadsBothSpellings) {
  const auto old = read(config_with(R"(, "rope_theta": 500000.0, "rms_norm_eps": 1e-05, "eos_token_id": [7, 9],
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}, "max_position_embeddings": 131072, "torch_dtype": "bfloat16")"));
  const auto young = read(config_with(R"(, "rms_norm_eps": 1e-05, "eos_token_id": [7, 9],
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, "max_position_embeddings": 131072,
    "dtype": "bfloat16")"));
  ASSERT_TRUE(old.ok() && young.ok());
  EXPECT_EQ(*old, *young);
  EXPECT_EQ(old->rotary_base, 500'000);
  EXPECT_EQ(old->llama3->original_context, 8192);
  EXPECT_EQ(old->context, 131'072);
  EXPECT_THAT(old->end_tokens, ElementsAre(7, 9));
  EXPECT_EQ(old->number_type, "bfloat16");
}

TEST(Computation, RejectsUnsupportedSettingsAtTheirKey) {
  expect_rejected(R"(, "rope_scaling": {"type": "yarn", "factor": 4})",
                  "the scaling type of rotary embeddings is the string `yarn`, which is not supported");
  expect_rejected(R"(, "hidden_act": "gelu")", "accepted: silu");
  expect_rejected(R"(, "attention_dropout": 0.1)", "accepted: 0");
  expect_rejected(R"(, "pretraining_tp": 2)", "accepted: 1");
  expect_rejected(R"(, "partial_rotary_factor": 0.5)", "accepted: 1");
  expect_rejected(R"(, "quantization_config": {"bits": 4})", "quantized");
  expect_rejected(R"(, "sliding_window": 512, "max_position_embeddings": 4096)", "attention windows of 512 tokens",
                  "mistral");
  expect_rejected(R"(, "sliding_window": 512, "use_sliding_window": true)", "attention windows of 512 tokens", "qwen2");
  expect_rejected(R"(, "architectures": ["LlamaForTokenClassification"])", "ForCausalLM or ForSequenceClassification");
  expect_rejected(R"(, "rope_scaling": 131072)", "accepted: a map, or null");
  expect_rejected(R"(, "architectures": 3)", "accepted: a name that ends in");
}

TEST(Computation, AcceptsWindowsOfTheWholeContext) {
  EXPECT_TRUE(read(config_with(R"(, "sliding_window": 4096, "max_position_embeddings": 4096)", "mistral")).ok());
  EXPECT_TRUE(read(config_with(R"(, "sliding_window": 16, "use_sliding_window": false)", "qwen2")).ok());
  EXPECT_TRUE(read(config_with(R"(, "sliding_window": null)", "mistral")).ok());
  EXPECT_TRUE(read(config_with(R"(, "sliding_window": 16)", "qwen2")).ok()) << "the window is disabled";
}

TEST(Computation, FrequenciesOfLlama31) {
  Computation computation;
  computation.rotary_base = 500'000;
  const std::vector<float> plain = rotary_frequencies(computation, 128);
  EXPECT_FLOAT_EQ(plain[0], 1);
  EXPECT_NEAR(plain[32], 1 / std::sqrt(500'000.0), 1e-9);
  computation.llama3.emplace();
  const std::vector<float> scaled = rotary_frequencies(computation, 128);
  // Short wavelengths are unchanged, long ones are stretched eightfold, and those in between are interpolated
  // (transformers, _compute_llama3_parameters).
  EXPECT_FLOAT_EQ(scaled[0], plain[0]);
  EXPECT_FLOAT_EQ(scaled[63], plain[63] / 8);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LE(scaled[i], plain[i]);
    EXPECT_GE(scaled[i], plain[i] / 8 * 0.999F);
  }
}

TEST(Computation, WrittenConfigurationsReadTheSame) {
  for (const std::string type : {"llama", "qwen2", "qwen3"}) {
    const std::string config = config_with(
        R"(, "head_dim": 6, "rope_theta": 20000.5, "eos_token_id": 3, "pad_token_id": 0, "tie_word_embeddings": true,
           "rope_scaling": {"rope_type": "linear", "factor": 2.5}, "max_position_embeddings": 64)",
        type);
    const auto document = base::parse_json(config, "config.json");
    const auto shape = parse_config(document->root(), "model");
    const auto computation = parse_computation(document->root(), *shape);
    ASSERT_TRUE(computation.ok());
    const auto again = base::parse_json(config_text(*shape, *computation), "again.json");
    ASSERT_TRUE(again.ok());
    const auto shape_again = parse_config(again->root(), "model");
    ASSERT_TRUE(shape_again.ok());
    EXPECT_EQ(*shape_again, *shape);
    EXPECT_EQ(*parse_computation(again->root(), *shape_again), *computation);
  }
}

}  // namespace
}  // namespace dovetail::llm
