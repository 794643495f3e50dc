#include "llm/huggingface_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "llm/bundled_models.h"

namespace dovetail::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST(HuggingFaceConfig, ReadsExplicitHeadSizes) {
  const auto nemo =
      parse(R"({"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 14336, "num_hidden_layers": 40,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072, "sliding_window": null,
    "tie_word_embeddings": false})",
            "mistral-nemo-12b");
  EXPECT_EQ(nemo.value(), find_bundled_model("mistral-nemo-12b").value());
  const auto gemma =
      parse(R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000})",
            "gemma-7b");
  EXPECT_EQ(gemma.value(), find_bundled_model("gemma-7b").value());
}

TEST(HuggingFaceConfig, ReadsBiasesOfSeedOssAndGlm) {
  const auto seed = parse(R"({"model_type": "seed_oss", "hidden_size": 5120, "intermediate_size": 27648,
    "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 155136,
    "attention_bias": true, "attention_out_bias": false, "mlp_bias": false, "tie_word_embeddings": false})",
                          "seed-oss-36b");
  EXPECT_EQ(seed.value(), find_bundled_model("seed-oss-36b").value());
  const auto glm =
      parse(R"({"model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 151552, "attention_bias": true})",
            "glm-4-9b");
  EXPECT_EQ(glm.value(), find_bundled_model("glm-4-9b").value());
}

TEST(HuggingFaceConfig, ReadsMixturesOfLaterModels) {
  const auto moonlight = parse(
      R"({"model_type": "deepseek_v3", "hidden_size": 2048, "intermediate_size": 11264, "moe_intermediate_size": 1408,
    "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 64,
    "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "q_lora_rank": null,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840})",
      "moonlight-16b-a3b");
  EXPECT_EQ(moonlight.value(), find_bundled_model("moonlight-16b-a3b").value());
  const auto glm = parse(
      R"({"model_type": "glm4_moe", "hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536,
    "num_hidden_layers": 92, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
    "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
    "attention_bias": true, "use_qk_norm": true, "vocab_size": 151552, "num_nextn_predict_layers": 1})",
      "glm-4.5");
  EXPECT_EQ(glm.value(), find_bundled_model("glm-4.5").value());
  const auto flash = parse(
      R"({"model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240, "moe_intermediate_size": 1536,
    "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "n_routed_experts": 64,
    "n_shared_experts": 1, "num_experts_per_tok": 4, "first_k_dense_replace": 1, "q_lora_rank": 768,
    "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "vocab_size": 154880})",
      "glm-4.7-flash");
  EXPECT_EQ(flash.value(), find_bundled_model("glm-4.7-flash").value());
  const auto minimax =
      parse(R"({"model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62,
    "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256,
    "num_experts_per_tok": 8, "use_qk_norm": true, "use_routing_bias": true, "vocab_size": 200064})",
            "minimax-m2");
  EXPECT_EQ(minimax.value(), find_bundled_model("minimax-m2").value());
  const auto hunyuan = parse(
      R"({"model_type": "hy_v3", "hidden_size": 4096, "intermediate_size": 13312, "moe_intermediate_size": 1536,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_experts": 192,
    "num_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 120832})",
      "hy3");
  EXPECT_EQ(hunyuan.value(), find_bundled_model("hy3").value());
}

TEST(HuggingFaceConfig, ReadsTheLanguagePartOfVisionAndAudioModels) {
  const auto nested = parse(R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, "vision_config": {"depth": 24},
    "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 2048, "intermediate_size": 6144,
      "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151936}})",
                            "qwen3-1.7b");
  EXPECT_EQ(nested.value(), find_bundled_model("qwen3-1.7b").value())
      << "the head is tied as in the whole configuration";
  const auto thinker = parse(R"({"model_type": "qwen3_omni_moe", "thinker_config": {"audio_config": {}, "text_config": {
    "model_type": "qwen3_omni_moe_text", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 152064}}, "talker_config": {"text_config": {"model_type": "other"}}})",
                             "qwen3-omni-30b-a3b");
  EXPECT_EQ(thinker.value(), find_bundled_model("qwen3-omni-30b-a3b").value());
  const auto flat =
      parse(R"({"model_type": "minicpmo", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 151700, "vision_config": {"hidden_size": 1152}})",
            "minicpm-o-2.6");
  EXPECT_EQ(flat.value(), find_bundled_model("minicpm-o-2.6").value());
}

TEST(HuggingFaceConfig, RejectsUnsupportedArchitecturesByName) {
  EXPECT_THAT(base::to_text(parse(R"({"model_type": "qwen3_next"})").error()),
              HasSubstr("config.json:1:16: the model type is the string `qwen3_next`, and most of its layers use "
                        "linear attention, which is not modeled; accepted: llama"));
  EXPECT_THAT(base::to_text(parse(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}})").error()),
              HasSubstr("config.json:1:56: the model type is the string `gemma3_text`, and many of its layers attend "
                        "only to a window"));
  const std::string_view sparse = R"({{"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
    "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32, "num_experts": 128,
    "num_experts_per_tok": 8, "vocab_size": 151936, {}}})";
  EXPECT_THAT(base::to_text(parse(fmt::format(fmt::runtime(sparse), "\"decoder_sparse_step\": 2")).error()),
              HasSubstr("`decoder_sparse_step` is 2, but experts in only some layers are not modeled; accepted: 1"));
  EXPECT_THAT(
      base::to_text(parse(fmt::format(fmt::runtime(sparse), "\"mlp_only_layers\": [0]")).error()),
      HasSubstr("`mlp_only_layers` is not empty, but experts in only some layers are not modeled; accepted: []"));
  EXPECT_TRUE(parse(fmt::format(fmt::runtime(sparse), "\"mlp_only_layers\": []")).ok());
}

TEST(HuggingFaceConfig, ReportsMistakesWithTheirPosition) {
  EXPECT_THAT(base::to_text(parse("[]").error()),
              HasSubstr("config.json:1:1: a model's configuration is a list; accepted: a map"));
  EXPECT_THAT(base::to_text(parse(R"({"hidden_size": 8})").error()), HasSubstr("model_type: llama"));
  EXPECT_THAT(base::to_text(parse("{\n  \"model_type\": \"bert\"}").error()),
              HasSubstr("config.json:2:17: the model type is the string `bert`"));
  EXPECT_THAT(base::to_text(parse(R"({"model_type": "llama"})").error()),
              HasSubstr("needs the key `num_hidden_layers`"));
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

TEST(BundledModels, AreAllValid) {
  for (const std::string& name : bundled_model_names())
    EXPECT_FALSE(find_fault(find_bundled_model(name).value())) << name;
}

TEST(BundledModels, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(find_bundled_model("llama-2-7").error().message, HasSubstr("did you mean 'llama-2-7b'"));
}

std::vector<std::string> uncounted(const std::string& text) {
  const auto document = base::parse_json(text, "config.json");
  EXPECT_TRUE(document.ok()) << text;
  return document.ok() ? uncounted_parts(document->root()) : std::vector<std::string>{};
}

TEST(Architecture, ALanguageModelIsCountedCompletely) {
  EXPECT_THAT(uncounted(R"({"model_type": "qwen3", "sliding_window": null})"), IsEmpty());
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": false})"), IsEmpty());
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 4096})"), IsEmpty());
  EXPECT_THAT(uncounted("[]"), IsEmpty());
}

TEST(Architecture, ReportsPartsOtherThanTheLanguageModel) {
  const std::string only(only_language_part);
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2_5_vl"})"), ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"model_type": "other", "llm_config": {"model_type": "qwen2"}})"), ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text"}}})"),
              ElementsAre(only));
  EXPECT_THAT(uncounted(R"({"model_type": "glm4v", "text_config": {"model_type": "glm4v_text"}})"),
              ElementsAre(only, std::string(no_output_norms)));
}

TEST(Architecture, ReportsAttentionWindowsInUse) {
  EXPECT_THAT(uncounted(R"({"model_type": "mistral", "sliding_window": 4096})"),
              ElementsAre(HasSubstr("not only the last 4096")));
  EXPECT_THAT(uncounted(R"({"model_type": "qwen2", "sliding_window": 32768, "use_sliding_window": true})"),
              ElementsAre(HasSubstr("not only the last 32768")));
}

TEST(Architecture, UnsupportedArchitecturesHaveAReason) {
  EXPECT_EQ(beyond_transformer("nemotron_h"), "many of its layers are state-space models (Mamba)");
  EXPECT_FALSE(beyond_transformer("llama").has_value());
}

}  // namespace
}  // namespace dovetail::llm
