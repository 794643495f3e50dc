#include "simulate/inter_stage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cost/training.h"
#include "simulate/trace.h"
#include "stage_tasks.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::equal_samples;
using test::layout_of;
using test::long_tailed;
using test::StageContext;

TEST(InterStage, WithoutFusionInferenceTakesTheSecondsOfTheClosedForm) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  const InferTask& infer = scenario.add("llama-3.1-8b", 2, 2, 4, 1.5);
  scenario.task.drop = base::ticks_of_seconds(0.25);
  const std::vector<Sample> samples = equal_samples(64, 100, 200);
  scenario.know(samples);
  const InterStage plain = simulate_inter_stage(scenario.task, samples, std::nullopt);
  EXPECT_EQ(plain.generation_end, simulate_generation(scenario.task.generation, samples).end);
  const auto lengths = workflow::LengthDistribution::fixed(300);
  const double inference = cost::inference_seconds(infer.facts, infer.layout, cost::batch_of(64, lengths),
                                                   infer.micro_batching, infer.machine, infer.efficiency)
                               .seconds;
  EXPECT_NEAR(static_cast<double>((plain.end - plain.generation_end).count()), 1e9 * (1.75 + inference), 16);
  EXPECT_FALSE(plain.migration);
  EXPECT_EQ(plain.gain(), Ticks(0));
}

TEST(InterStage, EqualLengthsLeaveNothingToOverlap) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 1.5);
  scenario.add("llama-3.1-8b", 1, 2, 4, 0.5);
  const std::vector<Sample> samples = equal_samples(64, 100, 200);
  scenario.know(samples);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 0.2);
  EXPECT_FALSE(fused.migration);
  EXPECT_EQ(fused.gain(), Ticks(0));
  EXPECT_EQ(fused.end, fused.generation_end + base::ticks_of_seconds(1.5) + scenario.task.infer[0].uncontended +
                           base::ticks_of_seconds(0.5) + scenario.task.infer[1].uncontended);
}

TEST(InterStage, ALongTailHidesInference) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 0.5);
  scenario.add("llama-3.1-8b", 2, 1, 4, 0.5);
  const std::vector<Sample> samples = long_tailed(256, 200, 31, 10);
  scenario.know(samples);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 0.1);
  ASSERT_TRUE(fused.migration);
  EXPECT_EQ(fused.migration->destinations.size(), 1U);
  EXPECT_EQ(fused.migration->unfinished, 9U);
  EXPECT_GT(fused.migration->moved, 0U);
  EXPECT_GT(fused.gain(), Ticks(0));
  // 247 samples are fully scored before generation ends. The rest takes at most one load and its own passes.
  std::size_t early = 0;
  for (const Ticks scored : fused.scored[0]) early += scored < fused.generation_end ? 1U : 0U;
  EXPECT_GE(early, 247U);
}

TEST(InterStage, TheLastPercentOfGenerationIsNotATail) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 0.5);
  for (const auto& [longer, migrates] : {std::pair(1, false), {400, true}}) {
    std::vector<Sample> samples = equal_samples(64, 100, 400);
    for (std::size_t index = 0; index < 4; ++index) samples[index].response += longer;
    scenario.know(samples);
    EXPECT_EQ(simulate_inter_stage(scenario.task, samples, 0.1).migration.has_value(), migrates) << longer;
  }
}

TEST(InterStage, AWorkerWaitsForMissingWeights) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  InferTask& infer = scenario.add("llama-3.1-8b", 2, 1, 4, 0);
  infer.gathering = base::ticks_of_seconds(0.25);
  const std::vector<Sample> samples = long_tailed(256, 200, 31, 10);
  scenario.know(samples);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 0.1);
  ASSERT_TRUE(fused.migration);
  int loading = 0;
  for (const Lane& lane : fused.trace.lanes)
    for (const Span& span : lane.spans)
      if (span.bar_kind == BarKind::loading) {
        EXPECT_EQ(span.end - span.begin, base::ticks_of_seconds(0.25));
        ++loading;
      }
  EXPECT_EQ(loading, 3) << "one of four instances keeps the tail";
  EXPECT_EQ(simulate_inter_stage(scenario.task, samples, std::nullopt).end, fused.without)
      << "tasks in turn need no loading";
}

TEST(InterStage, PaddedSamplesAreScoredAtTheirRowLength) {
  constexpr double row = 2500;
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  const InferTask& infer = scenario.add("llama-3.1-8b", 2, 1, 1, 0.5);
  const std::vector<Sample> samples = long_tailed(256, 200, 31, 10);
  scenario.know(samples);
  scenario.task.row = static_cast<std::int64_t>(row);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 0.1);
  ASSERT_TRUE(fused.migration);
  const Ticks pass = base::ticks_of_seconds(
      cost::inference_passes(infer.facts, infer.layout, {row, row * row}, infer.machine, infer.efficiency)
          .stages.front()
          .sum());
  std::int64_t scored = 0;
  for (const Lane& lane : fused.trace.lanes)
    for (const Span& span : lane.spans)
      if (span.bar_kind == BarKind::infer) {
        EXPECT_EQ(span.end - span.begin, pass);
        scored += span.amount;
      }
  EXPECT_EQ(scored, 256);
}

TEST(InterStage, DevicesHoldTheActorThenTheInferenceModel) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 2, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 0.5).held = 7'000;
  scenario.task.held = 40'000;
  const std::vector<Sample> samples = long_tailed(256, 200, 31, 10);
  scenario.know(samples);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 0.1);
  ASSERT_TRUE(fused.migration);
  int scorers = 0;
  for (const Lane& lane : fused.trace.lanes) {
    const auto load = std::find_if(lane.spans.begin(), lane.spans.end(),
                                   [](const Span& span) { return span.bar_kind == BarKind::loading; });
    const Ticks leaves = load == lane.spans.end() ? Ticks::max() : load->begin;
    for (const auto& [time, bytes] : lane.memory)
      EXPECT_TRUE(time < leaves ? bytes >= 40'000 : bytes == 7'000) << bytes;
    if (leaves < Ticks::max()) ++scorers;
  }
  EXPECT_EQ(scorers, 3) << "three of four instances";
}

TEST(InterStage, TheMostLoadedInstancesKeepTheirSamplesAndOthersAreBalanced) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0.1);
  // Instance 2 has three long responses, 0 and 3 one each. Steps are flat up to 16 sequences, so one instance is
  // enough.
  std::vector<Sample> samples = equal_samples(32, 100, 50);
  for (const std::size_t sample : {2U, 6U, 10U, 4U, 7U}) samples[sample].response = 500;
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 5.0 / 32);
  ASSERT_TRUE(fused.migration);
  EXPECT_EQ(fused.migration->destinations, (std::vector<std::size_t>{2}));
  EXPECT_EQ(fused.migration->unfinished, 5U);
  EXPECT_EQ(fused.migration->moved, 2U);
}

TEST(InterStage, TheNumberOfDestinationsHasTwoBounds) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  GenerationTask& task = scenario.task.generation;
  const std::vector<Sample> samples = equal_samples(64, 100, 300);
  task.engine.max_num_seqs = 16;
  EXPECT_EQ(destination_count(task, fleet_of(task, samples), samples, 40, 400), 3U);
  EXPECT_EQ(destination_count(task, fleet_of(task, samples), samples, 48, 400), 3U);
  EXPECT_EQ(destination_count(task, fleet_of(task, samples), samples, 49, 400), 4U);
  // 40 x 400 tokens in caches of 4000.
  task.key_value_capacity = 4000.5 * scenario.generation.token_bytes();
  EXPECT_EQ(destination_count(task, fleet_of(task, samples), samples, 40, 400), 4U);
  task.engine.max_num_seqs = 1 << 20;
  task.key_value_capacity = 1e15;
  const double context = 100 + 150;
  const double flat =
      cost::flat_batch(scenario.generation.facts, task.layout, context, scenario.generation.machine(), task.efficiency);
  EXPECT_EQ(destination_count(task, fleet_of(task, samples), samples, static_cast<std::size_t>(2 * flat + 1), 400), 3U);
}

TEST(InterStage, KeysAndValuesMoveOrAreRecomputedByCost) {
  const std::vector<Sample> samples = long_tailed(64, 50, 7, 40);
  for (const bool slow : {false, true}) {
    StageContext scenario("llama-3.1-8b", layout_of(8, 2, 1));
    scenario.add("llama-3.1-8b", 2, 1, 4, 0.1);
    scenario.generation.cluster.networks[0].bandwidth = slow ? 1e6 : 50e9;
    const InterStage fused = simulate_inter_stage(scenario.task, samples, 10.0 / 64);
    ASSERT_TRUE(fused.migration);
    ASSERT_GT(fused.migration->moved, 0U);
    EXPECT_EQ(fused.migration->computed_again, slow);
    if (slow) {
      EXPECT_EQ(fused.migration->bytes, 0);
      EXPECT_GE(fused.counts.recomputed, static_cast<std::int64_t>(150 * fused.migration->moved));
    } else {
      EXPECT_EQ(fused.counts.recomputed, 0);
      // All have decoded 50 to 60 tokens after a prompt of 100, on two devices.
      const double token = 2 * scenario.generation.token_bytes() * static_cast<double>(fused.migration->moved);
      EXPECT_GE(static_cast<double>(fused.migration->bytes), 150 * token);
      EXPECT_LE(static_cast<double>(fused.migration->bytes), 160 * token);
      EXPECT_GT(fused.migration->end, fused.migration->at);
    }
  }
}

TEST(InterStage, UnlimitedLinksMakeMigrationFree) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0.1);
  cluster::LinkEfficiency free{1, 0, 0};
  scenario.task.generation.efficiency.links = {free, free};
  scenario.generation.cluster.groups[0].gpu.link_bandwidth = 1e30;
  const std::vector<Sample> samples = long_tailed(64, 50, 7, 40);
  const InterStage fused = simulate_inter_stage(scenario.task, samples, 10.0 / 64);
  ASSERT_TRUE(fused.migration);
  EXPECT_FALSE(fused.migration->computed_again);
  ASSERT_GT(fused.migration->moved, 0U);
  // Sending a sample takes one ns. An instance first ends its step, which takes up to a few ms.
  EXPECT_LT(fused.migration->end - fused.migration->at, base::ticks_of_seconds(0.02));
  // The merged batch was separate before, and a batch of eight is nearly as fast as a batch of one.
  EXPECT_LT(static_cast<double>(fused.generation_end.count()),
            1.1 * static_cast<double>(simulate_generation(scenario.task.generation, samples).end.count()));
}

TEST(InterStage, OneInstanceHasNowhereToMigrateTo) {
  StageContext scenario("llama-3.1-8b", layout_of(1, 8, 1));
  scenario.add("llama-3.1-8b", 8, 1, 4, 0.1);
  const InterStage fused = simulate_inter_stage(scenario.task, long_tailed(64, 50, 8, 40), 0.2);
  EXPECT_FALSE(fused.migration);
  EXPECT_EQ(fused.gain(), Ticks(0));
}

TEST(InterStage, FreedDevicesWithoutSpaceForAReplicaPreventMigration) {
  StageContext scenario("llama-3.1-8b", layout_of(2, 4, 1));
  scenario.add("llama-3.1-70b", 8, 1, 4, 0.1);
  EXPECT_FALSE(simulate_inter_stage(scenario.task, long_tailed(64, 50, 16, 40), 0.1).migration);
}

/// Generation on instances of 1 or 2 devices, followed by up to three inference tasks of different sizes.
void randomize(StageContext& scenario) {
  GenerationTask& generation = scenario.task.generation;
  generation.options = test::random_options();
  generation.engine.max_num_seqs = *rc::gen::inRange(2, 20);
  generation.key_value_capacity = scenario.generation.token_bytes() * *rc::gen::element(800, 3000, 100'000);
  scenario.generation.cluster.networks[0].bandwidth = *rc::gen::element(1e7, 1e9, 50e9);
  scenario.task.drop = Ticks(*rc::gen::inRange(0, 300'000'000));
  const int tasks = *rc::gen::inRange(0, 4);
  for (int index = 0; index < tasks; ++index) {
    InferTask& infer = scenario.add("llama-3.1-8b", *rc::gen::element(1, 2), *rc::gen::element(1, 2),
                                    *rc::gen::element(1, 4), *rc::gen::element(0.0, 0.1, 1.0));
    if (index > 0 && *rc::gen::arbitrary<bool>()) infer.after.push_back(0);
    if (*rc::gen::inRange(0, 3) == 0) infer.micro_batching = {0, 1000, 0};
  }
}

RC_GTEST_PROP(InterStage, ScoresEverySampleAndAccountsForAllTime, ()) {
  StageContext scenario("llama-3.1-8b", layout_of(4, *rc::gen::element(1, 2), 1));
  randomize(scenario);
  const std::vector<Sample> samples = test::random_samples(*rc::gen::inRange(4, 40), 3, 200, 400);
  scenario.know(samples);
  const double threshold = *rc::gen::inRange(1, 20) * 0.05;
  const InterStage fused = simulate_inter_stage(scenario.task, samples, threshold);
  std::int64_t responses = 0;
  for (const Sample& sample : samples) responses += sample.response;
  RC_ASSERT(fused.counts.decoded == responses);
  RC_ASSERT(*std::max_element(fused.finished.begin(), fused.finished.end()) == fused.generation_end);
  RC_ASSERT(!find_fault(fused.trace));
  RC_ASSERT(fused.trace.end == fused.end);
  std::set<int> devices;
  for (const Lane& lane : fused.trace.lanes) devices.insert(lane.devices.begin(), lane.devices.end());
  RC_ASSERT(static_cast<int>(devices.size()) == scenario.task.generation.mesh.count);
  RC_ASSERT(fused.scored.size() == scenario.task.infer.size());
  for (std::size_t task = 0; task < fused.scored.size(); ++task)
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
      RC_ASSERT(fused.scored[task][sample] > fused.finished[sample]);
      RC_ASSERT(fused.scored[task][sample] <= fused.end);
      for (const std::size_t before : scenario.task.infer[task].after)
        RC_ASSERT(fused.scored[task][sample] > fused.scored[before][sample]);
    }
  if (fused.migration) {
    RC_ASSERT(fused.migration->moved <= fused.migration->unfinished);
    RC_ASSERT(static_cast<double>(fused.migration->unfinished) <=
              std::max(1.0, threshold * static_cast<double>(samples.size()) + 1e-6));
  } else {
    RC_ASSERT(fused.end == fused.without);
  }
  RC_ASSERT(fused.without == simulate_inter_stage(scenario.task, samples, std::nullopt).end);
}

RC_GTEST_PROP(InterStage, IsDeterministic, ()) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  randomize(scenario);
  const std::vector<Sample> samples = test::random_samples(20, 3, 200, 400);
  const InterStage once = simulate_inter_stage(scenario.task, samples, 0.3);
  const InterStage again = simulate_inter_stage(scenario.task, samples, 0.3);
  RC_ASSERT(once.scored == again.scored);
  RC_ASSERT(once.finished == again.finished);
  RC_ASSERT(once.trace.lanes.size() == again.trace.lanes.size());
}

}  // namespace
}  // namespace dovetail::simulate
