#include "runtime/generation/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/tiny_model.h"

namespace dovetail::runtime {
namespace {

using control::GeneratedResponse;
using control::GenerationRequest;
using control::GenerationSettings;

std::vector<GenerationRequest> random_requests(std::size_t count, std::uint64_t seed) {
  base::Random random(seed, 1);
  std::vector<GenerationRequest> requests;
  while (requests.size() < count) {
    std::vector<control::TokenId> prompt;
    for (std::uint32_t i = 0, tokens = 1 + random.below(40); i < tokens; ++i)
      prompt.push_back(static_cast<control::TokenId>(random.below(tiny_vocabulary)));
    const std::uint32_t copies = 1 + random.below(3);
    const auto group = static_cast<std::int64_t>(requests.size());
    for (std::uint32_t copy = 0; copy < copies && requests.size() < count; ++copy)
      requests.push_back({prompt, group, {seed, 0, static_cast<std::uint64_t>(group), copy, 0}});
  }
  return requests;
}

GenerationSettings settings_of(std::int64_t max_tokens) {
  GenerationSettings settings;
  settings.max_tokens = max_tokens;
  settings.ends = {3};
  return settings;
}

std::vector<GeneratedResponse> generate(const Model& model, const std::vector<GenerationRequest>& requests,
                                        const GenerationSettings& settings, std::int64_t cache_bytes = 1 << 24) {
  Generator generator(model, requests, settings, cache_bytes);
  while (!generator.is_done()) generator.advance({});
  return generator.take_responses();
}

/// Returns the response tokens after their prompts, all scored.
std::vector<control::Scores> scores_of(const Model& model, const std::vector<GenerationRequest>& requests,
                                       const std::vector<GeneratedResponse>& responses) {
  std::vector<control::TokenSequence> sequences;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    all.push_back(i);
    sequences.push_back({requests[i].prompt, requests[i].prompt.size()});
    std::vector<control::TokenId>& tokens = sequences.back().tokens;
    tokens.insert(tokens.end(), responses[i].tokens.begin(), responses[i].tokens.end());
  }
  return score(model, {sequences, all}, 1);
}

/// Bit equality: both sum in the same order. Responses are longer than a tile of keys.
TEST(Generator, LogProbabilitiesMatchTheModel) {
  for (const TinyShape& shape : {TinyShape{.bias = true}, TinyShape{.tied = true, .head_norms = true}}) {
    const Model model = tiny_model(shape, 1, at::kFloat);
    const std::vector<GenerationRequest> requests = random_requests(20, 3);
    GenerationSettings settings = settings_of(100);
    settings.ends = {};
    const std::vector<GeneratedResponse> responses = generate(model, requests, settings);
    const std::vector<control::Scores> scores = scores_of(model, requests, responses);
    for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(responses[i].log_probabilities, scores[i].values);
  }
}

/// With ATen's operators, as on a GPU, logits are in single precision. Prompts are chunked and share steps with
/// decoding.
TEST(Generator, LogProbabilitiesMatchTheModelWithAtenOperators) {
  const Model model = tiny_model({.bias = true, .head_norms = true}, 1, at::kDouble);
  const std::vector<GenerationRequest> requests = random_requests(20, 3);
  GenerationSettings settings = settings_of(60);
  settings.engine.max_num_seqs = 6;
  settings.engine.max_num_batched_tokens = 13;
  const std::vector<GeneratedResponse> responses = generate(model, requests, settings);
  const std::vector<control::Scores> scores = scores_of(model, requests, responses);
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_THAT(responses[i].log_probabilities, testing::Pointwise(testing::DoubleNear(1e-5), scores[i].values));
}

TEST(Generator, TokensFollowTheModelsDistribution) {
  const Model model = tiny_model({}, 2, at::kFloat);
  std::vector<GenerationRequest> requests;
  constexpr std::size_t draws = 4000;
  for (std::size_t i = 0; i < draws; ++i) requests.push_back({{1, 2}, 0, {9, 0, 0, i, 0}});
  const std::vector<GeneratedResponse> responses = generate(model, requests, settings_of(1));
  std::vector<double> seen(tiny_vocabulary);
  std::vector<double> reported(tiny_vocabulary);
  for (const GeneratedResponse& response : responses) {
    const auto token = static_cast<std::size_t>(response.tokens.front());
    seen[token] += 1.0 / draws;
    reported[token] = std::exp(response.log_probabilities.front());
  }
  EXPECT_THAT(seen, testing::Pointwise(testing::DoubleNear(0.03), reported));
}

RC_GTEST_PROP(Generator, TextDoesNotDependOnTheBatch, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const Model model = tiny_model({.bias = true, .head_norms = true}, seed, at::kFloat);
  const std::vector<GenerationRequest> requests = random_requests(12, seed);
  GenerationSettings settings = settings_of(25);
  const std::vector<GeneratedResponse> together = generate(model, requests, settings);
  settings.engine.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 12);
  settings.engine.max_num_batched_tokens = *rc::gen::inRange<std::int64_t>(1, 50);
  settings.engine.chunked_prefill = *rc::gen::arbitrary<bool>();
  // So small that sequences are preempted.
  const std::int64_t cache_bytes = *rc::gen::inRange<std::int64_t>(0, 40'000);
  const std::vector<GeneratedResponse> apart = generate(model, requests, settings, cache_bytes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    RC_ASSERT(apart[i].tokens == together[i].tokens);
    RC_ASSERT(apart[i].log_probabilities == together[i].log_probabilities);
    RC_ASSERT(apart[i].ended == together[i].ended);
  }
}

TEST(Generator, EndsAtTheFirstEndTokenAfterMinTokens) {
  const Model model = tiny_model({}, 4, at::kFloat);
  const std::vector<GenerationRequest> requests = random_requests(30, 5);
  GenerationSettings settings = settings_of(40);
  for (const std::int64_t min_tokens : {0, 7}) {
    settings.min_tokens = min_tokens;
    std::size_t ended = 0;
    for (const GeneratedResponse& response : generate(model, requests, settings)) {
      const std::vector<control::TokenId> before(response.tokens.begin(), response.tokens.end() - 1);
      EXPECT_THAT(before, testing::Each(testing::Ne(3)));
      EXPECT_EQ(response.ended, response.tokens.back() == 3);
      EXPECT_LE(response.tokens.size(), 40U);
      const auto tokens = static_cast<std::int64_t>(response.tokens.size());
      EXPECT_TRUE(!response.ended || tokens > min_tokens);
      ended += response.ended ? 1 : 0;
    }
    EXPECT_GT(ended, 5U);
  }
}

TEST(Generator, GreedyTakesTheMostLikelyToken) {
  const Model model = tiny_model({}, 6, at::kFloat);
  const std::vector<GenerationRequest> requests = random_requests(5, 7);
  GenerationSettings settings = settings_of(10);
  settings.limits.temperature = 0;
  for (std::size_t i = 0; const GeneratedResponse& response : generate(model, requests, settings)) {
    for (std::size_t t = 0; t < response.tokens.size(); ++t) {
      for (control::TokenId other = 0; other < tiny_vocabulary; ++other) {
        control::TokenSequence sequence{requests[i].prompt, requests[i].prompt.size() + t};
        sequence.tokens.insert(sequence.tokens.end(), response.tokens.begin(),
                               response.tokens.begin() + static_cast<std::ptrdiff_t>(t));
        sequence.tokens.push_back(other);
        const std::vector<std::size_t> only{0};
        EXPECT_LE(score(model, {std::span(&sequence, 1), only}, 1).front().values.front(),
                  response.log_probabilities[t] + 1e-6);
      }
    }
    ++i;
  }
}

}  // namespace
}  // namespace dovetail::runtime
