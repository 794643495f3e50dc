#include "learn/token_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace dovetail::learn {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(TokenWeights, AreOfTokensSequencesOrTheGreatestLength) {
  const std::vector<std::int64_t> lengths{1, 3, 0, 4};
  EXPECT_THAT(token_weights(Weighing::tokens, lengths, 10),
              ElementsAre(DoubleEq(1 / 8.0), DoubleEq(1 / 8.0), 0, DoubleEq(1 / 8.0)));
  EXPECT_THAT(token_weights(Weighing::sequences, lengths, 10),
              ElementsAre(DoubleEq(1 / 3.0), DoubleEq(1 / 9.0), 0, DoubleEq(1 / 12.0)));
  EXPECT_THAT(token_weights(Weighing::constant, lengths, 10),
              ElementsAre(DoubleEq(1 / 30.0), DoubleEq(1 / 30.0), 0, DoubleEq(1 / 30.0)));
}

RC_GTEST_PROP(TokenWeights, AddUpToOne, ()) {
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 50)));
  for (const Weighing weighing : {Weighing::tokens, Weighing::sequences}) {
    const std::vector<double> weights = token_weights(weighing, lengths, 50);
    double sum = 0;
    for (std::size_t index = 0; index < lengths.size(); ++index)
      sum += weights[index] * static_cast<double>(lengths[index]);
    RC_ASSERT(std::abs(sum - 1) < 1e-12);
  }
}

}  // namespace
}  // namespace dovetail::learn
