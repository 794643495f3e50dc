#include "base/decimal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace dovetail::base {
namespace {

TEST(Decimal, KnowsWhatIsOne) {
  for (const char* text : {"0", "12", "+1", "-1", "1.", ".5", "1.5", "1e3", "1E+3", "1.5e-3", "007"}) {
    EXPECT_TRUE(is_decimal(text)) << text;
  }
  for (const char* text :
       {"", ".", "+", "-", "e3", "1e", "1e+", "1.2.3", "0x10", "1_000", " 1", "1 ", "inf", "nan", "--1", "1,5"}) {
    EXPECT_FALSE(is_decimal(text)) << text;
    EXPECT_FALSE(scale_decimal(text, 0)) << text;
  }
}

TEST(Decimal, IsCutIntoWholeAndBelow) {
  const ScaledDecimal scaled = *scale_decimal("-12.345", 2);
  EXPECT_TRUE(scaled.negative);
  EXPECT_EQ(scaled.whole, 1234U);
  EXPECT_FALSE(scaled.exact);
  EXPECT_TRUE(scaled.half_or_more);
  EXPECT_FALSE(scale_decimal("12.344999", 2)->half_or_more);
  EXPECT_FALSE(scale_decimal("0.0999", 0)->half_or_more);
  EXPECT_TRUE(scale_decimal("12.340", 2)->exact);
}

TEST(Decimal, ZeroHasNoSign) {
  EXPECT_FALSE(scale_decimal("-0.000e5", 9)->negative);
  EXPECT_TRUE(scale_decimal("-0.0001", 0)->negative);
}

TEST(Decimal, FitsUpTo64Bits) {
  EXPECT_EQ(scale_decimal("18446744073709551615", 0)->whole, 18446744073709551615ULL);
  EXPECT_FALSE(scale_decimal("18446744073709551615", 0)->too_large);
  EXPECT_TRUE(scale_decimal("18446744073709551616", 0)->too_large);
  EXPECT_TRUE(scale_decimal("18446744073709551615", 1)->too_large);
}

TEST(Decimal, LargeExponentsTakeNoTime) {
  EXPECT_TRUE(scale_decimal("1e999999999999999999999999", 0)->too_large);
  EXPECT_EQ(scale_decimal("0e999999999999999999999999", 0)->whole, 0U);
  const ScaledDecimal tiny = *scale_decimal("1e-999999999999999999999999", 9);
  EXPECT_EQ(tiny.whole, 0U);
  EXPECT_FALSE(tiny.exact);
  EXPECT_FALSE(tiny.half_or_more);
  EXPECT_EQ(scale_decimal("1" + std::string(100'000, '0') + "e-100000", 0)->whole, 1U);
  EXPECT_EQ(scale_decimal("0." + std::string(100'000, '0') + "7e100001", 0)->whole, 7U);
}

RC_GTEST_PROP(Decimal, ShiftingThePointOrTheExponentIsTheSame, ()) {
  const auto number = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  const int shift = *rc::gen::inRange(0, 9);
  std::string power = "1";
  for (int i = 0; i < shift; ++i) power += '0';
  const std::uint64_t factor = std::stoull(power);
  const std::string digits = std::to_string(number);
  RC_ASSERT(scale_decimal(digits, shift)->whole == number * factor);
  RC_ASSERT(scale_decimal(digits + "e" + std::to_string(shift), 0)->whole == number * factor);
  const ScaledDecimal divided = *scale_decimal(digits, -shift);
  RC_ASSERT(divided.whole == number / factor);
  RC_ASSERT(divided.exact == (number % factor == 0));
  RC_ASSERT(divided.half_or_more == (2 * (number % factor) >= factor));
}

}  // namespace
}  // namespace dovetail::base
