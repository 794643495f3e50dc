#include "cost/passes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "clusters.h"

namespace dovetail::cost {
namespace {

Efficiency without_overheads() {
  Efficiency efficiency;
  efficiency.matrix_products = 0.5;
  efficiency.expert_products = 0.25;
  efficiency.layer_launch = efficiency.expert_launch = efficiency.slot = 0;
  return efficiency;
}

std::vector<PassSeconds> random_stages() {
  std::vector<PassSeconds> stages(*rc::gen::inRange<std::size_t>(1, 9));
  for (PassSeconds& stage : stages) stage.compute = *rc::gen::inRange(1, 100);
  return stages;
}

TEST(Passes, AForwardOnOneDeviceIsItsFlops) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency = without_overheads();
  const Machine machine = test::h100_machine(1);
  const llm::Layout layout = test::layout_of(8, 1, 1);
  const llm::Tokens tokens{4096, 4096.0 * 4096};
  const StageLayers stage = layers_of_stage(facts, layout, 0);
  const PassSeconds pass = forward_pass(facts, layout, stage, tokens, machine, efficiency);
  EXPECT_DOUBLE_EQ(pass.sum(), llm::forward_flops(facts.model, tokens) / (0.5 * 989e12));
  // Twice the products, two and a half times the scores; one more of both where all is computed again.
  const double scores = 32 * facts.scores * tokens.squares / (0.5 * 989e12);
  EXPECT_NEAR(backward_pass(facts, layout, stage, tokens, machine, efficiency).sum(), 2 * pass.sum() + 0.5 * scores,
              1e-12);
  llm::Layout again = layout;
  again.recomputation = llm::Recomputation::full;
  EXPECT_NEAR(backward_pass(facts, again, stage, tokens, machine, efficiency).sum(), 3 * pass.sum() + 0.5 * scores,
              1e-12);
}

TEST(Passes, TensorParallelismCutsProductsAndReducesTwiceALayer) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency = without_overheads();
  const Machine machine = test::h100_machine(1);
  const llm::Layout layout = test::layout_of(1, 8, 1);
  const llm::Tokens tokens{4096, 4096.0 * 4096};
  const PassSeconds pass = forward_pass(facts, layout, layers_of_stage(facts, layout, 0), tokens, machine, efficiency);
  EXPECT_DOUBLE_EQ(pass.compute, llm::forward_flops(facts.model, tokens) / 8 / (0.5 * 989e12));
  EXPECT_DOUBLE_EQ(pass.communication, 64 * cluster::all_reduce_seconds(machine.links, {8, 8}, 2.0 * 4096 * 4096));
}

TEST(Passes, LaunchesCountWhereTheyTakeLonger) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  Efficiency efficiency = without_overheads();
  efficiency.layer_launch = 1e-3;
  efficiency.slot = 2e-3;
  const llm::Layout layout = test::layout_of(8, 1, 1);
  const StageLayers stage = layers_of_stage(facts, layout, 0);
  const Machine machine = test::h100_machine(1);
  EXPECT_NEAR(forward_pass(facts, layout, stage, {1, 1}, machine, efficiency).sum(), 32e-3 + 2e-3, 1e-12);
  const PassSeconds large = forward_pass(facts, layout, stage, {65536, 0}, machine, efficiency);
  EXPECT_DOUBLE_EQ(large.launch, 2e-3);
}

TEST(Passes, ExpertsAreSentTwiceAndLaunchedApart) {
  const ModelFacts facts = test::facts_of_bundled("qwen3-30b-a3b");
  Efficiency efficiency = without_overheads();
  efficiency.expert_launch = 1e-3;
  llm::Layout layout = test::layout_of(8, 1, 1);
  layout.expert = 8;
  const Machine machine = test::h100_machine(1);
  const PassSeconds pass =
      forward_pass(facts, layout, layers_of_stage(facts, layout, 0), {1024, 0}, machine, efficiency);
  const double bytes = 1024.0 * 8 * 2048 * 2;
  EXPECT_DOUBLE_EQ(pass.communication, 2 * 48 * cluster::all_to_all_seconds(machine.links, {8, 8}, bytes));
  EXPECT_DOUBLE_EQ(pass.launch, 48e-3);
}

TEST(Passes, ExpertsAloneAreComputedAgain) {
  const ModelFacts facts = test::facts_of_bundled("deepseek-v3");
  Efficiency efficiency = without_overheads();
  efficiency.expert_launch = 1e-3;
  llm::Layout layout = test::layout_of(8, 1, 1);
  layout.expert = 8;
  const Machine machine = test::h100_machine(1);
  const StageLayers stage = layers_of_stage(facts, layout, 0);
  const auto backward = [&](llm::Recomputation recomputation) {
    layout.recomputation = recomputation;
    return backward_pass(facts, layout, stage, {1024, 0}, machine, efficiency);
  };
  const PassSeconds none = backward(llm::Recomputation::none);
  const PassSeconds experts = backward(llm::Recomputation::experts);
  const PassSeconds full = backward(llm::Recomputation::full);
  // 58 layers: a router of 256, a shared expert of 2048, eight routed ones.
  const double beside = 2.0 * 58 * 1024 * 7168 * (256 + 3 * 2048) / (0.5 * 989e12);
  const double routed = 2.0 * 58 * 1024 * 8 * 3 * 7168 * 2048 / (0.25 * 989e12);
  EXPECT_NEAR(experts.compute - none.compute, beside + routed, 1e-9);
  EXPECT_NEAR(experts.communication, 2 * none.communication, 1e-9);
  EXPECT_NEAR(experts.launch - none.launch, 58e-3, 1e-9);
  EXPECT_LT(experts.sum(), full.sum());
  // Without experts there is nothing to compute again.
  const ModelFacts dense = test::facts_of_bundled("llama-3.1-8b");
  layout = test::layout_of(8, 1, 1);
  const StageLayers layers = layers_of_stage(dense, layout, 0);
  const double usual = backward_pass(dense, layout, layers, {1024, 0}, machine, efficiency).sum();
  layout.recomputation = llm::Recomputation::experts;
  EXPECT_EQ(backward_pass(dense, layout, layers, {1024, 0}, machine, efficiency).sum(), usual);
}

TEST(Pipeline, KnownAnswers) {
  const std::vector<PassSeconds> stages = {{3, 0, 0}, {4, 1, 0}, {3, 0, 0}, {3, 0, 0}};
  const PipelineSeconds pipeline = pipeline_seconds(stages, 8, 1, 0.25, 6);
  EXPECT_DOUBLE_EQ(pipeline.slowest.sum(), 8 * 5);
  EXPECT_DOUBLE_EQ(pipeline.bubbles, 9);
  EXPECT_DOUBLE_EQ(pipeline.transfers, 1.5);
  EXPECT_DOUBLE_EQ(pipeline.seconds, 50.5);
}

RC_GTEST_PROP(Pipeline, OneStageHasNoBubbles, ()) {
  const PipelineSeconds pipeline =
      pipeline_seconds({{*rc::gen::inRange(1, 99) / 7.0, 1, 2}}, *rc::gen::inRange(1, 50), 1, 0, 0);
  RC_ASSERT(pipeline.bubbles == 0);
  RC_ASSERT(pipeline.seconds == pipeline.slowest.sum());
}

RC_GTEST_PROP(Pipeline, BubblesShrinkWithVirtualStages, ()) {
  const std::vector<PassSeconds> stages = random_stages();
  const int chunks = *rc::gen::inRange(1, 8);
  RC_ASSERT(pipeline_seconds(stages, 8, chunks + 1, 0, 0).bubbles <= pipeline_seconds(stages, 8, chunks, 0, 0).bubbles);
}

RC_GTEST_PROP(Pipeline, TheSlowestStageCounts, ()) {
  std::vector<PassSeconds> stages = random_stages();
  const double micro_batches = *rc::gen::inRange(1, 50);
  const double before = pipeline_seconds(stages, micro_batches, 1, 0, 0).seconds;
  const auto slowest =
      std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.sum() < b.sum(); });
  RC_ASSERT(before >= micro_batches * slowest->sum());
  slowest->compute += 1;
  RC_ASSERT(std::abs(pipeline_seconds(stages, micro_batches, 1, 0, 0).seconds - before - micro_batches) < 1e-9);
}

}  // namespace
}  // namespace dovetail::cost
