#include "base/canonical_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/utf8.h"

namespace dovetail::base {
namespace {

TEST(CanonicalJson, HasTheFormOfTheExampleInRfc8785) {
  EXPECT_EQ(canonical_json(R"({
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
})"),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, WritesNumbersAsAppendixBHasThem) {
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

RC_GTEST_PROP(CanonicalJson, NumbersAreReadBackToTheSame, (double value)) {
  const double number = value * std::pow(10.0, *rc::gen::inRange(-300, 300));
  RC_PRE(number == 0 || std::isnormal(number));
  std::array<char, 64> written{};
  std::snprintf(written.data(), written.size(), "%.17g", number);
  RC_ASSERT(std::strtod(canonical_json(written.data()).c_str(), nullptr) == number);
}

RC_GTEST_PROP(CanonicalJson, DoesNotDependOnOrderAndSpace, ()) {
  const auto one = base::json_string(*rc::gen::nonEmpty<std::string>());
  const std::string a = R"({"b": [1, {"x": )" + one + R"(, "a": 2}], "a": {}})";
  const std::string b = "{\"a\":{ },\n\"b\":[1.0,{\"a\":2,\"x\":" + one + "}]}";
  RC_ASSERT(canonical_json(a) == canonical_json(b));
}

TEST(CanonicalJson, LeavesOutAKeyOfTheValueItself) {
  const auto document = base::parse_json(R"({"hash": 1, "a": {"hash": 2}, "": 3})", "x").value();
  EXPECT_EQ(canonical_json(document.root(), "hash"), R"({"":3,"a":{"hash":2}})");
  EXPECT_EQ(canonical_json(document.root()), R"({"":3,"a":{"hash":2},"hash":1})");
}

TEST(CanonicalJson, IsTheSameOfYaml) {
  const auto yaml = base::parse_yaml("b: [1, +2.50, yes, true, ~]\na: {c: \"0-7\", d: 0-7}\n", "x").value();
  EXPECT_EQ(canonical_json(yaml.root()), R"({"a":{"c":"0-7","d":"0-7"},"b":[1,2.5,"yes",true,null]})");
}

}  // namespace
}  // namespace dovetail::base
