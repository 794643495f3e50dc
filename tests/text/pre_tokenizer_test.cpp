#include "text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> pieces(const std::string& definition, const std::string& text) {
  const base::Document document = base::parse_json(definition, "p").value();
  return PreTokenizer::parse(document.root()).value().pieces(text).value();
}

std::string split(const std::string& behavior, const std::string& more = "") {
  return R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"" + more + "}";
}

/// The examples of the documentation of `tokenizers`.
TEST(Split, FollowsItsBehavior) {
  const std::string text = "the-final--countdown";
  EXPECT_THAT(pieces(split("Removed"), text), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(pieces(split("Isolated"), text), ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(pieces(split("MergedWithPrevious"), text), ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(pieces(split("MergedWithNext"), text), ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(pieces(split("Contiguous"), text), ElementsAre("the", "-", "final", "--", "countdown"));
}

TEST(Split, InvertedKeepsTheMatches) {
  EXPECT_THAT(pieces(split("Removed", R"(, "invert": true)"), "a-b--"), ElementsAre("-", "-", "-"));
}

TEST(Digits, AreSplitOff) {
  EXPECT_THAT(pieces(R"({"type": "Digits", "individual_digits": true})", "a12½b"),
              ElementsAre("a", "1", "2", "½", "b"));
  EXPECT_THAT(pieces(R"({"type": "Digits", "individual_digits": false})", "a12b٣"), ElementsAre("a", "12", "b", "٣"));
}

TEST(ByteLevel, MapsBytesToCharacters) {
  EXPECT_THAT(pieces(R"({"type": "ByteLevel", "add_prefix_space": true})", "hi you'll\n"),
              ElementsAre("Ġhi", "Ġyou", "'ll", "Ċ"));
  EXPECT_THAT(pieces(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})", "é b"),
              ElementsAre("Ã©Ġb"));
}

TEST(PreTokenizer, MayBeNull) {
  EXPECT_THAT(pieces("null", "a b"), ElementsAre("a b"));
  EXPECT_THAT(pieces("null", ""), IsEmpty());
}

}  // namespace
}  // namespace dovetail::text
