#include "cost/batches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace dovetail::cost {
namespace {

using workflow::LengthDistribution;

TEST(Batches, SumsOfKnownLengths) {
  const auto lengths = LengthDistribution::of({{100, 1}, {300, 1}}).value();
  const Batch batch = batch_of(10, lengths);
  EXPECT_DOUBLE_EQ(batch.tokens.count, 2000);
  EXPECT_DOUBLE_EQ(batch.tokens.squares, 10 * 50'000);
}

TEST(Batches, PromptAndResponseAreAdded) {
  const auto whole = whole_lengths({.prompt_length = LengthDistribution::fixed(100),
                                    .response_length = LengthDistribution::of({{10, 1}, {50, 1}}).value()});
  EXPECT_EQ(whole.shortest(), 110);
  EXPECT_EQ(whole.longest(), 150);
  EXPECT_DOUBLE_EQ(whole.mean(), 130);
}

TEST(Batches, PromptAndResponseEndTogether) {
  workflow::Workload workload{.prompt_length = LengthDistribution::of({{1, 1}, {900, 1}}).value(),
                              .response_length = LengthDistribution::fixed(900),
                              .sequence_cap = 1000};
  workflow::set_responses(workload, workload.response_length);
  const auto whole = whole_lengths(workload);
  EXPECT_EQ(whole.shortest(), 901);
  EXPECT_EQ(whole.longest(), 1000);
  EXPECT_DOUBLE_EQ(whole.mean(), 950.5);
  EXPECT_DOUBLE_EQ(workload.response_length.mean(), 500);
}

TEST(Batches, KnownCounts) {
  const auto lengths = LengthDistribution::fixed(1000);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.count = 7}), 7);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.count = 64}), 10) << "no more than sequences";
  EXPECT_EQ(count_micro_batches(lengths, 10, {.sequences = 4}), 3);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.tokens = 4096}), 3) << "four fit";
  EXPECT_EQ(count_micro_batches(lengths, 10, {.tokens = 500}), 10) << "longer than the limit: one each";
  EXPECT_EQ(count_micro_batches(lengths, 0.5, {.tokens = 4096}), 1);
  EXPECT_NEAR(count_micro_batches(lengths, 4000, {.tokens = 4096}), 1000, 1) << "from a sample";
}

TEST(Batches, PairsStayTogether) {
  const auto lengths = LengthDistribution::fixed(1000);
  EXPECT_EQ(count_micro_batches(lengths, 12, {.sequences = 1}, 2), 6);
  EXPECT_EQ(count_micro_batches(lengths, 12, {.count = 12}, 2), 6);
  EXPECT_EQ(count_micro_batches(lengths, 12, {.sequences = 3}, 2), 3);
  EXPECT_EQ(count_micro_batches(lengths, 12, {.tokens = 3000}, 2), 6) << "one pair and a half";
  EXPECT_EQ(count_micro_batches(lengths, 12, {.tokens = 4096}, 2), 3);
}

RC_GTEST_PROP(Batches, PackingIsBetweenTheTokensAndTheSequences, ()) {
  std::vector<workflow::LengthPoint> points;
  const int count = *rc::gen::inRange(1, 20);
  for (int point = 0; point < count; ++point) points.push_back({*rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 9)});
  const auto lengths = LengthDistribution::of(points).value();
  const int sequences = *rc::gen::inRange(1, 257);
  const double cap = *rc::gen::inRange(1000, 5000);
  double tokens = 0;
  for (int index = 0; index < sequences; ++index)
    tokens += static_cast<double>(lengths.quantile((index + 0.5) / sequences));
  const double micro_batches = count_micro_batches(lengths, sequences, {.tokens = cap});
  RC_ASSERT(micro_batches >= std::ceil(tokens / cap));
  RC_ASSERT(micro_batches <= sequences);
}

}  // namespace
}  // namespace dovetail::cost
