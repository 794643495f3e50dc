#include "cost/generation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "clusters.h"
#include "workflow/log_normal.h"

namespace dovetail::cost {

namespace {

using workflow::LengthDistribution;

const char* random_model() { return *rc::gen::element("llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3"); }

llm::Layout random_layout() { return test::layout_of(1, 1 << *rc::gen::inRange(0, 4), 1 << *rc::gen::inRange(0, 3)); }

/// Decodes on one instance step by step: sequences in the order of `lengths`, at most `places` at a time.
double simulated_seconds(const std::vector<std::int64_t>& lengths, std::size_t places, double prompt,
                         const ModelFacts& facts, const llm::Layout& layout, const Machine& machine) {
  struct Sequence {
    std::int64_t done = 0;
    std::int64_t length = 0;
  };
  std::vector<Sequence> running;
  std::size_t next = 0;
  double seconds = 0;
  while (true) {
    while (running.size() < places && next < lengths.size()) running.push_back({0, lengths[next++]});
    if (running.empty()) return seconds;
    double context = 0;
    for (Sequence& sequence : running) context += prompt + static_cast<double>(sequence.done++);
    const auto batch = static_cast<double>(running.size());
    seconds += decode_step_seconds(facts, layout, batch, context / batch, machine, {});
    std::erase_if(running, [](const Sequence& sequence) { return sequence.done >= sequence.length; });
  }
}

TEST(Generation, AStepOfOneDeviceByHand) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const llm::Layout layout = test::layout_of(1, 1, 1);
  Efficiency efficiency;
  efficiency.memory_bandwidth = 0.75;
  efficiency.decode_layer = 2e-5;
  efficiency.decode_step = 2e-3;
  efficiency.decode_sequence = 1e-5;
  const Machine machine = test::h100_machine(1, efficiency);
  EXPECT_DOUBLE_EQ(key_value_bytes(facts, layout), 131'072);
  // Reading 7.5 billion weights (without the embedding) and 100 x 1000 tokens at 0.75 x 3.35 TB/s takes longer than the
  // products.
  const double weights = 2 * (8'030'261'248.0 - 128'256.0 * 4096);
  const double reading = (weights + 100.0 * 1000 * 131'072) / (0.75 * 3350e9);
  EXPECT_NEAR(decode_step_seconds(facts, layout, 100, 1000, machine, efficiency),
              reading + 32 * 2e-5 + 2e-3 + 100 * 1e-5, 1e-12);
}

TEST(Generation, AStepTakesAtLeastItsLaunchTime) {
  const ModelFacts facts = test::facts_of_bundled("llama-2-7b");
  Efficiency efficiency;
  efficiency.decode_launch = 5e-3;
  efficiency.decode_reduce = 1e-3;
  efficiency.decode_step = 2e-3;
  efficiency.decode_sequence = 0;
  const Machine machine = test::h100_machine(1, efficiency);
  const auto seconds = [&](int tensor) {
    return decode_step_seconds(facts, test::layout_of(1, tensor, 1), 1, 100, machine, efficiency);
  };
  // Two all-reduces in each of 32 layers start with the last of t ranks: 1 + 1/2 + ... + 1/t times the mean.
  EXPECT_NEAR(seconds(1), 32 * 5e-3 + 2e-3, 1e-12);
  EXPECT_NEAR(seconds(2), 32 * (5e-3 + 2 * 1e-3 * 1.5) + 2e-3, 1e-12);
  EXPECT_NEAR(seconds(4), 32 * (5e-3 + 2 * 1e-3 * 25 / 12) + 2e-3, 1e-12);
  EXPECT_NEAR(seconds(8), 32 * (5e-3 + 2 * 1e-3 * 761 / 280) + 2e-3, 1e-12);
  // Longer work hides the launch time.
  efficiency.decode_launch = efficiency.decode_reduce = 1e-6;
  EXPECT_GT(seconds(8), 32 * (1e-6 + 2 * 1e-6 * 761 / 280) + 2e-3);
}

RC_GTEST_PROP(Generation, AStepTakesLongerWithMoreOrLongerSequences, ()) {
  const ModelFacts facts = test::facts_of_bundled(random_model());
  const llm::Layout layout = random_layout();
  const Machine machine = test::h100_machine(4);
  const double sequences = *rc::gen::inRange(1, 500);
  const double context = *rc::gen::inRange(0, 8000);
  const double seconds = decode_step_seconds(facts, layout, sequences, context, machine, {});
  RC_ASSERT(decode_step_seconds(facts, layout, sequences + 1, context, machine, {}) >= seconds);
  RC_ASSERT(decode_step_seconds(facts, layout, sequences, context + 100, machine, {}) >= seconds);
}

RC_GTEST_PROP(Generation, FewerSlotsAreNeverFaster, ()) {
  const ModelFacts facts = test::facts_of_bundled(random_model());
  const llm::Layout layout = random_layout();
  const Machine machine = test::h100_machine(4);
  const auto prompts = LengthDistribution::fixed(100);
  const auto responses =
      workflow::log_normal_lengths({.mean = 500, .sigma = *rc::gen::inRange(1, 12) / 10.0, .cap = 2000});
  const GenerationWork work{256, 1, &prompts, &responses};
  const double places = *rc::gen::inRange(2, 257);
  const double fewer = *rc::gen::inRange(1, static_cast<int>(places));
  const double many = generation_seconds(facts, layout, work, {places, 1e18}, machine, {}).sum();
  // The grid of the occupancy causes errors of a few thousandths.
  RC_ASSERT(generation_seconds(facts, layout, work, {fewer, 1e18}, machine, {}).sum() >= 0.99 * many);
}

TEST(Generation, AgreesWithDecodingStepByStep) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Machine machine = test::h100_machine(1);
  const auto prompts = LengthDistribution::fixed(120);
  double sum_of_errors = 0;
  int cases = 0;
  for (const double sigma : {0.3, 0.8})
    for (const std::size_t places : {256U, 128U, 100U, 60U, 13U}) {
      const auto responses = workflow::log_normal_lengths({.mean = 700, .sigma = sigma, .cap = 3000});
      const llm::Layout layout = test::layout_of(2, 1, 1);
      const GenerationWork work{256, 1, &prompts, &responses};
      const GenerationSeconds closed =
          generation_seconds(facts, layout, work, {static_cast<double>(places), 1e18}, machine, {});
      constexpr int draws = 12;
      double simulated = 0;
      for (int draw = 0; draw < draws; ++draw) {
        base::Random random(5, static_cast<std::uint64_t>(draw));
        double slowest = 0;
        for (int instance = 0; instance < layout.data; ++instance)
          slowest =
              std::max(slowest, simulated_seconds(responses.sample(128, random), places, 120, facts, layout, machine));
        simulated += slowest / draws;
      }
      const double error = (closed.full + closed.tail + closed.imbalance) / simulated - 1;
      EXPECT_NEAR(error, 0, 0.06) << "sigma " << sigma << ", " << places << " places";
      sum_of_errors += std::abs(error);
      ++cases;
    }
  EXPECT_LT(sum_of_errors / cases, 0.03);
}

TEST(Generation, TheSlowestInstanceAgreesWithDecodingStepByStep) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const llm::Layout layout = test::layout_of(8, 1, 1);
  const Machine machine = test::h100_machine(1);
  const auto prompts = LengthDistribution::fixed(120);
  // Some sequences of every instance reach the cap, so all instances decode the same number of steps.
  const auto responses = workflow::log_normal_lengths({.mean = 500, .sigma = 1.0, .cap = 1000});
  constexpr int sequences = 128;
  const GenerationSeconds closed =
      generation_seconds(facts, layout, {8 * sequences, 1, &prompts, &responses}, {256, 1e18}, machine, {});
  constexpr int draws = 40;
  double beyond = 0;
  double slowest_of_all = 0;
  for (int draw = 0; draw < draws; ++draw) {
    base::Random random(9, static_cast<std::uint64_t>(draw));
    double slowest = 0;
    double mean = 0;
    for (int instance = 0; instance < layout.data; ++instance) {
      const double seconds = simulated_seconds(responses.sample(sequences, random), 256, 120, facts, layout, machine);
      slowest = std::max(slowest, seconds);
      mean += seconds / layout.data;
    }
    beyond += (slowest - mean) / draws;
    slowest_of_all += slowest / draws;
  }
  EXPECT_NEAR(closed.imbalance / beyond, 1, 0.15);
  EXPECT_NEAR((closed.full + closed.tail + closed.imbalance) / slowest_of_all, 1, 0.01);
}

RC_GTEST_PROP(Generation, EqualLengthsOrOneInstanceHaveNoImbalance, ()) {
  const ModelFacts facts = test::facts_of_bundled(random_model());
  const Machine machine = test::h100_machine(4);
  const auto prompts = LengthDistribution::fixed(100);
  const auto equal = LengthDistribution::fixed(*rc::gen::inRange(1, 4000));
  const auto different =
      workflow::log_normal_lengths({.mean = 500, .sigma = *rc::gen::inRange(1, 12) / 10.0, .cap = 2000});
  const double places = *rc::gen::inRange(1, 257);
  const auto imbalance = [&](const LengthDistribution& responses, int instances) {
    const GenerationWork work{64.0 * instances, 1, &prompts, &responses};
    return generation_seconds(facts, test::layout_of(instances, 2, 1), work, {places, 1e18}, machine, {}).imbalance;
  };
  const int instances = *rc::gen::inRange(2, 16);
  RC_ASSERT(imbalance(equal, instances) == 0);
  RC_ASSERT(imbalance(different, 1) == 0);
  RC_ASSERT(imbalance(different, instances) > 0);
  RC_ASSERT(imbalance(different, instances + 1) > imbalance(different, instances));
}

TEST(Generation, MemoryLimitsTheBatch) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const llm::Layout layout = test::layout_of(1, 1, 1);
  const auto prompts = LengthDistribution::fixed(200);
  const auto responses = LengthDistribution::fixed(1600);
  const GenerationWork work{64, 1, &prompts, &responses};
  const auto with_cache_for = [&](double sequences) {
    return generation_seconds(facts, layout, work, {256, sequences * 1800 * 131'072.0}, test::h100_machine(1), {});
  };
  const GenerationSeconds roomy = with_cache_for(64);
  EXPECT_EQ(roomy.recomputed, 0);
  EXPECT_EQ(roomy.full, 0);
  EXPECT_GE(roomy.flat_batch, 1);
  // A quarter of the cache: about the steps of four waves, and sequences admitted too early are recomputed.
  const GenerationSeconds tight = with_cache_for(16);
  EXPECT_GT(tight.recomputed, 0);
  EXPECT_GT(tight.full, 0);
  EXPECT_GT(tight.full + tight.tail, 1.8 * roomy.tail);
  EXPECT_LT(tight.full + tight.tail, 4.2 * roomy.tail);
}

TEST(Generation, SecondsGrowSmoothlyAsMemoryShrinks) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const auto prompts = LengthDistribution::fixed(200);
  const auto responses = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 8000});
  const GenerationWork work{512, 4, &prompts, &responses};
  double before = 0;
  for (double tokens = 400e3; tokens > 10e3; tokens *= 0.97) {
    const double seconds =
        generation_seconds(facts, test::layout_of(2, 1, 1), work, {256, tokens * 131'072.0}, test::h100_machine(1), {})
            .sum();
    EXPECT_NEAR(before > 0 ? seconds / before : 1, 1, 0.06) << tokens;
    before = seconds;
  }
}

TEST(Generation, AWeightSyncGathersOrBroadcasts) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  Efficiency efficiency;
  efficiency.refit = 3;
  efficiency.refit_links = 0.5;
  efficiency.refit_tensor = 1e-3;
  const Machine machine = test::h100_machine(2);
  const double bytes = 2 * 8'030'261'248.0;
  const double fixed = 3 + 291e-3;
  EXPECT_NEAR(weight_sync_seconds(facts, 16, false, machine, efficiency), fixed + bytes / (0.93 * 50e9) / 0.5, 1e-9);
  EXPECT_NEAR(weight_sync_seconds(facts, 8, false, test::h100_machine(1), efficiency),
              fixed + bytes / (0.8 * 450e9) / 0.5, 1e-9);
  EXPECT_NEAR(weight_sync_seconds(facts, 16, true, machine, efficiency),
              fixed + cluster::broadcast_seconds(machine.links, {16, 8}, bytes) / 0.5, 1e-9);
}

}  // namespace

namespace {

using workflow::LengthDistribution;

LengthDistribution random_lengths() {
  return workflow::log_normal_lengths(
      {.mean = 500, .sigma = *rc::gen::inRange(1, 12) / 10.0, .cap = *rc::gen::inRange(600, 8000)});
}

SequenceSeconds random_seconds() { return {*rc::gen::inRange(0, 100) * 1e-6, *rc::gen::inRange(1, 100) * 1e-9}; }

TEST(Imbalance, OfTwoLengthsByHand) {
  const LengthDistribution lengths = LengthDistribution::of({{100, 1}, {300, 1}}).value();
  const SequenceSeconds added{2e-5, 1e-7};
  // A sequence adds 2e-5 x 100 + 1e-7 (50 x 100 + 100^2 / 2) or 2e-5 x 300 + 1e-7 (50 x 300 + 300^2 / 2):
  // half of the difference is the distance from the mean.
  const double deviation = (12e-3 - 3e-3) / 2;
  // 7.625 / 8.25 of a normal distribution are below 1.4342.
  EXPECT_NEAR(imbalance_seconds(added, 50, lengths, 16, 8), 4 * deviation * 1.4342001596863794, 1e-9);
}

TEST(Imbalance, ZeroForOneInstanceOrEqualLengths) {
  const LengthDistribution lengths = LengthDistribution::of({{100, 1}, {300, 1}}).value();
  EXPECT_EQ(imbalance_seconds({2e-5, 1e-7}, 50, lengths, 16, 1), 0);
  for (const std::int64_t length : {1, 777, 1'000'003})
    EXPECT_EQ(imbalance_seconds({2e-5, 1e-7}, 50, LengthDistribution::fixed(length), 16, 64), 0) << length;
}

/// Extra seconds of the slowest instance compared with the average one, as the mean of many deals.
double dealt_seconds(const SequenceSeconds& added, double prompt, const LengthDistribution& lengths, int sequences,
                     int instances, int deals) {
  base::Random random(7, static_cast<std::uint64_t>(instances));
  double beyond = 0;
  for (int deal = 0; deal < deals; ++deal) {
    double slowest = 0;
    double mean = 0;
    for (int instance = 0; instance < instances; ++instance) {
      double seconds = 0;
      for (int sequence = 0; sequence < sequences; ++sequence) {
        const auto length = static_cast<double>(lengths.draw(random));
        seconds += added.step * length + added.context * (prompt * length + length * length / 2);
      }
      slowest = std::max(slowest, seconds);
      mean += seconds / instances;
    }
    beyond += (slowest - mean) / deals;
  }
  return beyond;
}

TEST(Imbalance, MatchesManyDeals) {
  const SequenceSeconds added{3e-5, 4e-8};
  constexpr double prompt = 120;
  constexpr int dealt_instances = 10'000;
  for (const double sigma : {0.3, 0.8})
    for (const int instances : {2, 8, 32})
      for (const int sequences : {64, 256}) {
        // Sums of few sequences are skewed: the normal approximation underestimates the maximum.
        const double tolerance = sequences < 100 ? 0.12 : 0.08;
        const auto lengths = workflow::log_normal_lengths({.mean = 700, .sigma = sigma, .cap = 3000});
        const double dealt = dealt_seconds(added, prompt, lengths, sequences, instances, dealt_instances / instances);
        EXPECT_NEAR(imbalance_seconds(added, prompt, lengths, sequences, instances) / dealt, 1, tolerance)
            << "sigma " << sigma << ", " << instances << " instances of " << sequences << " sequences";
      }
}

RC_GTEST_PROP(Imbalance, GrowsWithInstancesAndTheRootOfSequences, ()) {
  const LengthDistribution lengths = random_lengths();
  const SequenceSeconds added = random_seconds();
  const double prompt = *rc::gen::inRange(1, 2000);
  const double sequences = *rc::gen::inRange(1, 500);
  const int instances = *rc::gen::inRange(1, 500);
  const double seconds = imbalance_seconds(added, prompt, lengths, sequences, instances);
  RC_ASSERT(seconds >= 0);
  RC_ASSERT(imbalance_seconds(added, prompt, lengths, sequences, instances + 1) > seconds);
  RC_ASSERT(std::abs(imbalance_seconds(added, prompt, lengths, 4 * sequences, instances) - 2 * seconds) <=
            1e-12 * seconds);
}

RC_GTEST_PROP(Imbalance, GrowsWithTheCostOfASequenceUnlessLengthsAreEqual, ()) {
  const LengthDistribution lengths = random_lengths();
  const SequenceSeconds added = random_seconds();
  const int instances = *rc::gen::inRange(2, 500);
  const double seconds = imbalance_seconds(added, 100, lengths, 64, instances);
  RC_ASSERT(imbalance_seconds({added.step + 1e-5, added.context}, 100, lengths, 64, instances) > seconds);
  RC_ASSERT(imbalance_seconds({added.step, added.context + 1e-9}, 100, lengths, 64, instances) > seconds);
  RC_ASSERT(imbalance_seconds(added, 100, LengthDistribution::fixed(lengths.longest()), 64, instances) == 0);
}

}  // namespace

}  // namespace dovetail::cost
