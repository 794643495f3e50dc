// The pace of 1F1B with stages that differ and messages that take time.
#include "cost/training_pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace dovetail::cost {
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
  // The same with messages of 1: stage 1 begins at 2, and is busy until 14; stage 0's last backward begins at 15.
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
  // Interleaved, half of a chunk's pass is hidden.
  const std::vector<ChunkPasses> halves(8, passes(1, 2));
  EXPECT_NEAR((seconds(halves, 4, 32, 0.5) - seconds(halves, 4, 16, 0.5)) / 16, 6, 1e-9);
}

RC_GTEST_PROP(TrainingPipeline, EqualChunksAreTheTextbookFormula, ()) {
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

RC_GTEST_PROP(TrainingPipeline, NoFasterThanTheSlowestStageOrOneMicroBatch, ()) {
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
  // Interleaved, what is not played follows at a measured pace, which may be a little off.
  const double least =
      rounds == 1 || micro_batches <= played_each_stage * stages ? pipeline.seconds : 0.999 * pipeline.seconds;
  RC_ASSERT(training_pipeline_seconds(chunks, stages, micro_batches, hop + 0.125).seconds >= least - 1e-9);
}

/// Reversed in time, forwards are backwards and the last micro-batch is the first: 1F1B stays what it is.
RC_GTEST_PROP(TrainingPipeline, ForwardsAndBackwardsMayBeExchanged, ()) {
  const int stages = *rc::gen::inRange(1, 12);
  std::vector<ChunkPasses> chunks = random_chunks(static_cast<std::size_t>(stages));
  const int micro_batches = *rc::gen::inRange(1, 30);
  const double hop = *rc::gen::inRange(0, 9) / 8.0;
  const double before = seconds(chunks, stages, micro_batches, hop);
  for (ChunkPasses& chunk : chunks) std::swap(chunk.forward, chunk.backward);
  RC_ASSERT(std::abs(seconds(chunks, stages, micro_batches, hop) - before) < 1e-9 * before);
}

/// What is not played but follows at the pace of the long run hardly differs from what a longer pipeline, which plays
/// more, says.
RC_GTEST_PROP(TrainingPipeline, LaterMicroBatchesFollowAtTheSamePace, ()) {
  const std::vector<ChunkPasses> chunks = random_chunks(4);
  std::vector<ChunkPasses> longer = chunks;  // with stages that take next to nothing before them
  longer.insert(longer.begin(), 12, passes(1e-6, 1e-6));
  const double few = seconds(chunks, 4, 60, 0);
  RC_ASSERT(std::abs(seconds(longer, 16, 60, 0) / few - 1) < 0.02);
}

}  // namespace
}  // namespace dovetail::cost
