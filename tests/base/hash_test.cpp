#include "base/hash.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/utf8.h"

namespace dovetail::base {
namespace {

TEST(CanonicalJson, MatchesTheExampleInRfc8785) {
  EXPECT_EQ(canonical_json(R"({
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
})"),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, MatchesTheNumbersOfAppendixB) {
  for (const std::string number : {"0",
                                   "5e-324",
                                   "-5e-324",
                                   "1.7976931348623157e+308",
                                   "-1.7976931348623157e+308",
                                   "9007199254740992",
                                   "-9007199254740992",
                                   "295147905179352830000",
                                   "9.999999999999997e+22",
                                   "1e+23",
                                   "1.0000000000000001e+23",
                                   "999999999999999700000",
                                   "999999999999999900000",
                                   "1e+21",
                                   "9.999999999999997e-7",
                                   "0.000001",
                                   "333333333.3333332",
                                   "333333333.33333325",
                                   "333333333.3333333",
                                   "333333333.3333334",
                                   "333333333.33333343",
                                   "-0.0000033333333333333333",
                                   "1424953923781206.2"})
    EXPECT_EQ(canonical_json(number), number);
  EXPECT_EQ(canonical_json("-0"), "0");
  EXPECT_EQ(canonical_json("0.60"), "0.6");
  EXPECT_EQ(canonical_json("16e0"), "16");
  EXPECT_EQ(canonical_json("120.0"), "120");
  EXPECT_EQ(canonical_json("1e-07"), "1e-7");
}

RC_GTEST_PROP(CanonicalJson, NumbersRoundTrip, (double value)) {
  const double number = value * std::pow(10.0, *rc::gen::inRange(-300, 300));
  RC_PRE(number == 0 || std::isnormal(number));
  std::array<char, 64> written{};
  std::snprintf(written.data(), written.size(), "%.17g", number);
  RC_ASSERT(std::strtod(canonical_json(written.data()).c_str(), nullptr) == number);
}

RC_GTEST_PROP(CanonicalJson, IgnoresOrderAndSpace, ()) {
  const auto one = base::json_string(*rc::gen::nonEmpty<std::string>());
  const std::string a = R"({"b": [1, {"x": )" + one + R"(, "a": 2}], "a": {}})";
  const std::string b = "{\"a\":{ },\n\"b\":[1.0,{\"a\":2,\"x\":" + one + "}]}";
  RC_ASSERT(canonical_json(a) == canonical_json(b));
}

TEST(CanonicalJson, OmitsATopLevelKey) {
  const auto document = base::parse_json(R"({"hash": 1, "a": {"hash": 2}, "": 3})", "x").value();
  EXPECT_EQ(canonical_json(document.root(), "hash"), R"({"":3,"a":{"hash":2}})");
  EXPECT_EQ(canonical_json(document.root()), R"({"":3,"a":{"hash":2},"hash":1})");
}

TEST(CanonicalJson, IsTheSameForYaml) {
  const auto yaml = base::parse_yaml("b: [1, +2.50, yes, true, ~]\na: {c: \"0-7\", d: 0-7}\n", "x").value();
  EXPECT_EQ(canonical_json(yaml.root()), R"({"a":{"c":"0-7","d":"0-7"},"b":[1,2.5,"yes",true,null]})");
}

// The examples that NIST publishes with FIPS 180-4 (SHA256.pdf, SHA2_Additional.pdf), and the million characters of
// FIPS 180-2, appendix B.3.
TEST(Sha256Hex, MatchesPublishedValues) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex("\xBD"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256_hex(std::string(1000, 'A')), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Hex, HashesZeroBytesToo) {
  // Around the 55 and 64 bytes at which padding and blocks begin: 55, 56 and 64 zeros (SHA2_Additional.pdf).
  EXPECT_EQ(sha256_hex(std::string(55, '\0')), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sha256_hex(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sha256_hex(std::string(64, '\0')), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(IsSha256Hex, ChecksTheForm) {
  EXPECT_TRUE(is_sha256_hex(sha256_hex("abc")));
  EXPECT_FALSE(is_sha256_hex(""));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0')));
  EXPECT_FALSE(is_sha256_hex(std::string(65, '0')));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0') + "A"));
  EXPECT_FALSE(is_sha256_hex(std::string(63, '0') + "g"));
}

}  // namespace
}  // namespace dovetail::base
