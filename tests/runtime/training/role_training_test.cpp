#include "runtime/training/role_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace dovetail::runtime {
namespace {

std::vector<control::TokenSequence> sequences_of(const std::vector<std::size_t>& lengths) {
  std::vector<control::TokenSequence> sequences;
  for (const std::size_t length : lengths) sequences.push_back({std::vector<control::TokenId>(length), 1});
  return sequences;
}

RC_GTEST_PROP(MicroBatches, HoldEachSequenceOnceAndKeepPairsTogether, ()) {
  const auto together = *rc::gen::inRange<std::size_t>(1, 4);
  const auto units = *rc::gen::inRange<std::size_t>(1, 20);
  const auto lengths = *rc::gen::container<std::vector<std::size_t>>(units * together, rc::gen::inRange(2, 50));
  control::PassSettings settings;
  settings.kept_together = together;
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 1) settings.micro_batching.count = *rc::gen::inRange(1, 30);
  if (kind == 2) settings.micro_batching.tokens = *rc::gen::inRange(1, 200);
  if (kind == 3) settings.micro_batching.sequences = *rc::gen::inRange(1, 30);
  std::vector<std::size_t> seen;
  for (const std::vector<std::size_t>& batch : micro_batches_of(sequences_of(lengths), settings)) {
    RC_ASSERT(!batch.empty());
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (i % together != 0) RC_ASSERT(batch[i] == batch[i - 1] + 1);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  std::sort(seen.begin(), seen.end());
  RC_ASSERT(seen.size() == lengths.size());
  for (std::size_t i = 0; i < seen.size(); ++i) RC_ASSERT(seen[i] == i);
}

TEST(MicroBatches, RespectTheirLimits) {
  control::PassSettings settings;
  settings.micro_batching.count = 2;
  EXPECT_EQ(micro_batches_of(sequences_of({5, 5, 5, 5}), settings).size(), 2U);
  settings.micro_batching = {.sequences = 0, .tokens = 10, .count = 0};
  EXPECT_THAT(micro_batches_of(sequences_of({5, 6, 5, 3}), settings),
              testing::ElementsAre(testing::ElementsAre(1, 3), testing::ElementsAre(0, 2)));
}

}  // namespace

}  // namespace dovetail::runtime
