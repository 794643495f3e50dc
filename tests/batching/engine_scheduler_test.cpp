#include "batching/engine_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "token_by_token.h"

namespace dovetail::batching {
namespace {

using test::StepRecord;
using test::TokenByToken;
using testing::ElementsAre;
using testing::IsEmpty;

Sequence sequence_of(std::size_t id, std::int64_t prompt, std::int64_t group) {
  Sequence sequence;
  sequence.id = id;
  sequence.prompt = prompt;
  sequence.group = group;
  return sequence;
}

StepRecord record_of(const EngineStep& step, const EngineScheduler& engine) {
  const std::vector<Sequence>& running = engine.running();
  StepRecord record;
  record.preempted = step.preempted;
  for (std::size_t place = running.size() - step.admitted; place < running.size(); ++place)
    record.admitted.push_back(running[place].id);
  for (const Chunk& chunk : step.chunks) record.computed[running[chunk.place].id] = chunk.tokens;
  for (const std::size_t place : step.decoding) record.decoded.push_back(running[place].id);
  return record;
}

/// Returns the indices of running sequences that have all of their tokens.
std::vector<std::size_t> ended(const EngineScheduler& engine, const std::vector<std::int64_t>& responses) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < engine.running().size(); ++place) {
    const Sequence& sequence = engine.running()[place];
    if (sequence.to_compute == 0 && sequence.done >= responses[sequence.id]) places.push_back(place);
  }
  return places;
}

EngineLimits random_limits() {
  EngineLimits limits;
  limits.sequences = *rc::gen::inRange(1, 8);
  limits.batched_tokens = *rc::gen::inRange(1, 60);
  limits.chunked_prefill = *rc::gen::arbitrary<bool>();
  limits.prefix_sharing = *rc::gen::arbitrary<bool>();
  limits.block_tokens = *rc::gen::element(1, 4, 16);
  limits.blocks = *rc::gen::inRange(0, 200) / limits.block_tokens;
  return limits;
}

/// Sequences with their arrivals and target tokens.
struct Load {
  std::vector<Sequence> sequences;
  std::vector<std::int64_t> arrivals;  // steps, ascending
  std::vector<std::int64_t> responses;
};

Load random_load() {
  Load load;
  std::int64_t step = 0;
  const int groups = *rc::gen::inRange(1, 8);
  for (int group = 0; group < groups; ++group) {
    const std::int64_t prompt = *rc::gen::inRange(1, 40);
    const int members = *rc::gen::inRange(1, 4);
    for (int member = 0; member < members; ++member) {
      Sequence sequence = sequence_of(load.sequences.size(), prompt, group);
      sequence.priority = *rc::gen::inRange(0, 3);
      sequence.done = *rc::gen::element(0, 0, 0, 5);
      sequence.cached = sequence.done > 0 && *rc::gen::arbitrary<bool>();
      load.sequences.push_back(sequence);
      load.arrivals.push_back(step);
      load.responses.push_back(sequence.done + *rc::gen::inRange(0, 50));
      step += *rc::gen::element(0, 0, 1, 20);
    }
  }
  return load;
}

TEST(EngineScheduler, LongPromptsAreComputedInChunksDuringDecoding) {
  EngineScheduler engine({.batched_tokens = 10, .blocks = 100});
  engine.arrive(sequence_of(0, 6, 0));
  engine.arrive(sequence_of(1, 13, 1));
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 6}, Chunk{1, 4}));
  EXPECT_THAT(engine.next().decoding, IsEmpty());
  EXPECT_EQ(engine.next().admitted, 2U);
  engine.advance(1);
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{1, 9}));
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U));
  EXPECT_EQ(engine.steps_unchanged(), 1);
  engine.advance(1);
  EXPECT_THAT(engine.next().chunks, IsEmpty());
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U, 1U));
  EXPECT_EQ(engine.running()[0].done, 1);
}

TEST(EngineScheduler, WholePromptsPauseDecoding) {
  EngineScheduler engine({.batched_tokens = 10, .chunked_prefill = false, .blocks = 100});
  engine.arrive(sequence_of(0, 6, 0));
  engine.arrive(sequence_of(1, 13, 1));
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 6}));
  engine.advance(1);
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{1, 13})) << "longer than a step: runs alone";
  EXPECT_THAT(engine.next().decoding, IsEmpty());
  engine.advance(1);
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U, 1U));
}

TEST(EngineScheduler, AGroupsPromptIsComputedAndHeldOnce) {
  EngineScheduler engine({.block_tokens = 4, .blocks = 100});
  for (const std::size_t id : {0U, 1U, 2U}) engine.arrive(sequence_of(id, 10, 7));
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 10}));
  EXPECT_EQ(engine.next().admitted, 3U);
  EXPECT_EQ(engine.blocks_after(0), 3);
  EXPECT_EQ(engine.blocks_after(1), 3 + 3);
  engine.advance(1);
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U, 1U, 2U));
  engine.finish({0, 2});
  EXPECT_EQ(engine.blocks_after(5), 3 + 2);
  engine.finish({0});
  EXPECT_EQ(engine.unfinished(), 0U);
  EXPECT_EQ(engine.blocks_after(0), 0);
}

TEST(EngineScheduler, TheLastToEnterIsPreemptedAndNotOvertaken) {
  EngineScheduler engine({.block_tokens = 1, .blocks = 10});
  engine.arrive(sequence_of(0, 3, 0));
  engine.arrive(sequence_of(1, 3, 1));
  engine.next();
  engine.advance(1);
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U, 1U));
  EXPECT_EQ(engine.steps_unchanged(), 2) << "5 tokens each";
  engine.advance(2);
  EXPECT_THAT(engine.next().preempted, ElementsAre(1U));
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U));
  Sequence urgent = sequence_of(2, 3, 2);
  urgent.priority = 9;
  engine.arrive(urgent);
  EXPECT_EQ(engine.waiting().front().id, 1U);
  EXPECT_TRUE(engine.waiting().front().again);
  engine.finish({0});
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 5}, Chunk{1, 3}));
}

TEST(EngineScheduler, HigherPrioritiesWaitAhead) {
  EngineScheduler engine({.sequences = 1, .blocks = 100});
  for (const std::size_t id : {0U, 1U, 2U, 3U}) {
    Sequence sequence = sequence_of(id, 3, static_cast<std::int64_t>(id));
    sequence.priority = id % 2;
    engine.arrive(sequence);
  }
  std::vector<std::size_t> order;
  for (; engine.unfinished() > 0; engine.finish({0})) {
    engine.next();
    order.push_back(engine.running()[0].id);
  }
  EXPECT_THAT(order, ElementsAre(1U, 3U, 0U, 2U));
}

TEST(EngineScheduler, ASequenceLongerThanTheCacheRunsAlone) {
  EngineScheduler engine({.block_tokens = 1, .blocks = 5});
  engine.arrive(sequence_of(0, 20, 0));
  engine.arrive(sequence_of(1, 1, 1));
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 20}));
  engine.advance(1);
  engine.next();
  EXPECT_EQ(engine.running().size(), 1U);
  EXPECT_EQ(engine.steps_unchanged(1000), 1000);
}

TEST(EngineScheduler, ASequenceWithoutBudgetDoesNotGrow) {
  EngineScheduler engine({.batched_tokens = 2, .block_tokens = 1, .blocks = 13});
  for (const std::size_t id : {0U, 1U, 2U}) engine.arrive(sequence_of(id, 1, 0));
  engine.arrive(sequence_of(3, 2, 1));
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{0, 1}, Chunk{3, 1}));
  engine.advance(1);
  EXPECT_THAT(engine.next().chunks, IsEmpty()) << "three tokens are decoded and only two may be computed";
  EXPECT_THAT(engine.next().decoding, ElementsAre(0U, 1U, 2U));
  EXPECT_EQ(engine.steps_unchanged(), 3) << "1 + 2 blocks of prompts, 1 for the waiting sequence, 3 per step";
}

TEST(EngineScheduler, LeavingSequencesReportTheirCache) {
  EngineScheduler engine({.batched_tokens = 10, .blocks = 100});
  engine.arrive(sequence_of(0, 6, 0));
  engine.arrive(sequence_of(1, 13, 1));
  engine.arrive(sequence_of(2, 5, 2));
  engine.next();
  engine.advance(1);
  const std::vector<Sequence> left = engine.leave();
  ASSERT_EQ(left.size(), 3U);
  EXPECT_TRUE(left[0].cached);
  EXPECT_FALSE(left[1].cached);
  EXPECT_TRUE(left[1].again) << "4 of its tokens had been computed";
  EXPECT_FALSE(left[2].again);
  EXPECT_EQ(engine.unfinished(), 0U);
  EXPECT_EQ(engine.blocks_after(1), 0);
  for (const Sequence& sequence : left) engine.arrive(sequence);
  EXPECT_THAT(engine.next().chunks, ElementsAre(Chunk{1, 10})) << "the first has its keys and values";
}

RC_GTEST_PROP(EngineScheduler, MatchesTheOracle, ()) {
  const EngineLimits limits = random_limits();
  const Load load = random_load();
  EngineScheduler engine(limits);
  TokenByToken oracle(limits);
  std::size_t arrived = 0;
  for (std::int64_t step = 0; arrived < load.sequences.size() || !oracle.empty(); ++step) {
    for (; arrived < load.sequences.size() && load.arrivals[arrived] <= step; ++arrived) {
      engine.arrive(load.sequences[arrived]);
      oracle.arrive(load.sequences[arrived]);
    }
    RC_ASSERT((engine.unfinished() == 0U) == oracle.empty());
    if (oracle.empty()) continue;
    const StepRecord planned = record_of(engine.next(), engine);
    RC_ASSERT(planned == oracle.step());
    engine.advance(1);
    engine.finish(ended(engine, load.responses));
    oracle.finish_if([&](const Sequence& sequence) { return sequence.done >= load.responses[sequence.id]; });
    if (!oracle.empty()) RC_ASSERT(engine.blocks_after(1) == oracle.blocks());
  }
}

RC_GTEST_PROP(EngineScheduler, StaysWithinLimitsAndLosesNothing, ()) {
  const EngineLimits limits = random_limits();
  const Load load = random_load();
  EngineScheduler engine(limits);
  for (const Sequence& sequence : load.sequences) engine.arrive(sequence);
  std::int64_t decoded = 0;
  std::vector<std::size_t> finished;
  while (engine.unfinished() > 0) {
    const EngineStep& step = engine.next();
    RC_ASSERT(engine.running().size() == 1U || engine.blocks_after(1) <= limits.blocks);
    RC_ASSERT(static_cast<std::int64_t>(engine.running().size()) <= limits.sequences);
    std::int64_t tokens = static_cast<std::int64_t>(step.decoding.size());
    for (const Chunk& chunk : step.chunks) tokens += chunk.tokens;
    if (limits.chunked_prefill)
      RC_ASSERT(tokens <= std::max<std::int64_t>(limits.batched_tokens, std::ssize(step.decoding)));
    RC_ASSERT(tokens >= 1);
    decoded += std::ssize(step.decoding);
    engine.advance(1);
    const std::vector<std::size_t> places = ended(engine, load.responses);
    for (const std::size_t place : places) finished.push_back(engine.running()[place].id);
    engine.finish(places);
  }
  std::sort(finished.begin(), finished.end());
  RC_ASSERT(finished.size() == load.sequences.size());
  for (std::size_t id = 0; id < finished.size(); ++id) RC_ASSERT(finished[id] == id);
  // A sequence with 0 target tokens decodes one if it enters in a step that computes nothing.
  std::int64_t responses = 0;
  for (std::size_t id = 0; id < finished.size(); ++id) responses += load.responses[id] - load.sequences[id].done;
  RC_ASSERT(decoded >= responses && decoded <= responses + std::ssize(finished));
}

/// Returns ids and steps of all ends, with stretches of at most this many steps.
std::vector<std::pair<std::size_t, std::int64_t>> ends_of(const EngineLimits& limits, const Load& load,
                                                          std::int64_t max_steps) {
  EngineScheduler engine(limits);
  std::vector<std::pair<std::size_t, std::int64_t>> ends;
  std::size_t arrived = 0;
  for (std::int64_t now = 0; arrived < load.sequences.size() || engine.unfinished() > 0;) {
    for (; arrived < load.sequences.size() && load.arrivals[arrived] <= now; ++arrived)
      engine.arrive(load.sequences[arrived]);
    if (engine.unfinished() == 0) {
      now = load.arrivals[arrived];
      continue;
    }
    std::int64_t most = max_steps;
    if (arrived < load.sequences.size()) most = std::min(most, load.arrivals[arrived] - now);
    for (const std::size_t place : engine.next().decoding) {
      const Sequence& sequence = engine.running()[place];
      most = std::min(most, std::max<std::int64_t>(1, load.responses[sequence.id] - sequence.done));
    }
    const std::int64_t steps = engine.steps_unchanged(most);
    engine.advance(steps);
    now += steps;
    const std::vector<std::size_t> places = ended(engine, load.responses);
    for (const std::size_t place : places) ends.emplace_back(engine.running()[place].id, now);
    engine.finish(places);
  }
  return ends;
}

RC_GTEST_PROP(EngineScheduler, StretchLengthDoesNotChangeTheRun, ()) {
  const EngineLimits limits = random_limits();
  const Load load = random_load();
  const auto one_by_one = ends_of(limits, load, 1);
  RC_ASSERT(ends_of(limits, load, *rc::gen::inRange(2, 10)) == one_by_one);
  RC_ASSERT(ends_of(limits, load, 1'000'000) == one_by_one);
}

RC_GTEST_PROP(EngineScheduler, AStretchEndsWhenBlocksRunOut, ()) {
  const EngineLimits limits = random_limits();
  const Load load = random_load();
  EngineScheduler engine(limits);
  for (const Sequence& sequence : load.sequences) engine.arrive(sequence);
  while (engine.unfinished() > 0) {
    engine.next();
    const std::int64_t steps = engine.steps_unchanged();
    if (engine.next().chunks.empty() && engine.running().size() > 1) {
      EngineScheduler copy = engine;
      copy.advance(steps);
      RC_ASSERT(!copy.next().preempted.empty());
      engine.finish({*rc::gen::inRange<std::size_t>(0, engine.running().size())});
    } else if (engine.next().chunks.empty()) {
      engine.finish({0});
    } else {
      RC_ASSERT(steps == 1);
      engine.advance(1);
    }
  }
}

}  // namespace
}  // namespace dovetail::batching
