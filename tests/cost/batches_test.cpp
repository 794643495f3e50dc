#include "cost/batches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "support/effort.h"
#include "workflow/log_normal.h"

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
  const auto whole = integer_lengths({.prompt_length = LengthDistribution::fixed(100),
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
  const auto whole = integer_lengths(workload);
  EXPECT_EQ(whole.shortest(), 901);
  EXPECT_EQ(whole.longest(), 1000);
  EXPECT_DOUBLE_EQ(whole.mean(), 950.5);
  EXPECT_DOUBLE_EQ(workload.response_length.mean(), 500);
}

TEST(Batches, KnownCounts) {
  const auto lengths = LengthDistribution::fixed(1000);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.count = 7}), 7);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.count = 64}), 10) << "at most one per sequence";
  EXPECT_EQ(count_micro_batches(lengths, 10, {.sequences = 4}), 3);
  EXPECT_EQ(count_micro_batches(lengths, 10, {.tokens = 4096}), 3) << "four fit";
  EXPECT_EQ(count_micro_batches(lengths, 10, {.tokens = 500}), 10) << "longer than the limit: one each";
  EXPECT_EQ(count_micro_batches(lengths, 0.5, {.tokens = 4096}), 1);
  EXPECT_NEAR(count_micro_batches(lengths, 4000, {.tokens = 4096}), 1000, 1) << "scaled up from a sample";
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

namespace {

using workflow::LengthDistribution;

/// Means over many draws.
struct Drawn {
  llm::Tokens most;  // of the largest rank
  double mean = 0;   // tokens of a rank
};

/// Means over many draws of lengths, dealt to ranks by `deal`.
template <class Deal>
Drawn drawn(const LengthDistribution& lengths, int each, int ranks, int draws, const Deal& deal) {
  base::Random random(7, 1);
  Drawn mean;
  for (int draw = 0; draw < draws; ++draw) {
    const std::vector<std::vector<std::int64_t>> shares =
        deal(lengths.sample(static_cast<std::size_t>(each * ranks), random), ranks);
    llm::Tokens most;
    for (const std::vector<std::int64_t>& share : shares) {
      llm::Tokens tokens;
      for (const std::int64_t length : share) {
        tokens.count += static_cast<double>(length);
        tokens.squares += static_cast<double>(length * length);
      }
      mean.mean += tokens.count / draws / ranks;
      if (tokens.count > most.count) most = tokens;
    }
    mean.most.count += most.count / draws;
    mean.most.squares += most.squares / draws;
  }
  return mean;
}

std::vector<std::vector<std::int64_t>> as_they_come(const std::vector<std::int64_t>& lengths, int ranks) {
  std::vector<std::vector<std::int64_t>> shares(static_cast<std::size_t>(ranks));
  for (std::size_t index = 0; index < lengths.size(); ++index) shares[index % shares.size()].push_back(lengths[index]);
  return shares;
}

/// Swaps sequences between the largest share and another while both become smaller than the largest was.
void swap_while_it_helps(std::vector<std::vector<std::int64_t>>& shares, std::vector<std::int64_t>& tokens) {
  while (true) {
    const auto most = static_cast<std::size_t>(std::max_element(tokens.begin(), tokens.end()) - tokens.begin());
    std::int64_t least = tokens[most];
    std::int64_t* swapped[2] = {};
    std::size_t with = most;
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
      for (std::int64_t& own : shares[most])
        for (std::int64_t& other : shares[rank]) {
          const std::int64_t larger = std::max(tokens[most] - own + other, tokens[rank] + own - other);
          if (rank == most || larger >= least) continue;
          least = larger;
          swapped[0] = &own;
          swapped[1] = &other;
          with = rank;
        }
    if (with == most) return;
    const std::int64_t moved = *swapped[0] - *swapped[1];
    tokens[most] -= moved;
    tokens[with] += moved;
    std::swap(*swapped[0], *swapped[1]);
  }
}

/// Deals the longest sequences first, each to the rank with the fewest tokens among those with free places. Then swaps.
std::vector<std::vector<std::int64_t>> balanced(std::vector<std::int64_t> lengths, int ranks) {
  std::vector<std::vector<std::int64_t>> shares(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> tokens(shares.size());
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  const std::size_t each = lengths.size() / shares.size();
  for (const std::int64_t length : lengths) {
    std::size_t least = shares.size();
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
      if (shares[rank].size() < each && (least == shares.size() || tokens[rank] < tokens[least])) least = rank;
    shares[least].push_back(length);
    tokens[least] += length;
  }
  swap_while_it_helps(shares, tokens);
  return shares;
}

Batch batch_for(const LengthDistribution& lengths, int each, int ranks, bool is_balanced) {
  Batch batch = batch_of(each * ranks, lengths);
  batch.balanced = is_balanced;
  return batch;
}

TEST(Shares, MaximumOfNormalVariables) {
  EXPECT_NEAR(normal_maximum(1).mean, 0, 1e-9);
  EXPECT_NEAR(normal_maximum(1).square, 1, 1e-9);
  EXPECT_NEAR(normal_maximum(2).mean, 1 / std::sqrt(std::acos(-1.0)), 1e-9);
  EXPECT_NEAR(normal_maximum(2).square, 1, 1e-9);
  // Tables of order statistics (Harter 1961).
  EXPECT_NEAR(normal_maximum(8).mean, 1.42360, 1e-5);
  EXPECT_NEAR(normal_maximum(100).mean, 2.50759, 1e-5);
}

TEST(Shares, EqualLengthsOrOneRankGiveEqualShares) {
  const auto fixed = LengthDistribution::fixed(100);
  const auto spread = LengthDistribution::of({{10, 1}, {50, 1}}).value();
  for (const bool is_balanced : {false, true}) {
    EXPECT_DOUBLE_EQ(slowest_share(batch_for(fixed, 4, 8, is_balanced), 2, 8).tokens.count, 200);
    EXPECT_DOUBLE_EQ(slowest_share(batch_for(spread, 4, 1, is_balanced), 1, 1).tokens.count, 120);
  }
}

TEST(Shares, UnbalancedSharesMatchManyDraws) {
  for (const double sigma : {0.4, 0.8})
    for (const int each : {1, 2, 4, 16, 64})
      for (const int ranks : {2, 8, 32}) {
        const auto lengths = workflow::log_normal_lengths({.mean = 500, .sigma = sigma, .cap = 4000});
        const Drawn expected = drawn(lengths, each, ranks, 400, as_they_come);
        const Share share = slowest_share(batch_for(lengths, each, ranks, false), 1, ranks);
        EXPECT_NEAR(share.tokens.count / expected.most.count, 1, each == 2 ? 0.07 : 0.03)
            << sigma << " " << each << " " << ranks;
        EXPECT_NEAR(share.tokens.squares / expected.most.squares, 1, each > 1 && each <= 4 ? 0.25 : 0.15)
            << sigma << " " << each << " " << ranks;
      }
}

TEST(Shares, BalancedSharesMatchManyDraws) {
  for (const double sigma : {0.4, 0.8})
    for (const int each : {1, 2, 4, 16, 64})
      for (const int ranks : {2, 8, 32}) {
        if (dovetail::test::sanitized && each * ranks > 128) continue;
        const auto lengths = workflow::log_normal_lengths({.mean = 500, .sigma = sigma, .cap = 4000});
        const Drawn expected = drawn(lengths, each, ranks, each <= 4 ? 400 : 40, balanced);
        const Share share = slowest_share(batch_for(lengths, each, ranks, true), 1, ranks);
        // Two pairs of sequences differ even if no single sequence is too long.
        const double above = share.tokens.count / (each * lengths.mean());
        EXPECT_NEAR(above * expected.mean / expected.most.count, 1, each == 2 ? 0.1 : 0.05)
            << sigma << " " << each << " " << ranks;
      }
}

/// [rank, largest first] mean fraction of the largest share, dealt in arrival order.
std::vector<double> drawn_parts(const LengthDistribution& lengths, int each, int ranks, int draws) {
  base::Random random(7, 1);
  std::vector<double> sums(static_cast<std::size_t>(ranks));
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> tokens;
    for (const std::vector<std::int64_t>& share :
         as_they_come(lengths.sample(static_cast<std::size_t>(each * ranks), random), ranks))
      tokens.push_back(std::accumulate(share.begin(), share.end(), 0.0));
    std::sort(tokens.begin(), tokens.end(), std::greater<>());
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) sums[rank] += tokens[rank];
  }
  for (std::size_t rank = sums.size(); rank > 0; --rank) sums[rank - 1] /= sums[0];
  return sums;
}

TEST(Shares, SharesOfRanksMatchManyDraws) {
  for (const double sigma : {0.4, 0.8})
    for (const int each : {1, 4, 16, 64})
      for (const int ranks : {2, 8, 32}) {
        const auto lengths = workflow::log_normal_lengths({.mean = 500, .sigma = sigma, .cap = 4000});
        const std::vector<double> expected = drawn_parts(lengths, each, ranks, 400);
        const std::vector<double> parts = shares_of_ranks(batch_for(lengths, each, ranks, false), 1, ranks);
        ASSERT_EQ(parts.size(), expected.size());
        EXPECT_EQ(parts.front(), 1);
        for (std::size_t rank = 1; rank < parts.size(); ++rank) {
          EXPECT_NEAR(parts[rank], expected[rank], 0.04) << sigma << " " << each << " " << ranks << " " << rank;
          EXPECT_LE(parts[rank], parts[rank - 1]);
        }
      }
}

TEST(Shares, BalancedRanksDifferOnlyIfASequenceIsTooLong) {
  const auto equal = LengthDistribution::fixed(100);
  EXPECT_EQ(shares_of_ranks(batch_for(equal, 4, 3, false), 1, 3), std::vector<double>({1, 1, 1}));
  const auto spread = LengthDistribution::of({{10, 9}, {100, 1}}).value();
  EXPECT_EQ(shares_of_ranks(batch_for(spread, 64, 4, true), 1, 4), std::vector<double>({1, 1, 1, 1}));
  const Batch few = batch_for(spread, 2, 4, true);
  const std::vector<double> parts = shares_of_ranks(few, 1, 4);
  EXPECT_LT(parts[1], 0.5) << "a sequence of 100 tokens is not split";
  const double most = slowest_share(few, 1, 4).tokens.count;
  EXPECT_NEAR(most * std::accumulate(parts.begin(), parts.end(), 0.0), few.tokens.count, 1e-9)
      << "the ranks have all tokens";
}

RC_GTEST_PROP(Shares, NoShareIsBelowTheMeanOrBeyondTheLongest, ()) {
  std::vector<workflow::LengthPoint> points;
  const int count = *rc::gen::inRange(1, 20);
  for (int point = 0; point < count; ++point) points.push_back({*rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 9)});
  const auto lengths = LengthDistribution::of(points).value();
  const int each = *rc::gen::inRange(1, 40);
  const int ranks = *rc::gen::inRange(1, 64);
  const double mean = each * lengths.mean();
  const Share even = slowest_share(batch_for(lengths, each, ranks, true), 1, ranks);
  const Share uneven = slowest_share(batch_for(lengths, each, ranks, false), 1, ranks);
  for (const Share& share : {even, uneven}) {
    RC_ASSERT(share.tokens.count >= mean * (1 - 1e-12));
    RC_ASSERT(share.tokens.count <= each * static_cast<double>(lengths.longest()) * (1 + 1e-12));
  }
}

RC_GTEST_PROP(Shares, SharesOfRanksAreDescendingFractions, ()) {
  std::vector<workflow::LengthPoint> points;
  const int count = *rc::gen::inRange(1, 20);
  for (int point = 0; point < count; ++point) points.push_back({*rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 9)});
  const auto lengths = LengthDistribution::of(points).value();
  const int ranks = *rc::gen::inRange(1, 64);
  const int steps = *rc::gen::inRange(1, 4);
  Batch batch = batch_of(*rc::gen::inRange(1, 200), lengths);  // often fewer than the ranks
  batch.balanced = *rc::gen::arbitrary<bool>();
  const std::vector<double> parts = shares_of_ranks(batch, steps, ranks);
  RC_ASSERT(parts.size() == static_cast<std::size_t>(ranks) && parts.front() == 1);
  for (std::size_t rank = 1; rank < parts.size(); ++rank) RC_ASSERT(parts[rank] >= 0 && parts[rank] <= parts[rank - 1]);
}

}  // namespace

}  // namespace dovetail::cost
