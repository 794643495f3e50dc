#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace dovetail::text {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string data_file(const std::string& name) {
  return std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/tokenizers/" + name;
}

class Tokenizers : public testing::TestWithParam<const char*> {
 protected:
  Tokenizer tokenizer() const { return Tokenizer::read(data_file(GetParam() + std::string(".json"))).value(); }
};

TEST_P(Tokenizers, MatchTheLibrary) {
  const Tokenizer own = tokenizer();
  const json all = json::parse(base::read_file(data_file("expected.json")).value());
  ASSERT_GT(all[GetParam()].size(), 20U);
  for (const json& row : all[GetParam()]) {
    const std::string text = row["text"];
    SCOPED_TRACE(text);
    const std::vector<TokenId> tokens = own.encode(text).value();
    EXPECT_EQ(tokens, row["tokens"].get<std::vector<TokenId>>());
    EXPECT_EQ(own.encode(text, Frame::added).value(), row["framed"].get<std::vector<TokenId>>());
    EXPECT_EQ(own.decode(tokens), row["decoded"].get<std::string>());
    for (std::size_t first : {0U, 1U}) {
      std::vector<TokenId> half;
      for (std::size_t index = first; index < tokens.size(); index += 2) half.push_back(tokens[index]);
      EXPECT_EQ(own.decode(half, SpecialTokens::left_out), row["halves"][first].get<std::string>());
    }
  }
}

RC_GTEST_PROP(Tokenizer, TextsRoundTrip, ()) {
  static const Tokenizer tokenizer = Tokenizer::read(data_file("gpt2.json")).value();
  static const std::vector<std::string> parts{"a",  "B",  " ",  "  ",     "\n", "9",  "don't", "<|end|>", "é",
                                              "日", "😀", "\t", "\u00a0", "x.", "ات", "́",      "word"};
  std::string text;
  for (const std::size_t part :
       *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, parts.size())))
    text += parts[part];
  const std::vector<TokenId> tokens = tokenizer.encode(text).value();
  RC_ASSERT(tokenizer.decode(tokens) == text);
  for (const TokenId token : tokens) RC_ASSERT(tokenizer.has(token));
}

INSTANTIATE_TEST_SUITE_P(OfModels, Tokenizers, testing::Values("gpt2", "llama3", "qwen2", "smollm2"));

TEST(Tokenizer, FindsItsTokens) {
  const Tokenizer tokenizer = Tokenizer::read(data_file("gpt2.json")).value();
  EXPECT_EQ(tokenizer.size(), 424U);
  const TokenId end = tokenizer.find("<|end|>").value();
  EXPECT_TRUE(tokenizer.is_special(end));
  EXPECT_FALSE(tokenizer.is_special(tokenizer.find("<mask>").value()));
  EXPECT_EQ(tokenizer.content_of(end), "<|end|>");
  EXPECT_EQ(tokenizer.find("<|start|>"), std::nullopt);
  EXPECT_FALSE(tokenizer.has(424));
  EXPECT_FALSE(tokenizer.has(-1));
  const std::vector<TokenId> tokens{end, tokenizer.find("!").value()};
  EXPECT_EQ(tokenizer.decode(tokens, SpecialTokens::left_out), "!");
  // A model may have more tokens than its tokenizer.
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{end, 424, tokenizer.find("!").value(), -1}), "<|end|>!");
}

/// Returns a tokenizer with a few tokens and a replaced component.
std::string tokenizer_with(const std::string& key, const std::string& value) {
  json whole = json::parse(R"({"version": "1.0", "added_tokens": [{"id": 9, "content": "<s>"}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": null, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abb": 3}, "merges": ["a b", ["ab", "b"]]}})");
  whole[json::json_pointer(key)] = json::parse(value);
  return whole.dump();
}

std::string error_with(const std::string& key, const std::string& value) {
  const auto parsed = Tokenizer::parse(tokenizer_with(key, value), "tokenizer.json");
  return parsed.ok() ? "no error" : to_text(parsed.error());
}

TEST(Tokenizer, MergesByRankFromTheLeft) {
  const Tokenizer tokenizer = Tokenizer::parse(tokenizer_with("/version", "\"1.0\""), "t").value();
  EXPECT_EQ(tokenizer.encode("abbab").value(), (std::vector<TokenId>{3, 2}));
  EXPECT_EQ(tokenizer.encode("aab").value(), (std::vector<TokenId>{0, 2}));
  EXPECT_EQ(tokenizer.encode("a?b").value(), (std::vector<TokenId>{0, 1})) << "without an unknown token it is left out";
}

TEST(Tokenizer, UsesTheUnknownTokenOfTheFile) {
  const Tokenizer tokenizer = Tokenizer::parse(tokenizer_with("/model/unk_token", "\"b\""), "t").value();
  EXPECT_EQ(tokenizer.encode("a?!").value(), (std::vector<TokenId>{0, 1, 1}));
  json fused = json::parse(tokenizer_with("/model/unk_token", "\"b\""));
  fused["model"]["fuse_unk"] = true;
  EXPECT_EQ(Tokenizer::parse(fused.dump(), "t")->encode("a??a").value(), (std::vector<TokenId>{0, 1, 0}));
}

TEST(Tokenizer, RejectsUnsupportedComponents) {
  EXPECT_EQ(error_with("/version", "\"1.0\""), "no error");
  EXPECT_THAT(error_with("/model/type", "\"Unigram\""),
              HasSubstr("the model is the string `Unigram`; accepted: `BPE`"));
  EXPECT_THAT(error_with("/model/byte_fallback", "true"), HasSubstr("`byte_fallback` is true; accepted: null"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "\"</w>\""), HasSubstr("`end_of_word_suffix` is"));
  EXPECT_THAT(error_with("/normalizer", R"({"type": "NFKC"})"),
              HasSubstr("the normalizer is the string `NFKC`; accepted: `NFC`, `Sequence`, null"));
  EXPECT_THAT(error_with("/pre_tokenizer", R"({"type": "Metaspace"})"),
              HasSubstr("the pre-tokenizer is the string `Metaspace`; accepted: `Sequence`, `Split`, `Digits`, "
                        "`ByteLevel`, null"));
  EXPECT_THAT(error_with("/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
              HasSubstr("the expression is invalid after character 1"));
  EXPECT_THAT(error_with("/pre_tokenizer",
                         R"({"type": "Split", "pattern": {"Regex": "é[^\\s]\\S\\s+*"}, "behavior": "Isolated"})"),
              HasSubstr("the expression is invalid after character 11"));
  EXPECT_THAT(error_with("/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Kept"})"),
              HasSubstr("`Kept`"));
  EXPECT_THAT(error_with("/post_processor", R"({"type": "RobertaProcessing"})"),
              HasSubstr("the post-processor is the string `RobertaProcessing`; accepted: `ByteLevel`, "
                        "`TemplateProcessing`, `Sequence`, null"));
  const std::pair<const char*, const char*> lists[] = {
      {"/normalizer", "normalizers"}, {"/pre_tokenizer", "pretokenizers"}, {"/post_processor", "processors"}};
  for (const auto& [place, list] : lists) {
    const auto nested = [&list](int levels) {
      json sequence;
      for (; levels > 0; --levels)
        sequence = {{"type", "Sequence"}, {list, sequence.is_null() ? json::array() : json::array({sequence})}};
      return sequence.dump();
    };
    EXPECT_EQ(error_with(place, nested(8)), "no error");
    EXPECT_THAT(error_with(place, nested(9)), HasSubstr("Sequences are nested too deeply; accepted: at most 8 levels"));
  }
  EXPECT_THAT(error_with("/decoder", R"({"type": "WordPiece"})"), HasSubstr("the decoder is the string `WordPiece`"));
  EXPECT_THAT(error_with("/colour", "1"), HasSubstr("`colour`"));
}

TEST(Tokenizer, RejectsInvalidFiles) {
  EXPECT_THAT(error_with("/model/merges", R"(["a c"])"), HasSubstr("`c` in this merge is not a token"));
  EXPECT_THAT(error_with("/model/merges", R"(["b a"])"), HasSubstr("the result of this merge, `ba`, is not a token"));
  EXPECT_THAT(error_with("/model/merges", R"(["a b b"])"), HasSubstr("accepted: \"left right\" or"));
  EXPECT_THAT(error_with("/model/vocab/a", "-1"), HasSubstr("a token id must be an integer from 0"));
  EXPECT_THAT(error_with("/model/unk_token", "\"c\""), HasSubstr("`unk_token` is the string `c`"));
  EXPECT_THAT(error_with("/added_tokens", R"([{"id": 9, "content": "x"}, {"id": 9, "content": "y"}])"),
              HasSubstr("has the id or the content of an earlier one"));
  EXPECT_THAT(error_with("/added_tokens", R"([{"id": 9, "content": ""}])"), HasSubstr("accepted: a non-empty string"));
  const std::string frame = R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence":
    {"id": "A"}}], "special_tokens": {"<s>": {"ids": [77]}}})";
  EXPECT_THAT(error_with("/post_processor", frame),
              HasSubstr("the post-processor adds token 77, which does not exist"));
  EXPECT_EQ(Tokenizer::read("/no/such/tokenizer.json").error().failure, base::Failure::io);
}

TEST(Tokenizer, ReportsSlowExpressions) {
  const Tokenizer tokenizer =
      Tokenizer::parse(tokenizer_with("/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "(x+x+)+y"},
        "behavior": "Isolated"})"),
                       "t")
          .value();
  const auto tokens = tokenizer.encode(std::string(60, 'x') + "zy");
  ASSERT_FALSE(tokens.ok());
  EXPECT_THAT(tokens.error().message,
              HasSubstr("the expression cannot be matched against this text: match limit exceeded"));
}

TEST(Tokenizer, EncodesLongPiecesInLessThanQuadraticTime) {
  const Tokenizer tokenizer = Tokenizer::parse(tokenizer_with("/version", "\"1.0\""), "t").value();
  std::string text;
  for (int index = 0; index < 100'000; ++index) text += "abb";
  EXPECT_EQ(tokenizer.encode(text).value().size(), 100'000U);
}

}  // namespace
}  // namespace dovetail::text
