#include "cost/imbalance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "workflow/log_normal.h"

namespace dovetail::cost {
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
  // half of the difference off its mean.
  const double deviation = (12e-3 - 3e-3) / 2;
  // 7.625 / 8.25 of a normal distribution are below 1.4342.
  EXPECT_NEAR(imbalance_seconds(added, 50, lengths, 16, 8), 4 * deviation * 1.4342001596863794, 1e-9);
}

TEST(Imbalance, NoneOfOneInstanceNorOfEqualLengths) {
  const LengthDistribution lengths = LengthDistribution::of({{100, 1}, {300, 1}}).value();
  EXPECT_EQ(imbalance_seconds({2e-5, 1e-7}, 50, lengths, 16, 1), 0);
  for (const std::int64_t length : {1, 777, 1'000'003})
    EXPECT_EQ(imbalance_seconds({2e-5, 1e-7}, 50, LengthDistribution::fixed(length), 16, 64), 0) << length;
}

/// What the slowest instance takes beyond the average one, the mean of that many deals.
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

TEST(Imbalance, IsWhatManyDealsComeTo) {
  const SequenceSeconds added{3e-5, 4e-8};
  constexpr double prompt = 120;
  constexpr int dealt_instances = 10'000;
  for (const double sigma : {0.3, 0.8})
    for (const int instances : {2, 8, 32})
      for (const int sequences : {64, 256}) {
        // Sums of few sequences are skewed: normal ones fall short of the longest.
        const double tolerance = sequences < 100 ? 0.12 : 0.08;
        const auto lengths = workflow::log_normal_lengths({.mean = 700, .sigma = sigma, .cap = 3000});
        const double dealt = dealt_seconds(added, prompt, lengths, sequences, instances, dealt_instances / instances);
        EXPECT_NEAR(imbalance_seconds(added, prompt, lengths, sequences, instances) / dealt, 1, tolerance)
            << "sigma " << sigma << ", " << instances << " instances of " << sequences << " sequences";
      }
}

RC_GTEST_PROP(Imbalance, RisesWithInstancesAndWithTheRootOfSequences, ()) {
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

RC_GTEST_PROP(Imbalance, GrowsWithWhatASequenceAddsAndNotWithAllOfTheSameLength, ()) {
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
