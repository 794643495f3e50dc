#include "syntax/arguments.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::syntax {
namespace {

constexpr std::array flags{Flag{"--train.batch_size", FlagKind::integer, "128", {}, "--train_batch_size"},
                           Flag{"--train.batches", FlagKind::integer},
                           Flag{"--sleep", FlagKind::on},
                           Flag{"--offload", FlagKind::either},
                           Flag{"--range", FlagKind::pair},
                           Flag{"--rate", FlagKind::number},
                           Flag{"--model", FlagKind::path},
                           Flag{"--mode", FlagKind::text, "full", "full|delta"},
                           Flag{"--names", FlagKind::list}};

std::vector<Word> arguments_of(const std::vector<std::string>& texts) {
  std::vector<Word> words;
  for (const std::string& text : texts)
    words.push_back({.text = text_of(text),
                     .place = {.source = 0, .line = 1, .column = static_cast<int>(words.size()) + 1},
                     .condition = {}});
  return words;
}

std::string value(const std::vector<std::string>& texts, std::string_view key) {
  const auto read = parse_arguments(flags, arguments_of(texts), {"run.sh"});
  if (!read.ok()) return "error: " + read.error().message;
  const Setting* const setting = find_setting(read->tree.root, key);
  return setting == nullptr ? "none" : value_text(*setting);
}

TEST(Arguments, FollowArgparse) {
  EXPECT_EQ(value({}, "--train.batch_size"), "128");
  EXPECT_EQ(value({}, "--sleep"), "false");
  EXPECT_EQ(value({}, "--offload"), "null");
  EXPECT_EQ(value({"--train.batch_size", "64", "--train.batch_size=32"}, "--train.batch_size"), "32");
  EXPECT_EQ(value({"--train_batch_size", "1_024"}, "--train.batch_size"), "1024");
  EXPECT_EQ(value({"--train.batch_", "-1"}, "--train.batch_size"), "-1");
  EXPECT_EQ(value({"--no-offload"}, "--offload"), "false");
  EXPECT_EQ(value({"--range", "-1", "2.5", "--sleep"}, "--range"), "[-1, 2.5]");
  EXPECT_EQ(value({"--names", "a", "b", "--rate", "1e-6"}, "--names"), "[a, b]");
  EXPECT_EQ(value({"--sl"}, "--sleep"), "true");
}

TEST(Arguments, RejectWhatArgparseRejects) {
  for (const std::vector<std::string>& texts : std::vector<std::vector<std::string>>{{"--train.batch_size"},
                                                                                     {"--train.batch_size", "--sleep"},
                                                                                     {"--train.batch_size", "1.5"},
                                                                                     {"--train.batch", "1"},
                                                                                     {"--sleep=1"},
                                                                                     {"--range", "1"},
                                                                                     {"--rate", "fast"},
                                                                                     {"--mode", "half"}})
    EXPECT_TRUE(value(texts, "--sleep").starts_with("error: ")) << texts.front();
  EXPECT_EQ(value({"--train.batch_size"}, "--sleep"), "error: --train.batch_size has no value; accepted: an integer");
  EXPECT_EQ(value({"--mode"}, "--sleep"), "error: --mode has no value; accepted: full, delta");
  EXPECT_EQ(value({"--mode", "half"}, "--sleep"), "error: --mode is `half`; accepted: full, delta");
}

TEST(Arguments, KeepUnknownFlagsAndTheKnownEndOfAPath) {
  std::vector<Word> words = arguments_of({"--bananas", "7", "--model"});
  Word path{.text = text_of(Unknown{.place = {}, .what = "HOME", .variable = "HOME"}), .place = {}, .condition = {}};
  append(path.text, "/models/Qwen3-8B");
  words.push_back(path);
  const auto read = parse_arguments(flags, words, {"run.sh"});
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->unknown.size(), 1U);
  EXPECT_EQ(read->unknown.front().text, "--bananas");
  EXPECT_EQ(value_text(*find_setting(read->tree.root, "--model")), "models/Qwen3-8B");
}

}  // namespace
}  // namespace dovetail::syntax
