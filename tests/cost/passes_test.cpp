// Passes through stages, and the pace of 1F1B with unequal stages and messages that take time.
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
  // Twice the products and 2.5 times the attention. Full recomputation adds one of each.
  const double scores = 32 * facts.scores * tokens.squares / (0.5 * 989e12);
  EXPECT_NEAR(backward_pass(facts, layout, stage, tokens, machine, efficiency).sum(), 2 * pass.sum() + 0.5 * scores,
              1e-12);
  llm::Layout again = layout;
  again.recomputation = llm::Recomputation::full;
  EXPECT_NEAR(backward_pass(facts, again, stage, tokens, machine, efficiency).sum(), 3 * pass.sum() + 0.5 * scores,
              1e-12);
}

TEST(Passes, TensorParallelismSplitsProductsAndReducesTwicePerLayer) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency = without_overheads();
  const Machine machine = test::h100_machine(1);
  const llm::Layout layout = test::layout_of(1, 8, 1);
  const llm::Tokens tokens{4096, 4096.0 * 4096};
  const PassSeconds pass = forward_pass(facts, layout, layers_of_stage(facts, layout, 0), tokens, machine, efficiency);
  EXPECT_DOUBLE_EQ(pass.compute, llm::forward_flops(facts.model, tokens) / 8 / (0.5 * 989e12));
  EXPECT_DOUBLE_EQ(pass.communication, 64 * cluster::all_reduce_seconds(machine.links, {8, 8}, 2.0 * 4096 * 4096));
}

TEST(Passes, LaunchTimeIsAMinimum) {
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

TEST(Passes, ExpertsAreSentTwiceAndLaunchedSeparately) {
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

TEST(Passes, OnlyExpertsAreRecomputed) {
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
  const double outside_routed = 2.0 * 58 * 1024 * 7168 * (256 + 3 * 2048) / (0.5 * 989e12);
  const double routed = 2.0 * 58 * 1024 * 8 * 3 * 7168 * 2048 / (0.25 * 989e12);
  EXPECT_NEAR(experts.compute - none.compute, outside_routed + routed, 1e-9);
  EXPECT_NEAR(experts.communication, 2 * none.communication, 1e-9);
  EXPECT_NEAR(experts.launch - none.launch, 58e-3, 1e-9);
  EXPECT_LT(experts.sum(), full.sum());
  // Without experts there is nothing to recompute.
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

RC_GTEST_PROP(Pipeline, TheSlowestStageDecides, ()) {
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

namespace {

ChunkPasses passes(double forward, double backward) { return {{forward, 0, 0}, {backward, 0, 0}}; }

double seconds(const std::vector<ChunkPasses>& chunks, int stages, int micro_batches, double hop = 0) {
  return training_pipeline_seconds(chunks, stages, micro_batches, hop).seconds;
}

std::vector<ChunkPasses> random_chunks(std::size_t count) {
  std::vector<ChunkPasses> chunks;
  while (chunks.size() < count) chunks.push_back(passes(*rc::gen::inRange(1, 50), *rc::gen::inRange(1, 90)));
  return chunks;
}

TEST(TrainingPipeline, KnownAnswersByHand) {
  // Two stages, two micro-batches. Stage 0: F0 0-1, F1 1-2; stage 1: F0 1-3, B0 3-7, F1 7-9, B1 9-13; stage 0: B0 7-9,
  // B1 13-15.
  EXPECT_DOUBLE_EQ(seconds({passes(1, 2), passes(2, 4)}, 2, 2), 15);
  // The same with messages of 1: stage 1 starts at 2 and is busy until 14. Stage 0's last backward starts at 15.
  EXPECT_DOUBLE_EQ(seconds({passes(1, 2), passes(2, 4)}, 2, 2, 1), 17);
  // The slow stage first: F0 0-2, F1 2-4; stage 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8; stage 0: B0 5-9, B1 9-13. The
  // textbook formula says 15.
  EXPECT_DOUBLE_EQ(seconds({passes(2, 4), passes(1, 2)}, 2, 2), 13);
}

TEST(TrainingPipeline, AMessageDelaysEveryMicroBatch) {
  // Four equal stages of 3, messages of 0.5: each micro-batch takes 3 + 2 x 0.5 x 3 / 4 in the long run.
  const std::vector<ChunkPasses> chunks(4, passes(1, 2));
  EXPECT_NEAR((seconds(chunks, 4, 4000, 0.5) - seconds(chunks, 4, 2000, 0.5)) / 2000, 3.75, 1e-9);
  EXPECT_NEAR((seconds(chunks, 4, 32, 0.5) - seconds(chunks, 4, 16, 0.5)) / 16, 3.75, 1e-9);
  // Interleaving hides messages of up to half of a chunk's pass.
  const std::vector<ChunkPasses> halves(8, passes(1, 2));
  EXPECT_NEAR((seconds(halves, 4, 32, 0.5) - seconds(halves, 4, 16, 0.5)) / 16, 6, 1e-9);
}

RC_GTEST_PROP(TrainingPipeline, EqualChunksFollowTheTextbookFormula, ()) {
  const int stages = *rc::gen::inRange(1, 10);
  const int rounds = stages > 1 ? *rc::gen::inRange(1, 5) : 1;
  const int micro_batches = *rc::gen::inRange(1, 60) * (rounds > 1 ? stages : 1);
  const double forward = *rc::gen::inRange(1, 50);
  const double backward = *rc::gen::inRange(1, 50);
  const std::vector<ChunkPasses> chunks(static_cast<std::size_t>(stages * rounds), passes(forward, backward));
  const PipelineSeconds pipeline = training_pipeline_seconds(chunks, stages, micro_batches, 0);
  const double expected = (micro_batches * rounds + stages - 1) * (forward + backward);
  RC_ASSERT(std::abs(pipeline.seconds - expected) < 1e-9 * expected);
  RC_ASSERT(std::abs(pipeline.bubbles - (stages - 1) * (forward + backward)) < 1e-9 * expected);
  RC_ASSERT(pipeline.transfers < 1e-9 * expected);
}

RC_GTEST_PROP(TrainingPipeline, AtLeastTheSlowestStageAndOneMicroBatch, ()) {
  const int stages = *rc::gen::inRange(1, 12);
  const int rounds = stages > 1 ? *rc::gen::inRange(1, 4) : 1;
  const std::vector<ChunkPasses> chunks = random_chunks(static_cast<std::size_t>(stages * rounds));
  const int micro_batches = *rc::gen::inRange(1, 40) * (rounds > 1 ? stages : 1);
  const double hop = *rc::gen::inRange(0, 9) / 8.0;
  const PipelineSeconds pipeline = training_pipeline_seconds(chunks, stages, micro_batches, hop);
  double once = 2 * hop * (stages * rounds - 1);
  for (const ChunkPasses& chunk : chunks) once += chunk.forward.sum() + chunk.backward.sum();
  RC_ASSERT(pipeline.seconds >= once - 1e-9);
  RC_ASSERT(pipeline.seconds >= pipeline.slowest.sum() - 1e-9);
  RC_ASSERT(std::abs(pipeline.slowest.sum() + pipeline.bubbles + pipeline.transfers - pipeline.seconds) <
            1e-9 * pipeline.seconds);
  // With interleaving, later micro-batches follow at a measured pace, which may be slightly off.
  const double least =
      rounds == 1 || micro_batches <= simulated_per_stage * stages ? pipeline.seconds : 0.999 * pipeline.seconds;
  RC_ASSERT(training_pipeline_seconds(chunks, stages, micro_batches, hop + 0.125).seconds >= least - 1e-9);
}

/// Reversed in time, forwards are backwards and the last micro-batch is the first: the result is still 1F1B.
RC_GTEST_PROP(TrainingPipeline, ForwardsAndBackwardsAreSymmetric, ()) {
  const int stages = *rc::gen::inRange(1, 12);
  std::vector<ChunkPasses> chunks = random_chunks(static_cast<std::size_t>(stages));
  const int micro_batches = *rc::gen::inRange(1, 30);
  const double hop = *rc::gen::inRange(0, 9) / 8.0;
  const double before = seconds(chunks, stages, micro_batches, hop);
  for (ChunkPasses& chunk : chunks) std::swap(chunk.forward, chunk.backward);
  RC_ASSERT(std::abs(seconds(chunks, stages, micro_batches, hop) - before) < 1e-9 * before);
}

/// Extrapolation at the long-run pace hardly differs from a longer pipeline, which simulates more micro-batches.
RC_GTEST_PROP(TrainingPipeline, LaterMicroBatchesFollowAtTheSamePace, ()) {
  const std::vector<ChunkPasses> chunks = random_chunks(4);
  std::vector<ChunkPasses> longer = chunks;  // preceded by stages that take almost no time
  longer.insert(longer.begin(), 12, passes(1e-6, 1e-6));
  const double few = seconds(chunks, 4, 60, 0);
  RC_ASSERT(std::abs(seconds(longer, 16, 60, 0) / few - 1) < 0.02);
}

}  // namespace

}  // namespace dovetail::cost
