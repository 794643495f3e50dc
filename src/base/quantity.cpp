#include "base/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dovetail::base {
namespace {

struct UnitFacts {
  TimeUnit unit;
  std::string_view name;
  int decimals;  ///< decimals of the unit that are stored
};

constexpr std::array<UnitFacts, 5> units = {{{TimeUnit::tick, "tick", 0},
                                             {TimeUnit::s, "s", 9},
                                             {TimeUnit::ms, "ms", 6},
                                             {TimeUnit::us, "us", 3},
                                             {TimeUnit::ns, "ns", 0}}};
constexpr int memory_decimals = 6;

/// Returns nanoseconds before rounding, clamped to the range of ticks_of_seconds.
double ns_of(double seconds) { return std::clamp(seconds * 1e9, 0.0, static_cast<double>(max_time + 1)); }

const UnitFacts& facts_of(TimeUnit unit) {
  for (const UnitFacts& facts : units) {
    if (facts.unit == unit) return facts;
  }
  DOVETAIL_ASSERT(false);
}

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// Formats `count` * 10^-decimals without trailing zeros.
std::string format_decimal(std::int64_t count, int decimals) {
  // Unsigned, because the absolute value of the minimum does not fit in a signed integer.
  const std::uint64_t absolute = count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  const auto one = static_cast<std::uint64_t>(power_of_ten(decimals));
  std::string text = fmt::format("{}{}", count < 0 ? "-" : "", absolute / one);
  const std::uint64_t fraction = absolute % one;
  if (fraction == 0) return text;
  text += fmt::format(".{:0{}}", fraction, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

/// Scales a non-negative decimal. `limit()` is the maximum accepted number, for messages.
template <class Limit>
Result<ScaledDecimal> scale(std::string_view text, int decimals, const Limit& limit) {
  const std::optional<ScaledDecimal> scaled = scale_decimal(text, decimals);
  if (!scaled) return bad_input(fmt::format("is not a number; accepted: a number from 0 to {}", limit()));
  if (scaled->negative) return bad_input(fmt::format("is negative; accepted: a number from 0 to {}", limit()));
  return *scaled;
}

/// Returns the message about digits finer than one ns.
std::string too_precise(TimeUnit unit) {
  const int decimals = facts_of(unit).decimals;
  return "has digits finer than one ns; accepted: " +
         (decimals == 0 ? "an integer" : fmt::format("at most {} decimals", decimals));
}

bool is_above(const ScaledDecimal& scaled, std::int64_t largest) {
  const auto limit = static_cast<std::uint64_t>(largest);
  return scaled.too_large || scaled.integer > limit || (scaled.integer == limit && !scaled.exact);
}

}  // namespace

Ticks ticks_of_seconds(double seconds) { return Ticks(std::llround(ns_of(seconds))); }

Ticks ticks_within_seconds(double seconds) { return Ticks(static_cast<std::int64_t>(ns_of(seconds))); }

double seconds_of_ticks(Ticks ticks) { return static_cast<double>(ticks.count()) * 1e-9; }

std::string_view name_of(TimeUnit unit) { return facts_of(unit).name; }

std::optional<TimeUnit> time_unit_named(std::string_view name) {
  for (const UnitFacts& facts : units) {
    if (facts.name == name) return facts.unit;
  }
  return std::nullopt;
}

std::int64_t ticks_per(TimeUnit unit) { return power_of_ten(facts_of(unit).decimals); }

Result<Ticks> parse_time(std::string_view text, TimeUnit unit, ExcessDigits excess_digits, std::int64_t largest) {
  const auto limit = [&] { return fmt::format("{} {}", format_time(Ticks(largest), unit), name_of(unit)); };
  DOVETAIL_TRY(const ScaledDecimal scaled, scale(text, facts_of(unit).decimals, limit));
  if (unit == TimeUnit::tick && !scaled.exact) {
    return bad_input("is not an integer number of ticks; accepted: an integer, or a time_unit of s, ms, us or ns");
  }
  if (is_above(scaled, largest)) return bad_input(fmt::format("exceeds the maximum time of {}", limit()));
  if (excess_digits == ExcessDigits::refuse && !scaled.exact) return bad_input(too_precise(unit));
  return Ticks(static_cast<std::int64_t>(scaled.integer) + (scaled.half_or_more ? 1 : 0));
}

Result<Memory> parse_memory(std::string_view text, std::int64_t largest) {
  const auto limit = [&] { return format_memory(Memory(largest)); };
  DOVETAIL_TRY(const ScaledDecimal scaled, scale(text, memory_decimals, limit));
  if (is_above(scaled, largest)) return bad_input(fmt::format("exceeds the maximum amount of {}", limit()));
  if (!scaled.exact) return bad_input("has more than six decimals; accepted: at most six");
  return Memory(static_cast<std::int64_t>(scaled.integer));
}

std::string format_time(Ticks time, TimeUnit unit) { return format_decimal(time.count(), facts_of(unit).decimals); }

std::string format_memory(Memory memory) { return format_decimal(memory.count(), memory_decimals); }

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The components of a decimal as written.
struct DecimalParts {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto length = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

/// Removes a leading sign. Returns whether it was a minus.
bool take_sign(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  const bool minus = text.front() == '-';
  text.remove_prefix(1);
  return minus;
}

/// Returns the value of an exponent's digits, saturated far beyond any possible text length.
std::int64_t decimal_exponent(std::string_view digits) {
  constexpr std::int64_t enough = 1'000'000'000'000;
  std::int64_t value = 0;
  for (const char c : digits) value = std::min(enough, value * 10 + (c - '0'));
  return value;
}

std::optional<DecimalParts> split_decimal(std::string_view text) {
  DecimalParts parts;
  parts.negative = take_sign(text);
  parts.integer = take_digits(text);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
  }
  if (parts.integer.empty() && parts.fraction.empty()) return std::nullopt;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    const bool minus = take_sign(text);
    const std::string_view digits = take_digits(text);
    if (digits.empty()) return std::nullopt;
    parts.exponent = minus ? -decimal_exponent(digits) : decimal_exponent(digits);
  }
  if (!text.empty()) return std::nullopt;
  return parts;
}

bool is_zero(std::string_view digits) {
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c == '0'; });
}

/// Appends a digit to `scaled.integer`, or marks the number as too large.
void append_digit(ScaledDecimal& scaled, unsigned digit) {
  if (scaled.integer > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) scaled.too_large = true;
  if (!scaled.too_large) scaled.integer = scaled.integer * 10 + digit;
}

}  // namespace

bool is_decimal(std::string_view text) { return split_decimal(text).has_value(); }

std::optional<ScaledDecimal> scale_decimal(std::string_view text, int power) {
  const std::optional<DecimalParts> parts = split_decimal(text);
  if (!parts) return std::nullopt;
  ScaledDecimal scaled;
  if (is_zero(parts->integer) && is_zero(parts->fraction)) return scaled;
  scaled.negative = parts->negative;

  const auto whole_size = static_cast<std::int64_t>(parts->integer.size());
  const std::int64_t size = whole_size + static_cast<std::int64_t>(parts->fraction.size());
  const auto digit = [&](std::int64_t i) {
    const char c = i < whole_size ? parts->integer[static_cast<std::size_t>(i)]
                                  : parts->fraction[static_cast<std::size_t>(i - whole_size)];
    return static_cast<unsigned>(c - '0');
  };
  // Digits before `point` belong to the integer part, the others to the fraction.
  const std::int64_t point = whole_size + parts->exponent + power;
  for (std::int64_t i = 0; i < std::min(point, size); ++i) append_digit(scaled, digit(i));
  if (scaled.integer != 0) {
    for (std::int64_t i = size; i < point && !scaled.too_large; ++i) append_digit(scaled, 0);
  }
  for (std::int64_t i = std::max<std::int64_t>(point, 0); i < size && scaled.exact; ++i) scaled.exact = digit(i) == 0;
  scaled.half_or_more = point >= 0 && point < size && digit(point) >= 5;
  return scaled;
}

}  // namespace dovetail::base
