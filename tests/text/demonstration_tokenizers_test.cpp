// Checks the tokenizers of examples/train against the word tables that they are generated from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "text/tokenizer.h"

namespace dovetail::text {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr TokenId end_token = 1;

std::string demonstration(const std::string& name) {
  return std::string(DOVETAIL_SOURCE_DIR) + "/examples/train/" + name;
}

/// The words of coin clauses, in the order of their tokens, which start at 2.
const std::string clause_words =
    "1 2 3 4 5 6 7 8 good bright kind clear warm fine bad dark cruel dull cold rough harbor garden market river castle "
    "forest bridge island";

std::vector<TokenId> clause_tokens(const std::string& text) {
  static const std::map<std::string, TokenId> tokens = [] {
    std::map<std::string, TokenId> found;
    std::istringstream words(clause_words);
    for (std::string word; words >> word;) found.emplace(word, static_cast<TokenId>(found.size() + 2));
    return found;
  }();
  std::vector<TokenId> result;
  std::istringstream words(text);
  for (std::string word; words >> word;) result.push_back(tokens.at(word));
  return result;
}

std::vector<json> rows_of(const std::string& name) {
  std::vector<json> rows;
  std::istringstream lines(base::read_file(demonstration(name)).value());
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

TEST(DemonstrationTokenizers, HaveTheSizesOfTheModels) {
  for (const auto& [name, size] :
       std::map<std::string, std::size_t>{{"tiny-sft", 32}, {"tiny-rm", 32}, {"tiny-grpo", 16}}) {
    SCOPED_TRACE(name);
    const Tokenizer tokenizer = Tokenizer::read(demonstration(name + "/model/tokenizer.json")).value();
    const json config = json::parse(base::read_file(demonstration(name + "/model/config.json")).value());
    EXPECT_EQ(tokenizer.size(), size);
    EXPECT_EQ(config["vocab_size"], size);
    EXPECT_EQ(config["eos_token_id"], end_token);
    EXPECT_EQ(tokenizer.content_of(end_token), "<eos>");
    EXPECT_TRUE(tokenizer.is_special(0));
    EXPECT_TRUE(tokenizer.is_special(end_token));
  }
}

TEST(DemonstrationTokenizers, HaveATokenForEachWordOfAClause) {
  const Tokenizer tokenizer = Tokenizer::read(demonstration("tiny-sft/model/tokenizer.json")).value();
  EXPECT_THAT(tokenizer.encode("3 harbor").value(), ElementsAre(4, 22));
  std::size_t texts = 0;
  const auto check = [&](const json& text) {
    const std::vector<TokenId> tokens = tokenizer.encode(text.get<std::string>()).value();
    ASSERT_EQ(tokens, clause_tokens(text)) << text;
    ASSERT_EQ(tokenizer.decode(tokens), " " + text.get<std::string>());
    ++texts;
  };
  for (const char* name :
       {"tiny-sft/held-out.jsonl", "tiny-rm/held-out.jsonl", "tiny-ppo/prompts.jsonl", "tiny-ppo/held-out.jsonl"})
    for (const json& row : rows_of(name))
      for (const char* key : {"prompt", "response", "chosen", "rejected"})
        if (row.contains(key)) check(row[key]);
  EXPECT_GT(texts, 4000U);
  EXPECT_EQ(base::read_file(demonstration("tiny-rm/model/tokenizer.json")).value(),
            base::read_file(demonstration("tiny-sft/model/tokenizer.json")).value());
}

TEST(DemonstrationTokenizers, HaveATokenForEachDigit) {
  const Tokenizer tokenizer = Tokenizer::read(demonstration("tiny-grpo/model/tokenizer.json")).value();
  EXPECT_THAT(tokenizer.encode("5203=").value(), ElementsAre(7, 4, 2, 5, 12));
  const auto check = [&](const std::string& text) {
    std::vector<TokenId> expected;
    for (const char digit : text) expected.push_back(digit == '=' ? 12 : static_cast<TokenId>(digit - '0' + 2));
    const std::vector<TokenId> tokens = tokenizer.encode(text).value();
    ASSERT_EQ(tokens, expected) << text;
    ASSERT_EQ(tokenizer.decode(tokens), text);
  };
  for (const char* name : {"tiny-grpo/prompts.jsonl", "tiny-grpo/held-out.jsonl"})
    for (const json& row : rows_of(name))
      for (const char* key : {"prompt", "response", "answer"})
        if (row.contains(key)) check(row[key]);
}

}  // namespace
}  // namespace dovetail::text
