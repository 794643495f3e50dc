#include "base/amount.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace dovetail::base {
namespace {

std::string bytes_error(std::string_view text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  return bytes.ok() ? "no error" : bytes.error().message;
}

std::string amount_error(std::string_view text, Measure measure) {
  const Result<double> amount = parse_amount(text, measure);
  return amount.ok() ? "no error" : amount.error().message;
}

TEST(ParseBytes, AppliesPrefixes) {
  EXPECT_EQ(*parse_bytes("1024"), 1024);
  EXPECT_EQ(*parse_bytes("7B"), 7);
  EXPECT_EQ(*parse_bytes("2kB"), 2'000);
  EXPECT_EQ(*parse_bytes("2KB"), 2'000);
  EXPECT_EQ(*parse_bytes("2 TB"), 2'000'000'000'000);
  EXPECT_EQ(*parse_bytes("3PB"), 3'000'000'000'000'000);
  EXPECT_EQ(*parse_bytes("1KiB"), 1'024);
  EXPECT_EQ(*parse_bytes("1kiB"), 1'024);
  EXPECT_EQ(*parse_bytes("81559MiB"), 85'520'809'984);
  EXPECT_EQ(*parse_bytes("80GiB"), 85'899'345'920);
  EXPECT_EQ(*parse_bytes("1PiB"), 1'125'899'906'842'624);
  EXPECT_EQ(*parse_bytes("1e3GB"), 1'000'000'000'000);
  EXPECT_EQ(*parse_bytes("0"), 0);
}

TEST(ParseBytes, RoundsHalfUp) {
  EXPECT_EQ(*parse_bytes("1.5B"), 2);
  EXPECT_EQ(*parse_bytes("1.4999B"), 1);
  EXPECT_EQ(*parse_bytes("79.6GiB"), 85'469'849'190);
  EXPECT_EQ(*parse_bytes("1.5KiB"), 1'536);
  EXPECT_EQ(*parse_bytes("0.0005KiB"), 1) << "0.512 bytes";
}

TEST(ParseBytes, RejectsInvalidInput) {
  const std::string accepted = "; accepted: an amount of memory such as `80GiB`, `2TB` or a number of bytes";
  EXPECT_EQ(bytes_error(""), "is not an amount" + accepted);
  EXPECT_EQ(bytes_error("GiB"), "is not an amount" + accepted);
  EXPECT_EQ(bytes_error("8-0GiB"), "is not an amount" + accepted);
  EXPECT_EQ(bytes_error(" 80GiB"), "is not an amount" + accepted);
  EXPECT_EQ(bytes_error("80Gi"), "has the unknown unit `Gi`" + accepted);
  EXPECT_EQ(bytes_error("80gb"), "has the unknown unit `gb`" + accepted);
  EXPECT_EQ(bytes_error("80GiB "), "has the unknown unit `GiB `" + accepted);
  EXPECT_EQ(bytes_error("80mB"), "has the unknown unit `mB`" + accepted);
  EXPECT_EQ(bytes_error("80iB"), "has the unknown unit `iB`" + accepted);
  EXPECT_EQ(bytes_error("1EB"), "has the unknown unit `EB`" + accepted);
  EXPECT_EQ(bytes_error("-1GB"), "is negative" + accepted);
  EXPECT_EQ(bytes_error("-0GB"), "no error");
}

TEST(ParseBytes, EnforcesTheMaximum) {
  const std::string too_large = "is too large; accepted: at most 1000000000000000000 bytes";
  EXPECT_EQ(*parse_bytes("1000PB"), max_bytes);
  EXPECT_EQ(bytes_error("1000000000000000000.4"), "no error");
  EXPECT_EQ(bytes_error("1000000000000000000.5"), too_large);
  EXPECT_EQ(bytes_error("1001PB"), too_large);
  EXPECT_EQ(bytes_error("889PiB"), too_large);
  EXPECT_EQ(bytes_error("1e999999999999999999999PiB"), too_large);
  EXPECT_EQ(bytes_error("1e999999999999999999999PB"), too_large);
  EXPECT_EQ(*parse_bytes("0e999999999999999999999PiB"), 0);
  EXPECT_EQ(*parse_bytes("1e-999999999999999999999GiB"), 0);
}

TEST(ParseAmount, MatchesTheLiteral) {
  EXPECT_EQ(*parse_amount("3.35TB/s", Measure::bandwidth), 3.35e12);
  EXPECT_EQ(*parse_amount("3.35 TB/s", Measure::bandwidth), 3.35e12);
  EXPECT_EQ(*parse_amount("400Gb/s", Measure::bandwidth), 50e9);
  EXPECT_EQ(*parse_amount("400Gbit/s", Measure::bandwidth), 50e9);
  EXPECT_EQ(*parse_amount("1GiB/s", Measure::bandwidth), 1073741824.0);
  EXPECT_EQ(*parse_amount("50e9", Measure::bandwidth), 50e9);
  EXPECT_EQ(*parse_amount("989TFLOP/s", Measure::compute), 989e12);
  EXPECT_EQ(*parse_amount("165.2TFLOPS", Measure::compute), 165.2e12);
  EXPECT_EQ(*parse_amount("1.979e3TFLOP/s", Measure::compute), 1979e12);
  EXPECT_EQ(*parse_amount("5us", Measure::time), 5e-6);
  EXPECT_EQ(*parse_amount("0.2ms", Measure::time), 0.2e-3);
  EXPECT_EQ(*parse_amount("7ns", Measure::time), 7e-9);
  EXPECT_EQ(*parse_amount("1.5s", Measure::time), 1.5);
  EXPECT_EQ(*parse_amount("2min", Measure::time), 120);
  EXPECT_EQ(*parse_amount("0.5h", Measure::time), 1800);
  EXPECT_EQ(*parse_amount("2.5", Measure::number), 2.5);
  EXPECT_EQ(*parse_amount("+.5e+1", Measure::number), 5);
  EXPECT_EQ(*parse_amount("-0", Measure::number), 0);
}

TEST(ParseAmount, RejectsInvalidInput) {
  const std::string bandwidth =
      "; accepted: a bandwidth such as `50GB/s`, `46.5GiB/s`, `400Gb/s` (bits) or a number of bytes/s";
  EXPECT_EQ(amount_error("50GB", Measure::bandwidth), "has the unknown unit `GB`" + bandwidth);
  EXPECT_EQ(amount_error("50Gbps", Measure::bandwidth), "has the unknown unit `Gbps`" + bandwidth);
  EXPECT_EQ(amount_error("-50GB/s", Measure::bandwidth), "is negative" + bandwidth);
  EXPECT_EQ(amount_error("fast", Measure::bandwidth), "is not an amount" + bandwidth);
  EXPECT_EQ(amount_error("1e25", Measure::bandwidth), "is too large" + bandwidth + ", at most 1e+24");
  EXPECT_EQ(amount_error("1e24", Measure::bandwidth), "no error");
  EXPECT_EQ(amount_error("1e21kB/s", Measure::bandwidth), "no error");
  EXPECT_EQ(amount_error("1.0000001e21kB/s", Measure::bandwidth), "is too large" + bandwidth + ", at most 1e+24");
  EXPECT_EQ(amount_error("1e24KiB/s", Measure::bandwidth), "is too large" + bandwidth + ", at most 1e+24");
  EXPECT_EQ(amount_error("989TF", Measure::compute),
            "has the unknown unit `TF`; accepted: a speed such as `989TFLOP/s` or a number of FLOP/s");
  EXPECT_EQ(amount_error("5Gs", Measure::time),
            "has the unknown unit `Gs`; accepted: a time such as `5us`, `0.2ms` or a number of seconds");
  EXPECT_EQ(amount_error("5e", Measure::time),
            "has the unknown unit `e`; accepted: a time such as `5us`, `0.2ms` or a number of seconds");
  EXPECT_EQ(amount_error("2.5$", Measure::number), "has the unknown unit `$`; accepted: a non-negative number");
}

TEST(ParseAmount, AcceptsAnyExponent) {
  EXPECT_EQ(*parse_amount("0e9223372036854775807us", Measure::time), 0);
  EXPECT_EQ(*parse_amount("0e-9223372036854775808us", Measure::time), 0);
  EXPECT_EQ(*parse_amount("0e99999999999999999999us", Measure::time), 0);
  EXPECT_EQ(*parse_amount("1e-400us", Measure::time), 0);
  EXPECT_EQ(*parse_amount("1" + std::string(400, '0') + "e-400s", Measure::time), 1);
  EXPECT_EQ(*parse_amount("0." + std::string(400, '0') + "1e401s", Measure::time), 1);
}

RC_GTEST_PROP(ParseBytes, PrefixesArePowers, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, 800);
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  const std::string prefix(1, std::string("kMGTP")[rank]);
  std::int64_t thousands = 1000;
  for (std::size_t i = 0; i < rank; ++i) thousands *= 1000;
  RC_ASSERT(*parse_bytes(std::to_string(count) + prefix + "B") == count * thousands);
  RC_ASSERT(*parse_bytes(std::to_string(count) + " " + prefix + "iB") == count << (10 * (rank + 1)));
  RC_ASSERT(*parse_amount(std::to_string(8 * count) + prefix + "b/s", Measure::bandwidth) ==
            static_cast<double>(count * thousands));
}

std::string read_error(const std::string& value, Zero zero) {
  const Document document = parse_yaml("a: " + value, "f.yaml").value();
  const Node node = document.root().value(0);
  const Result<std::int64_t> bytes = read_bytes(node, "`a`", zero);
  return bytes.ok() ? "no error" : to_text(bytes.error());
}

TEST(ReadBytes, ReportsThePlace) {
  EXPECT_EQ(read_error("80GiB", Zero::rejected), "no error");
  EXPECT_EQ(read_error("80", Zero::rejected), "no error");
  EXPECT_EQ(read_error("0", Zero::accepted), "no error");
  EXPECT_EQ(read_error("0GiB", Zero::rejected),
            "f.yaml:1:4: `a`: the string `0GiB` is not above 0; accepted: an amount of memory such as "
            "`80GiB`, `2TB` or a number of bytes");
  EXPECT_EQ(read_error("[1]", Zero::rejected),
            "f.yaml:1:4: `a` is a list; accepted: an amount of memory such as `80GiB`, `2TB` or a number of bytes");
  EXPECT_EQ(read_error("80 Gig", Zero::rejected),
            "f.yaml:1:4: `a`: the string `80 Gig` has the unknown unit `Gig`; accepted: an amount of "
            "memory such as `80GiB`, `2TB` or a number of bytes");
}

TEST(ReadAmount, ReportsThePlace) {
  const Document document = parse_yaml("{a: 2 us, b: -1, c: true}", "f.yaml").value();
  const Node map = document.root();
  EXPECT_EQ(*read_amount(map.value(0), "`a`", Measure::time), 2e-6);
  EXPECT_EQ(to_text(read_amount(map.value(1), "`b`", Measure::number).error()),
            "f.yaml:1:14: `b`: -1 is negative; accepted: a non-negative number");
  EXPECT_EQ(to_text(read_amount(map.value(2), "`c`", Measure::number).error()),
            "f.yaml:1:21: `c` is true; accepted: a non-negative number");
}

}  // namespace
}  // namespace dovetail::base
