#include "control/ranks/rank_messages.h"

#include <gtest/gtest.h>

namespace dovetail::control {
namespace {

TEST(RankMessages, AreReadAsTheyWereSaid) {
  const base::Error error{base::Failure::lost, "store", 3, 4, "rank 2 is gone"};
  const base::Error heard = decode_error(encode(error));
  EXPECT_EQ(heard.failure, error.failure);
  EXPECT_EQ(base::to_text(heard), base::to_text(error));
  EXPECT_EQ(*decode_numbers(encode(base::Result<std::vector<double>>({1.5, -2}))), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(decode_numbers(encode(base::Result<std::vector<double>>(error))).error().message, error.message);
  const RankUsage usage = decode_usage(encode(RankUsage{2.5, 1 << 30}));
  EXPECT_EQ(usage.processor_seconds, 2.5);
  EXPECT_EQ(usage.live, 1 << 30);
  const execute::OpMedians medians{{{base::ModelId(1), base::StageId(3), pipeline::OpKind::B}, base::Ticks(77)},
                                   {{base::ModelId(0), base::StageId(0), pipeline::OpKind::S}, base::Ticks(5)}};
  EXPECT_EQ(decode_medians(encode(medians)), medians);
}

TEST(RankMessages, KeepThePlaces) {
  GeneratedResponse response;
  response.tokens = {4, 5};
  response.log_probabilities = {-0.5, -0.25};
  response.ended = true;
  response.text_bytes = 3;
  const auto responses = decode_responses(encode(Places<GeneratedResponse>{{7, response}}));
  ASSERT_EQ(responses.size(), 1U);
  EXPECT_EQ(responses[0].first, 7U);
  EXPECT_EQ(responses[0].second.tokens, response.tokens);
  EXPECT_EQ(responses[0].second.log_probabilities, response.log_probabilities);
  EXPECT_TRUE(responses[0].second.ended);
  EXPECT_EQ(responses[0].second.text_bytes, response.text_bytes);
  Scores scores;
  scores.values = {1, 2};
  scores.entropies = {0.5, 0.25};
  const auto placed = decode_scores(encode(Places<Scores>{{2, scores}, {0, {}}}));
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(placed[0].first, 2U);
  EXPECT_EQ(placed[0].second.values, scores.values);
  EXPECT_EQ(placed[0].second.entropies, scores.entropies);
}

}  // namespace
}  // namespace dovetail::control
