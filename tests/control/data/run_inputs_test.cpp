#include "control/data/run_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/temporary_folder.h"

namespace dovetail::control {
namespace {

RC_GTEST_PROP(Order, EachEpochHasEachItemOnceAndEpochsFollowWithoutGaps, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const bool shuffle = *rc::gen::arbitrary<bool>();
  std::vector<DataPlace> all;
  while (all.size() < 3 * count) {
    const auto iteration = static_cast<std::int64_t>(all.size()) / batch;
    const std::vector<DataPlace> more = places_of(seed, shuffle, count, iteration, batch);
    RC_ASSERT(static_cast<std::int64_t>(more.size()) == batch);
    all.insert(all.end(), more.begin(), more.end());
  }
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::size_t> indices;
    for (std::size_t i = epoch * count; i < (epoch + 1) * count; ++i) {
      RC_ASSERT(all[i].epoch == epoch);
      indices.push_back(all[i].index);
    }
    RC_ASSERT(shuffle || std::is_sorted(indices.begin(), indices.end()));
    std::sort(indices.begin(), indices.end());
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(indices[i] == i);
  }
  const auto iterations = iterations_of(3, count, batch);
  RC_ASSERT(iterations * batch >= static_cast<std::int64_t>(3 * count));
  RC_ASSERT((iterations - 1) * batch < static_cast<std::int64_t>(3 * count));
}

TEST(Order, EachEpochIsShuffledDifferently) {
  const std::vector<DataPlace> both = places_of(1, true, 50, 0, 100);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < 50; ++i) equal += both[i].index == both[i + 50].index ? 1U : 0U;
  EXPECT_LT(equal, 10U);
}

TEST(Permutation, DependsOnSeedPurposeAndIndex) {
  const auto order = permutation(1, 1, 1, 50);
  EXPECT_EQ(order, permutation(1, 1, 1, 50));
  EXPECT_NE(order, permutation(2, 1, 1, 50));
  EXPECT_NE(order, permutation(1, 2, 1, 50));
  EXPECT_NE(order, permutation(1, 1, 2, 50));
}

TEST(Permutation, IsUniform) {
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++counts[permutation(seed, 1, 0, 3)];
  ASSERT_EQ(counts.size(), 6U);
  // 1000 expected each, standard deviation 29.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr TokenId end_of_text = 421;
constexpr TokenId end_of_turn = 424;

/// Tokenizer of 420 byte pairs with "<|end|>" (421) and, if requested, "<|im_end|>" (424).
std::string tokenizer_json(bool has_turns) {
  const std::string path = std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/tokenizers/smollm2.json";
  json tokenizer = json::parse(base::read_file(path).value());
  json added = tokenizer["added_tokens"][1];
  added["id"] = end_of_turn;
  added["content"] = "<|im_end|>";
  if (has_turns) tokenizer["added_tokens"].push_back(added);
  return tokenizer.dump();
}

/// Folder with a tokenizer and data.
class Inputs {
 public:
  explicit Inputs(bool has_turns = false) {
    folder_.write("tokenizer.json", tokenizer_json(has_turns));
    settings.tokenizer = folder_.path();
  }

  base::Result<RunInputs> read(const std::string& algorithm, const std::string& lines,
                               const std::string& validation = {}) {
    settings.data.train = folder_.write("train.jsonl", lines);
    settings.data.validation = validation.empty() ? "" : folder_.write("held-out.jsonl", validation);
    return read_inputs(settings, algorithm, limits, max_response);
  }
  std::string error(const std::string& algorithm, const std::string& lines) {
    const auto inputs = read(algorithm, lines);
    return inputs.ok() ? "no error" : to_text(inputs.error());
  }

  RunSettings settings;
  ModelLimits limits{.vocabulary = 430, .context = 12, .end_tokens = {end_of_text}};
  std::int64_t max_response = 4;

 private:
  test::TemporaryFolder folder_;
};

TEST(ReadInputs, PromptsHaveTokensTextAndAnswer) {
  Inputs inputs;
  const RunInputs read = inputs
                             .read("ppo", "{\"prompt\": \"abc\", \"answer\": {\"b\": 1}}\n\n{\"prompt\": \"x\"}\n",
                                   "{\"prompt\": \"y\"}\n")
                             .value();
  EXPECT_THAT(read.ends, ElementsAre(end_of_text));
  ASSERT_EQ(read.train.size(), 2U);
  EXPECT_EQ(read.train.prompts[0].text, "abc");
  EXPECT_EQ(read.train.prompts[0].answer, "{\"b\":1}");
  EXPECT_EQ(read.tokenizer.decode(read.train.prompts[0].tokens), "abc");
  EXPECT_EQ(read.train.prompts[1].answer, "");
  EXPECT_EQ(read.validation.size(), 1U);
}

TEST(ReadInputs, TextsToImitateEndOnceAndOnlyTheirResponsesAreLearned) {
  Inputs inputs;
  const RunInputs read = inputs
                             .read("sft",
                                   "{\"prompt\": \"ab\", \"response\": \"cd\"}\n{\"text\": \"ab\"}\n"
                                   "{\"text\": \"ab<|end|>\"}\n")
                             .value();
  ASSERT_EQ(read.train.examples.size(), 3U);
  const ExampleTokens& pair = read.train.examples[0];
  EXPECT_EQ(read.tokenizer.decode(pair.sequence.tokens), "abcd<|end|>");
  EXPECT_EQ(read.tokenizer.decode(std::span(pair.sequence.tokens).first(pair.sequence.first_scored)), "ab");
  EXPECT_EQ(pair.learned, std::vector<bool>(pair.sequence.scored(), true));
  const ExampleTokens& text = read.train.examples[1];
  EXPECT_EQ(text.sequence.first_scored, 1U) << "the first token has no predecessor";
  EXPECT_EQ(text.sequence.tokens.back(), end_of_text);
  EXPECT_EQ(text.sequence.tokens, read.train.examples[2].sequence.tokens);
}

TEST(ReadInputs, ConversationsEndAsInTheirTemplate) {
  Inputs inputs(true);
  inputs.settings.data.chat_template = text::ChatTemplate::chatml;
  inputs.limits.context = 500;
  const RunInputs read =
      inputs
          .read("sft",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": "
                "\"b\"}, "
                "{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"d\"}]}\n")
          .value();
  EXPECT_THAT(read.ends, ElementsAre(end_of_turn, end_of_text));
  const ExampleTokens& example = read.train.examples.at(0);
  EXPECT_THAT(read.tokenizer.decode(example.sequence.tokens), EndsWith("d<|im_end|>\n"));
  std::vector<TokenId> learned;
  for (std::size_t t = 0; t < example.learned.size(); ++t)
    if (example.learned[t]) learned.push_back(example.sequence.tokens[example.sequence.first_scored + t]);
  EXPECT_EQ(read.tokenizer.decode(learned), "b<|im_end|>\nd<|im_end|>\n");
}

TEST(ReadInputs, BothResponsesOfAPairEnd) {
  Inputs inputs;
  const std::string line = "{\"prompt\": \"ab\", \"chosen\": \"c\", \"rejected\": \"de\"}\n";
  const PairTokens pair = inputs.read("reward_model", line)->train.pairs.at(0);
  EXPECT_EQ(pair.chosen.tokens.back(), end_of_text);
  EXPECT_EQ(pair.rejected.tokens.back(), end_of_text);
  EXPECT_EQ(pair.chosen.first_scored, pair.rejected.first_scored);
  Inputs with_turns(true);
  with_turns.settings.data.chat_template = text::ChatTemplate::chatml;
  with_turns.limits.context = 500;
  const PairTokens turned = with_turns.read("reward_model", line)->train.pairs.at(0);
  EXPECT_EQ(turned.chosen.tokens.back(), end_of_turn) << "as what is sampled ends";
  EXPECT_EQ(turned.rejected.tokens.back(), end_of_turn);
}

TEST(ReadInputs, ErrorsNameTheLine) {
  Inputs inputs;
  EXPECT_THAT(inputs.error("ppo", "{\"prompt\": \"a\"}\n{\"prompt\": \"\"}\n"),
              HasSubstr("train.jsonl:2:12: `prompt` is empty"));
  EXPECT_THAT(inputs.error("grpo", "{\"prompt\": \"a\"}\n{\"prompt\": \"q1q2q3q4q5q6\"}\n"),
              AllOf(HasSubstr("train.jsonl:2:1: the prompt has 12 tokens"), HasSubstr("at most 12 together")));
  EXPECT_THAT(inputs.error("sft", "{\"text\": \"q1q2q3q4q5q6q7\"}\n"), HasSubstr("train.jsonl:1:1: the text has 15"));
  EXPECT_THAT(
      inputs.error("reward_model", "{\"prompt\": \"a\", \"chosen\": \"q1q2q3q4q5q6q7\", \"rejected\": \"b\"}\n"),
      HasSubstr("train.jsonl:1:1: `chosen` with its prompt has 16 tokens"));
  EXPECT_THAT(inputs.error("sft", "{\"prompt\": \"a\"}\n"), HasSubstr("train.jsonl:1:1:"));
  inputs.limits.end_tokens.clear();
  EXPECT_THAT(inputs.error("sft", "{\"text\": \"a\"}\n"), HasSubstr("train.jsonl:1:1: the text has no token to learn"));
}

TEST(ReadInputs, RejectsAMismatchedTokenizer) {
  Inputs inputs;
  inputs.limits.vocabulary = 424;
  EXPECT_EQ(inputs.error("ppo", "{\"prompt\": \"a\"}\n"), "no error");
  inputs.limits.vocabulary = 423;
  EXPECT_THAT(
      inputs.error("ppo", "{\"prompt\": \"a\"}\n"),
      HasSubstr("tokenizer.json: the tokenizer has token ids up to 423, but a model's vocabulary has only 423 tokens"));
  inputs.limits = {.vocabulary = 430, .context = 12, .end_tokens = {430}};
  EXPECT_EQ(inputs.error("ppo", "{\"prompt\": \"a\"}\n"),
            "a model's `eos_token_id` is 430; it must be less than 430, the smallest vocabulary size of the models");
  inputs.limits.end_tokens = {};
  inputs.settings.data.chat_template = text::ChatTemplate::chatml;
  EXPECT_THAT(inputs.error("ppo", "{\"prompt\": \"a\"}\n"), HasSubstr("no token \"<|im_end|>\""));
}

}  // namespace

}  // namespace dovetail::control
