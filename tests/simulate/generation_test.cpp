#include "simulate/generation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "generations.h"
#include "simulate/trace.h"
#include "step_by_step.h"
#include "workflow/log_normal.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::equal_samples;
using test::layout_of;
using test::random_samples;
using test::Scenario;

/// Returns the seconds of decoding step by step.
double decoding(const Scenario& scenario, double sequences, double context, int steps) {
  double seconds = 0;
  for (int step = 0; step < steps; ++step)
    seconds += cost::decode_step_seconds(scenario.facts, scenario.task.layout, sequences, context + step,
                                         scenario.machine(), scenario.task.efficiency);
  return seconds;
}

void randomize(Scenario& scenario) {
  scenario.task.options = test::random_options();
  scenario.task.engine.chunked_prefill = *rc::gen::arbitrary<bool>();
  scenario.task.engine.max_num_seqs = *rc::gen::inRange(1, 20);
  scenario.task.engine.max_num_batched_tokens = *rc::gen::inRange(1, 400);
  // From too small for the longest sequence to enough for all.
  scenario.task.key_value_capacity = scenario.token_bytes() * *rc::gen::inRange(1, 4000);
}

std::int64_t blocks_of(const Scenario& scenario) {
  const double bytes = scenario.token_bytes() * static_cast<double>(scenario.task.options.block_tokens);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(scenario.task.key_value_capacity / bytes));
}

TEST(SimulatedGeneration, EqualLengthsFormWavesOfTheClosedForm) {
  for (const int pipeline : {1, 2}) {
    Scenario scenario("llama-3.1-8b", layout_of(2, 2, pipeline));
    scenario.task.engine.max_num_seqs = 16;
    const std::vector<Sample> samples = equal_samples(2 * 3 * 16, 100, 300);
    const Generation generation = simulate_generation(scenario.task, samples);
    // Each wave: the prompts of 16 sequences in one step, then 300 steps of all 16.
    cost::Efficiency bare = scenario.task.efficiency;
    bare.layer_launch = bare.expert_launch = bare.slot = 0;
    cost::Machine fast = scenario.machine();
    fast.gpu.memory_bandwidth = std::numeric_limits<double>::infinity();
    const double prefill =
        cost::prefill_seconds(scenario.facts, scenario.task.layout, {16 * 100.0, 16 * 100.0 * 100.0},
                              scenario.machine(), bare) +
        cost::decode_step_seconds(scenario.facts, scenario.task.layout, 0, 0, fast, scenario.task.efficiency);
    const double wave = prefill + decoding(scenario, 16, 100, 300);
    EXPECT_NEAR(static_cast<double>(generation.end.count()), 3 * wave * 1e9, 6) << "pipeline " << pipeline;
    for (const Lane& lane : generation.trace.lanes) EXPECT_EQ(time_of(uses_of(lane), BarKind::tail), Ticks(0));
    EXPECT_EQ(generation.counts.preemptions, 0);
    EXPECT_EQ(generation.counts.peak, static_cast<std::int64_t>(16 * (112 + 304) * scenario.token_bytes()));
  }
}

TEST(SimulatedGeneration, LongPromptsArePrefilledInChunksDuringDecoding) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  scenario.task.engine.max_num_batched_tokens = 1000;
  const Generation generation = simulate_generation(scenario.task, {{600, 50, 0}, {3000, 50, 1}});
  // 600 and 400 tokens in the first step, then twice 999 while the first sequence decodes, then 602.
  const std::vector<Span>& spans = generation.trace.lanes[0].spans;
  ASSERT_GE(spans.size(), 8U);
  EXPECT_EQ(spans[0].bar_kind, BarKind::prefill);
  EXPECT_EQ(spans[0].amount, 2);
  for (const std::size_t step : {0U, 1U, 2U}) {
    EXPECT_EQ(spans[1 + 2 * step].bar_kind, BarKind::decode);
    EXPECT_EQ(spans[1 + 2 * step].amount, 1);
    EXPECT_EQ(spans[2 + 2 * step].bar_kind, BarKind::prefill);
    EXPECT_EQ(spans[2 + 2 * step].amount, 1);
  }
  EXPECT_EQ(spans[7].bar_kind, BarKind::decode);
  EXPECT_EQ(spans[7].amount, 2);
  EXPECT_EQ(generation.counts.prefilled, 3600);
  scenario.task.engine.chunked_prefill = false;
  const Generation whole = simulate_generation(scenario.task, {{600, 50, 0}, {3000, 50, 1}});
  ASSERT_EQ(whole.trace.lanes[0].spans.size(), 2U);
  EXPECT_EQ(whole.trace.lanes[0].spans[0].amount, 1) << "a prompt longer than a step gets its own step";
  EXPECT_EQ(whole.trace.lanes[0].spans[1].amount, 2);
}

TEST(SimulatedGeneration, AGroupsPromptIsPrefilledOnceAndHeldOnce) {
  Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
  std::vector<Sample> samples;
  for (int group = 0; group < 4; ++group)
    for (int member = 0; member < 8; ++member) samples.push_back({1000, 160, group});
  const Generation shared = simulate_generation(scenario.task, samples);
  EXPECT_EQ(shared.counts.prefilled, 4 * 1000);
  EXPECT_EQ(shared.counts.peak, static_cast<std::int64_t>((2 * 1008 + 16 * 160) * scenario.token_bytes()));
  scenario.task.options.prefix_sharing = false;
  const Generation apart = simulate_generation(scenario.task, samples);
  EXPECT_EQ(apart.counts.prefilled, 32 * 1000);
  EXPECT_GT(apart.end, shared.end);
}

TEST(SimulatedGeneration, TheLastToEnterIsPreemptedAndRecomputed) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  scenario.task.options.block_tokens = 1;
  scenario.task.key_value_capacity = 400.5 * scenario.token_bytes();
  const Generation generation = simulate_generation(scenario.task, {{100, 200, 0}, {100, 200, 1}});
  // Both have 200 tokens after decoding 100 each. The next two do not fit.
  EXPECT_EQ(generation.counts.preemptions, 1);
  EXPECT_EQ(generation.counts.recomputed, 200);
  EXPECT_EQ(generation.counts.peak, static_cast<std::int64_t>(400 * scenario.token_bytes()));
  EXPECT_LT(generation.finished[0], generation.finished[1]);
}

TEST(SimulatedGeneration, LongestFirstShortensTheTail) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  scenario.task.engine.max_num_seqs = 4;
  std::vector<Sample> samples = equal_samples(12, 50, 100);
  samples.push_back({50, 800, 12});
  const Generation in_turn = simulate_generation(scenario.task, samples);
  scenario.task.options.longest_first = true;
  const Generation longest_first = simulate_generation(scenario.task, samples);
  EXPECT_LT(longest_first.end, in_turn.end);
  EXPECT_LT(longest_first.finished[0], in_turn.finished[12]);
}

TEST(SimulatedGeneration, GroupsAreDistributedInTurnOrByLoad) {
  Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
  const std::vector<Sample> samples{{10, 900, 7}, {10, 10, 7}, {10, 100, 3}, {10, 100, 4}, {10, 100, 5}};
  EXPECT_EQ(fleet_of(scenario.task, samples).shares, (std::vector<std::vector<std::size_t>>{{0, 1, 3}, {2, 4}}));
  scenario.task.options.min_loaded = true;
  EXPECT_EQ(fleet_of(scenario.task, samples).shares, (std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3, 4}}));
  // Fewer groups than instances: dealt by sample.
  const std::vector<Sample> one_group{{10, 50, 0}, {10, 50, 0}, {10, 50, 0}, {10, 50, 0}};
  scenario.task.options.min_loaded = false;
  EXPECT_EQ(fleet_of(scenario.task, one_group).shares, (std::vector<std::vector<std::size_t>>{{0, 2}, {1, 3}}));
}

TEST(SimulatedGeneration, InstancesHaveTheDevicesOfTheirRanks) {
  Scenario scenario("llama-3.1-8b", layout_of(2, 2, 2));
  const Generation generation = simulate_generation(scenario.task, equal_samples(4, 10, 10));
  ASSERT_EQ(generation.trace.lanes.size(), 2U);
  EXPECT_EQ(generation.trace.lanes[0].devices, (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(generation.trace.lanes[1].devices, (std::vector<int>{2, 3, 6, 7}));
}

TEST(SimulatedGeneration, AnEmptyResponseEndsWithItsPrefill) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  const Generation generation = simulate_generation(scenario.task, {{100, 0, 0}, {100, 0, 0}});
  EXPECT_EQ(generation.finished[0], generation.end);
  EXPECT_EQ(generation.finished[1], generation.end);
  EXPECT_EQ(generation.counts.decoded, 0);
  EXPECT_GT(generation.end, Ticks(0));
}

RC_GTEST_PROP(SimulatedGeneration, AgreesWithPlayingStepByStep, ()) {
  Scenario scenario(*rc::gen::element("llama-3.1-8b", "qwen3-30b-a3b"),
                    layout_of(1, *rc::gen::element(1, 4), *rc::gen::element(1, 2)));
  randomize(scenario);
  const std::vector<Sample> samples = random_samples(*rc::gen::inRange(1, 20), 4, 300, 400);
  test::StepByStep oracle(scenario, blocks_of(scenario));
  oracle.simulate(samples);
  const Generation generation = simulate_generation(scenario.task, samples);
  RC_ASSERT(generation.counts.preemptions == oracle.preemptions);
  RC_ASSERT(generation.counts.recomputed == oracle.recomputed);
  RC_ASSERT(generation.counts.prefilled == oracle.prefilled);
  const double block = scenario.token_bytes() * static_cast<double>(scenario.task.options.block_tokens);
  RC_ASSERT(std::abs(static_cast<double>(generation.counts.peak) - static_cast<double>(oracle.max_blocks) * block) < 1);
  // Rounding: a ns for each stretch, which sequences or preemptions begin and end, and each step that prefills, plus
  // 1e-9.
  const auto rounded =
      static_cast<double>(oracle.prefill_steps + 3 * oracle.preemptions) + 3 * static_cast<double>(samples.size());
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const double difference = static_cast<double>(generation.finished[sample].count()) - 1e9 * oracle.finished[sample];
    RC_ASSERT(std::abs(difference) <= rounded + oracle.finished[sample]);
  }
}

RC_GTEST_PROP(SimulatedGeneration, KeepsAllTokensAndStaysWithinMemory, ()) {
  Scenario scenario("llama-3.1-8b", layout_of(*rc::gen::inRange(1, 5), 1, 1));
  randomize(scenario);
  const std::vector<Sample> samples = random_samples(*rc::gen::inRange(1, 40), 4, 300, 400);
  const Generation generation = simulate_generation(scenario.task, samples);
  std::int64_t responses = 0;
  std::int64_t prompts = 0;
  std::set<std::int64_t> groups;
  std::int64_t longest = 0;
  Ticks last;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    responses += samples[index].response;
    if (!scenario.task.options.prefix_sharing || groups.insert(samples[index].group).second)
      prompts += samples[index].prompt;
    longest = std::max(longest, samples[index].prompt + samples[index].response);
    RC_ASSERT(generation.finished[index] > Ticks(0));
    last = std::max(last, generation.finished[index]);
  }
  RC_ASSERT(last == generation.end);
  RC_ASSERT(generation.counts.decoded == responses);
  RC_ASSERT(generation.counts.prefilled + generation.counts.recomputed >= prompts);
  if (!scenario.task.options.prefix_sharing && generation.counts.preemptions == 0)
    RC_ASSERT(generation.counts.prefilled == prompts);
  RC_ASSERT(!find_fault(generation.trace));
  // A sequence that runs alone may exceed the cache, rounded up to blocks.
  const double alone = scenario.token_bytes() * static_cast<double>(longest + 2 * scenario.task.options.block_tokens);
  RC_ASSERT(static_cast<double>(generation.counts.peak) <= std::max(scenario.task.key_value_capacity, alone) + 1);
  for (const Lane& lane : generation.trace.lanes) RC_ASSERT(peak_of(lane).second <= generation.counts.peak);
}

RC_GTEST_PROP(SimulatedGeneration, StoppingEarlyChangesOnlyRounding, ()) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  randomize(scenario);
  const std::vector<Sample> samples = random_samples(*rc::gen::inRange(1, 20), 3, 100, 200);
  const Generation whole = simulate_generation(scenario.task, samples);
  Fleet fleet = fleet_of(scenario.task, samples);
  std::vector<Instance> instances = instances_of(fleet, scenario.task, samples);
  Instance& instance = instances.front();
  const int stops = *rc::gen::inRange(1, 6);
  for (int stop = 1; stop <= stops; ++stop) {
    instance.run_until(Ticks(whole.end.count() / (stops + 1) * stop));
    const Instance copy = instance;
    instance = copy;
  }
  instance.run_until(Ticks::max());
  RC_ASSERT(instance.unfinished() == 0U);
  RC_ASSERT(instance.log().preemptions == whole.counts.preemptions);
  RC_ASSERT(std::abs((instance.now() - whole.end).count()) <= 2 * stops);
}

RC_GTEST_PROP(SimulatedGeneration, IsDeterministic, ()) {
  Scenario scenario("qwen3-30b-a3b", layout_of(3, 2, 1));
  randomize(scenario);
  const std::vector<Sample> samples = random_samples(12, 4, 200, 300);
  RC_ASSERT(simulate_generation(scenario.task, samples).finished ==
            simulate_generation(scenario.task, samples).finished);
}

/// Continuous batching is a greedy list schedule: a larger cache may delay a sequence, as more machines may (Graham
/// 1966), but not by much.
RC_GTEST_PROP(SimulatedGeneration, ALargerCacheIsHardlyEverSlower, ()) {
  Scenario scenario("llama-3.1-8b", layout_of(1, 1, 1));
  scenario.task.engine.max_num_seqs = 64;
  const std::vector<Sample> samples = random_samples(64, 1, 200, 400);
  scenario.task.key_value_capacity = scenario.token_bytes() * *rc::gen::inRange(600, 20'000);
  const Generation less = simulate_generation(scenario.task, samples);
  scenario.task.key_value_capacity *= 1.5;
  const Generation more = simulate_generation(scenario.task, samples);
  RC_ASSERT(static_cast<double>(more.end.count()) <= 1.1 * static_cast<double>(less.end.count()));
}

TEST(SimulatedGeneration, AgreesWithTheClosedFormOfExpectedLengths) {
  Scenario scenario("llama-3.1-8b", layout_of(8, 1, 1));
  const auto prompts = workflow::LengthDistribution::fixed(120);
  double sum = 0;
  int cases = 0;
  for (const double sigma : {0.3, 0.8})
    for (const std::int64_t places : {128, 60, 20}) {
      scenario.task.engine.max_num_seqs = places;
      workflow::Workload workload{prompts, workflow::log_normal_lengths({.mean = 700, .sigma = sigma, .cap = 3000})};
      workload.prompts = 8 * 100;
      const cost::GenerationWork work{800, 1, &workload.prompt_length, &workload.response_length};
      const double closed =
          cost::generation_seconds(scenario.facts, scenario.task.layout, work, {static_cast<double>(places), 1e15},
                                   scenario.machine(), scenario.task.efficiency)
              .sum();
      constexpr int draws = 24;
      double simulated = 0;
      for (std::uint64_t draw = 0; draw < draws; ++draw)
        simulated +=
            1e-9 / draws *
            static_cast<double>(simulate_generation(scenario.task, draw_samples(workload, {}, 1, draw)).end.count());
      EXPECT_NEAR(closed / simulated, 1, 0.06) << "sigma " << sigma << ", " << places << " slots";
      sum += std::abs(closed / simulated - 1);
      ++cases;
    }
  EXPECT_LT(sum / cases, 0.03);
}

}  // namespace
}  // namespace dovetail::simulate
