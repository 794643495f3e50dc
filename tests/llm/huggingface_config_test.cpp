// config.json files.
#include "llm/huggingface_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "llm/bundled_models.h"

namespace dovetail::llm {
namespace {

using testing::HasSubstr;

base::Result<Transformer> parse(const std::string& text, const std::string& name = "model") {
  const auto document = base::parse_json(text, "config.json");
  if (!document.ok()) return document.error();
  return parse_config(document->root(), name);
}

TEST(HuggingFaceConfig, ReadsLlama) {
  const auto model = parse(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false,
    "rope_theta": 500000.0})",
      "llama-3-8b");
  ASSERT_TRUE(model.ok()) << base::to_text(model.error());
  EXPECT_EQ(*model, find_bundled_model("llama-3-8b").value());
}

TEST(HuggingFaceConfig, ReadsQwenWithItsBiasesAndNorms) {
  const auto second =
      parse(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})",
            "qwen2.5-7b");
  EXPECT_EQ(second.value(), find_bundled_model("qwen2.5-7b").value());
  const auto third =
      parse(R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 151936, "tie_word_embeddings": false, "sliding_window": null})",
            "qwen3-30b-a3b");
  EXPECT_EQ(third.value(), find_bundled_model("qwen3-30b-a3b").value());
}

TEST(HuggingFaceConfig, ReadsDeepSeek) {
  const auto model = parse(
      R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280})",
      "deepseek-v3");
  EXPECT_EQ(model.value(), find_bundled_model("deepseek-v3").value());
}

TEST(HuggingFaceConfig, ReadsMixtralAndOpt) {
  const auto mixtral =
      parse(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000})",
            "mixtral-8x7b");
  EXPECT_EQ(mixtral.value(), find_bundled_model("mixtral-8x7b").value());
  const auto opt = parse(R"({"model_type": "opt", "hidden_size": 5120, "ffn_dim": 20480, "num_hidden_layers": 40,
    "num_attention_heads": 40, "vocab_size": 50272, "max_position_embeddings": 2048})",
                         "opt-13b");
  EXPECT_EQ(opt.value(), find_bundled_model("opt-13b").value());
}

TEST(HuggingFaceConfig, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(base::to_text(parse("[]").error()),
              HasSubstr("config.json:1:1: a model's configuration is a list; accepted: a map"));
  EXPECT_THAT(base::to_text(parse(R"({"hidden_size": 8})").error()), HasSubstr("model_type: llama"));
  EXPECT_THAT(base::to_text(parse("{\n  \"model_type\": \"bert\"}").error()),
              HasSubstr("config.json:2:17: the model type is the string `bert`"));
  EXPECT_THAT(base::to_text(parse(R"({"model_type": "llama"})").error()), HasSubstr("no `num_hidden_layers`"));
  EXPECT_THAT(base::to_text(
                  parse(R"({"model_type": "llama", "num_hidden_layers": -1, "hidden_size": 8, "num_attention_heads": 2,
    "vocab_size": 8, "intermediate_size": 8})")
                      .error()),
              HasSubstr("config.json:1:46"));
  EXPECT_THAT(
      base::to_text(parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2,
    "num_key_value_heads": 3, "vocab_size": 8, "intermediate_size": 8})")
                        .error()),
      HasSubstr("key-value heads is 3; accepted: 1 to 2"));
  EXPECT_THAT(
      base::to_text(parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 0,
    "vocab_size": 8, "intermediate_size": 8})")
                        .error()),
      HasSubstr("the number of heads is 0"));
  for (const std::string_view wrong : {"[]", "{}", "1", "\"yes\""})
    EXPECT_THAT(base::to_text(parse(fmt::format(R"({{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8,
    "num_attention_heads": 2, "vocab_size": 8, "intermediate_size": 8, "tie_word_embeddings": {}}})",
                                                wrong))
                                  .error()),
                HasSubstr("`tie_word_embeddings` is"));
}

TEST(BundledModels, AreAllSound) {
  for (const std::string& name : bundled_model_names())
    EXPECT_FALSE(find_fault(find_bundled_model(name).value())) << name;
}

TEST(BundledModels, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(find_bundled_model("llama-2-7").error().message, HasSubstr("did you mean 'llama-2-7b'"));
}

}  // namespace
}  // namespace dovetail::llm
