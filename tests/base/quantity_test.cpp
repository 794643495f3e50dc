#include "base/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace dovetail::base {
namespace {

std::int64_t ticks(std::string_view text, TimeUnit unit) {
  return parse_time(text, unit, ExcessDigits::round_half_up).value().count();
}

std::string time_error(std::string_view text, TimeUnit unit, ExcessDigits fine_digits = ExcessDigits::round_half_up) {
  return parse_time(text, unit, fine_digits).error().message;
}

TEST(TimeUnit, NamesRoundTrip) {
  for (const TimeUnit unit : {TimeUnit::tick, TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
    EXPECT_EQ(time_unit_named(name_of(unit)), unit);
  }
  EXPECT_EQ(time_unit_named("sec"), std::nullopt);
  EXPECT_EQ(ticks_per(TimeUnit::tick), 1);
  EXPECT_EQ(ticks_per(TimeUnit::ns), 1);
  EXPECT_EQ(ticks_per(TimeUnit::us), 1000);
  EXPECT_EQ(ticks_per(TimeUnit::ms), 1'000'000);
  EXPECT_EQ(ticks_per(TimeUnit::s), 1'000'000'000);
}

TEST(ParseTime, IsExact) {
  EXPECT_EQ(ticks("2", TimeUnit::tick), 2);
  EXPECT_EQ(ticks("2.0", TimeUnit::tick), 2);
  EXPECT_EQ(ticks("2e3", TimeUnit::tick), 2000);
  EXPECT_EQ(ticks("0.1", TimeUnit::s), 100'000'000);
  EXPECT_EQ(ticks("1e-3", TimeUnit::s), 1'000'000);
  EXPECT_EQ(ticks("1.000000001", TimeUnit::s), 1'000'000'001);
  EXPECT_EQ(ticks("1.5", TimeUnit::us), 1500);
  EXPECT_EQ(ticks("1000000", TimeUnit::s), max_time);
}

TEST(ParseTime, RoundsHalfUpOrRefusesFinerDigits) {
  EXPECT_EQ(ticks("0.5", TimeUnit::ns), 1);
  EXPECT_EQ(ticks("0.4999", TimeUnit::ns), 0);
  EXPECT_EQ(ticks("1.2345", TimeUnit::us), 1235);
  EXPECT_EQ(time_error("1.2345", TimeUnit::us, ExcessDigits::refuse),
            "has digits finer than one ns; accepted: at most 3 decimals");
  EXPECT_EQ(time_error("0.5", TimeUnit::ns, ExcessDigits::refuse),
            "has digits finer than one ns; accepted: an integer");
  EXPECT_EQ(parse_time("1.2340", TimeUnit::us, ExcessDigits::refuse).value(), Ticks(1234));
}

TEST(ParseTime, RejectsInvalidInput) {
  EXPECT_EQ(time_error("x", TimeUnit::s), "is not a number; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(time_error("-1", TimeUnit::s), "is negative; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(time_error("-1e-30", TimeUnit::s), "is negative; accepted: a number from 0 to 1000000 s");
  const std::string no_whole =
      "is not an integer number of ticks; accepted: an integer, or a time_unit of s, ms, us or ns";
  EXPECT_EQ(time_error("1.5", TimeUnit::tick), no_whole);
  EXPECT_EQ(time_error("1.5", TimeUnit::tick, ExcessDigits::refuse), no_whole);
  EXPECT_EQ(time_error("1000000000000001", TimeUnit::tick), "exceeds the maximum time of 1000000000000000 tick");
  EXPECT_EQ(time_error("1000000.0000000001", TimeUnit::s), "exceeds the maximum time of 1000000 s");
  EXPECT_EQ(time_error("1e99", TimeUnit::ms), "exceeds the maximum time of 1000000000 ms");
}

TEST(ParseMemory, AcceptsUpToSixDecimals) {
  EXPECT_EQ(parse_memory("1.64").value(), Memory(1'640'000));
  EXPECT_EQ(parse_memory("0.000001").value(), Memory(1));
  EXPECT_EQ(parse_memory("0.0000010000").value(), Memory(1));
  EXPECT_EQ(parse_memory("1e-6").value(), Memory(1));
  EXPECT_EQ(parse_memory("0.0000005").error().message, "has more than six decimals; accepted: at most six");
  EXPECT_EQ(parse_memory("-1").error().message, "is negative; accepted: a number from 0 to 1000000000000");
  EXPECT_EQ(parse_memory("many").error().message, "is not a number; accepted: a number from 0 to 1000000000000");
  EXPECT_EQ(parse_memory("1000000000000.000001").error().message, "exceeds the maximum amount of 1000000000000");
}

TEST(ParseTime, EnforcesTheCallersMaximum) {
  constexpr std::int64_t limit = 4'000'000'000'000'000'000;
  EXPECT_EQ(parse_time("4e18", TimeUnit::tick, ExcessDigits::refuse, limit).value(), Ticks(limit));
  EXPECT_EQ(parse_time("4000000000000000001", TimeUnit::tick, ExcessDigits::refuse, limit).error().message,
            "exceeds the maximum time of 4000000000000000000 tick");
  EXPECT_EQ(parse_memory("4e12", limit).value(), Memory(limit));
  EXPECT_EQ(parse_memory("4000000000000.1", limit).error().message, "exceeds the maximum amount of 4000000000000");
}

TEST(Format, IsTheShortestExactDecimal) {
  EXPECT_EQ(format_time(Ticks(225), TimeUnit::tick), "225");
  EXPECT_EQ(format_time(Ticks(2500), TimeUnit::us), "2.5");
  EXPECT_EQ(format_time(Ticks(1), TimeUnit::s), "0.000000001");
  EXPECT_EQ(format_time(Ticks(-1500), TimeUnit::us), "-1.5");
  EXPECT_EQ(format_memory(Memory(15'600'000)), "15.6");
  EXPECT_EQ(format_memory(Memory(0)), "0");
  EXPECT_EQ(format_memory(Memory(std::numeric_limits<std::int64_t>::min())), "-9223372036854.775808");
}

TEST(Seconds, AreRoundedToTheNearestNs) {
  EXPECT_EQ(ticks_of_seconds(1.5), Ticks(1'500'000'000));
  EXPECT_EQ(ticks_of_seconds(0.5e-9), Ticks(1));
  EXPECT_EQ(ticks_of_seconds(0.49e-9), Ticks(0));
  EXPECT_EQ(ticks_within_seconds(1.9e-9), Ticks(1));
  EXPECT_EQ(seconds_of_ticks(Ticks(2'500'000'000)), 2.5);
}

TEST(Seconds, AreClamped) {
  EXPECT_EQ(ticks_of_seconds(-1), Ticks(0));
  EXPECT_EQ(ticks_within_seconds(-1e-17), Ticks(0));
  EXPECT_EQ(ticks_of_seconds(1e6), Ticks(max_time));
  EXPECT_EQ(ticks_of_seconds(1e300), Ticks(max_time + 1));
  EXPECT_EQ(ticks_within_seconds(std::numeric_limits<double>::infinity()), Ticks(max_time + 1));
}

RC_GTEST_PROP(Seconds, RoundTripTicks, ()) {
  const Ticks ticks(*rc::gen::inRange<std::int64_t>(0, max_time + 1));
  RC_ASSERT(ticks_of_seconds(seconds_of_ticks(ticks)) == ticks);
}

RC_GTEST_PROP(Format, RoundTrips, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, max_time + 1);
  const auto unit = *rc::gen::element(TimeUnit::tick, TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns);
  RC_ASSERT(parse_time(format_time(Ticks(count), unit), unit, ExcessDigits::refuse).value() == Ticks(count));
  RC_ASSERT(parse_memory(format_memory(Memory(count))).value() == Memory(count));
}

TEST(Decimal, RecognizesDecimals) {
  for (const char* text : {"0", "12", "+1", "-1", "1.", ".5", "1.5", "1e3", "1E+3", "1.5e-3", "007"}) {
    EXPECT_TRUE(is_decimal(text)) << text;
  }
  for (const char* text :
       {"", ".", "+", "-", "e3", "1e", "1e+", "1.2.3", "0x10", "1_000", " 1", "1 ", "inf", "nan", "--1", "1,5"}) {
    EXPECT_FALSE(is_decimal(text)) << text;
    EXPECT_FALSE(scale_decimal(text, 0)) << text;
  }
}

TEST(Decimal, SplitsIntoIntegerAndFraction) {
  const ScaledDecimal scaled = *scale_decimal("-12.345", 2);
  EXPECT_TRUE(scaled.negative);
  EXPECT_EQ(scaled.integer, 1234U);
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

TEST(Decimal, DetectsOverflow) {
  EXPECT_EQ(scale_decimal("18446744073709551615", 0)->integer, 18446744073709551615ULL);
  EXPECT_FALSE(scale_decimal("18446744073709551615", 0)->too_large);
  EXPECT_TRUE(scale_decimal("18446744073709551616", 0)->too_large);
  EXPECT_TRUE(scale_decimal("18446744073709551615", 1)->too_large);
}

TEST(Decimal, HandlesLargeExponentsQuickly) {
  EXPECT_TRUE(scale_decimal("1e999999999999999999999999", 0)->too_large);
  EXPECT_EQ(scale_decimal("0e999999999999999999999999", 0)->integer, 0U);
  const ScaledDecimal tiny = *scale_decimal("1e-999999999999999999999999", 9);
  EXPECT_EQ(tiny.integer, 0U);
  EXPECT_FALSE(tiny.exact);
  EXPECT_FALSE(tiny.half_or_more);
  EXPECT_EQ(scale_decimal("1" + std::string(100'000, '0') + "e-100000", 0)->integer, 1U);
  EXPECT_EQ(scale_decimal("0." + std::string(100'000, '0') + "7e100001", 0)->integer, 7U);
}

RC_GTEST_PROP(Decimal, PointAndExponentAreEquivalent, ()) {
  const auto number = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  const int shift = *rc::gen::inRange(0, 9);
  std::string power = "1";
  for (int i = 0; i < shift; ++i) power += '0';
  const std::uint64_t factor = std::stoull(power);
  const std::string digits = std::to_string(number);
  RC_ASSERT(scale_decimal(digits, shift)->integer == number * factor);
  RC_ASSERT(scale_decimal(digits + "e" + std::to_string(shift), 0)->integer == number * factor);
  const ScaledDecimal divided = *scale_decimal(digits, -shift);
  RC_ASSERT(divided.integer == number / factor);
  RC_ASSERT(divided.exact == (number % factor == 0));
  RC_ASSERT(divided.half_or_more == (2 * (number % factor) >= factor));
}

}  // namespace
}  // namespace dovetail::base
