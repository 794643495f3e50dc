#include "cost/model_facts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "clusters.h"
#include "llm/random_transformer.h"
#include "llm/tensors.h"

namespace dovetail::cost {
namespace {

RC_GTEST_PROP(ModelFacts, AgreeWithClosedFormsAndTensors, ()) {
  const llm::Transformer model = *llm::test::random_transformer();
  const ModelFacts facts = facts_of(model);
  const double flops = 2 * facts.all * 30 + static_cast<double>(model.layers) * facts.scores * 500;
  RC_ASSERT(std::abs(flops / llm::forward_flops(model, {30, 500}) - 1) < 1e-12);
  RC_ASSERT(facts.tensors == static_cast<double>(llm::tensors_of(model).size()));
}

TEST(ModelFacts, ADecodedTokenAttendsToAllBeforeIt) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  // Two products of 32 heads of size 128, 2 FLOPs each, with 1000 tokens in 32 layers.
  EXPECT_DOUBLE_EQ(decode_flops(facts, 3, 1000) - decode_flops(facts, 3, 0), 3.0 * 32 * (2 * 2 * 32 * 128) * 1000);
  const ModelFacts latent = test::facts_of_bundled("deepseek-v3");
  // Absorbed form: 128 heads with 512 + 64 and 512 numbers, in 61 layers.
  EXPECT_DOUBLE_EQ(decode_flops(latent, 1, 1000) - decode_flops(latent, 1, 0), 61.0 * 2 * 128 * (576 + 512) * 1000);
}

TEST(ModelFacts, MoreTokensTouchMoreExperts) {
  const ModelFacts facts = test::facts_of_bundled("qwen3-30b-a3b");
  const auto all = static_cast<double>(facts.parameters.all - facts.parameters.embedding);
  EXPECT_NEAR(touched_parameters(facts, 1), static_cast<double>(facts.parameters.active - facts.parameters.embedding),
              1);
  EXPECT_NEAR(touched_parameters(facts, 1e6), all, 1);
  for (double sequences = 1; sequences < 300; sequences *= 2)
    EXPECT_LT(touched_parameters(facts, sequences), touched_parameters(facts, 2 * sequences));
}

TEST(ModelFacts, RanksOfAllStagesHoldTheModel) {
  llm::Layout layout = test::layout_of(2, 2, 4);
  layout.expert = 4;
  for (const char* name : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3"}) {
    const ModelFacts facts = test::facts_of_bundled(name);
    double shared = 0;
    double routed = 0;
    for (int stage = 0; stage < layout.pipeline; ++stage) {
      const RankParameters parameters = parameters_of_rank(facts, layout, layers_of_stage(facts, layout, stage));
      shared += layout.tensor * parameters.shared;
      routed += layout.expert * parameters.routed;
    }
    EXPECT_NEAR((shared + routed) / static_cast<double>(facts.parameters.all), 1, 1e-12) << name;
  }
}

TEST(ModelFacts, AStageHasItsLayersEmbeddingAndHead) {
  const ModelFacts facts = test::facts_of_bundled("deepseek-v3");
  llm::Layout layout = test::layout_of(1, 1, 16);
  layout.stage_layers = {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2};
  const StageLayers first = layers_of_stage(facts, layout, 0);
  EXPECT_EQ(first.dense, 3);
  EXPECT_EQ(first.with_experts, 0);
  EXPECT_TRUE(first.first && !first.last);
  const StageLayers last = layers_of_stage(facts, layout, 15);
  EXPECT_EQ(last.with_experts, 2);
  EXPECT_TRUE(last.last && !last.first);
}

}  // namespace
}  // namespace dovetail::cost
