#include "llm/bundled_models.h"

#include <gtest/gtest.h>

#include <string>

#include "base/document.h"
#include "llm/huggingface_config.h"

namespace dovetail::llm {
namespace {

Transformer dense() {
  Transformer model;
  model.name = "dense";
  model.layers = 3;
  model.hidden = 64;
  model.heads = 4;
  model.key_value_heads = 2;
  model.head_size = 16;
  model.width = 96;
  model.vocabulary = 500;
  return model;
}

TEST(ShapeText, EachBundledModelRoundTrips) {
  for (const std::string& name : bundled_model_names()) {
    const Transformer shape = find_bundled_model(name).value();
    const auto line = config_line(shape);
    // RLHFuse's models combine plain networks with LLaMA's norms, as no model family does.
    if (name.starts_with("rlhfuse-")) {
      EXPECT_FALSE(line.ok()) << name;
      continue;
    }
    ASSERT_TRUE(line.ok()) << name << ": " << base::to_text(line.error());
    const auto document = base::parse_json(*line, name);
    ASSERT_TRUE(document.ok()) << *line;
    EXPECT_EQ(parse_config(document->root(), name).value(), shape) << *line;
  }
}

TEST(ShapeText, LinesHaveNoUnnecessaryKeys) {
  EXPECT_EQ(config_line(dense()).value(),
            R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, )"
            R"("num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 500})");
  Transformer wide = dense();
  wide.head_size = 32;
  wide.query_key_norm = true;
  wide.tied_embeddings = true;
  EXPECT_EQ(config_line(wide).value(),
            R"({"model_type": "qwen3", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, )"
            R"("num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 96, "vocab_size": 500, )"
            R"("tie_word_embeddings": true})");
}

TEST(ShapeText, UnknownShapesAreRejected) {
  Transformer odd = dense();
  odd.normalization = Normalization::layer;
  const auto line = config_line(odd);
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message.find("llama"), std::string::npos) << line.error().message;
}

TEST(ShapeText, BundledModelsAreFoundByShape) {
  Transformer shape = find_bundled_model("qwen3-30b-a3b").value();
  shape.name = "flags";
  EXPECT_EQ(bundled_model_of(shape), "qwen3-30b-a3b");
  // Two bundled models have this shape.
  const Transformer llama = find_bundled_model("llama-3.1-8b").value();
  EXPECT_EQ(bundled_model_of(llama, "llama-3.1-8b"), "llama-3.1-8b");
  Transformer other = find_bundled_model(bundled_model_of(llama, "qwen3-8b").value()).value();
  other.name = llama.name;
  EXPECT_EQ(other, llama);
  EXPECT_EQ(bundled_model_of(dense()), std::nullopt);
}

}  // namespace
}  // namespace dovetail::llm
