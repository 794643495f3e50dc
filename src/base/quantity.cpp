#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/decimal.h"

namespace dovetail::base {

namespace {

struct UnitFacts {
  TimeUnit unit;
  std::string_view name;
  int decimals;  ///< of the unit that are held
};

constexpr std::array<UnitFacts, 5> units = {{{TimeUnit::tick, "tick", 0},
                                             {TimeUnit::s, "s", 9},
                                             {TimeUnit::ms, "ms", 6},
                                             {TimeUnit::us, "us", 3},
                                             {TimeUnit::ns, "ns", 0}}};
constexpr int memory_decimals = 6;

/// Not yet whole, within what ticks_of_seconds gives.
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

/// `count` * 10^-decimals, without zeros at the end.
std::string format_decimal(std::int64_t count, int decimals) {
  // Through unsigned, so that the least value has an absolute value too.
  const std::uint64_t absolute = count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  const auto one = static_cast<std::uint64_t>(power_of_ten(decimals));
  std::string text = fmt::format("{}{}", count < 0 ? "-" : "", absolute / one);
  const std::uint64_t fraction = absolute % one;
  if (fraction == 0) return text;
  text += fmt::format(".{:0{}}", fraction, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

/// `limit()` is the largest number accepted, in words.
template <class Limit>
Result<ScaledDecimal> scale(std::string_view text, int decimals, const Limit& limit) {
  const std::optional<ScaledDecimal> scaled = scale_decimal(text, decimals);
  if (!scaled) return bad_input(fmt::format("is not a number; accepted: a number from 0 to {}", limit()));
  if (scaled->negative) return bad_input(fmt::format("is negative; accepted: a number from 0 to {}", limit()));
  return *scaled;
}

/// What is said of digits finer than one ns.
std::string too_fine(TimeUnit unit) {
  const int decimals = facts_of(unit).decimals;
  return "has digits finer than one ns; accepted: " +
         (decimals == 0 ? "a whole number" : fmt::format("at most {} decimals", decimals));
}

bool is_above(const ScaledDecimal& scaled, std::int64_t largest) {
  const auto limit = static_cast<std::uint64_t>(largest);
  return scaled.too_large || scaled.whole > limit || (scaled.whole == limit && !scaled.exact);
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

Result<Ticks> parse_time(std::string_view text, TimeUnit unit, FineDigits fine_digits, std::int64_t largest) {
  const auto limit = [&] { return fmt::format("{} {}", format_time(Ticks(largest), unit), name_of(unit)); };
  DOVETAIL_TRY(const ScaledDecimal scaled, scale(text, facts_of(unit).decimals, limit));
  if (unit == TimeUnit::tick && !scaled.exact) {
    return bad_input("is not a whole number of ticks; accepted: a whole number, or a time_unit of s, ms, us or ns");
  }
  if (is_above(scaled, largest)) return bad_input(fmt::format("is more than the largest time accepted, {}", limit()));
  if (fine_digits == FineDigits::refuse && !scaled.exact) return bad_input(too_fine(unit));
  return Ticks(static_cast<std::int64_t>(scaled.whole) + (scaled.half_or_more ? 1 : 0));
}

Result<Memory> parse_memory(std::string_view text, std::int64_t largest) {
  const auto limit = [&] { return format_memory(Memory(largest)); };
  DOVETAIL_TRY(const ScaledDecimal scaled, scale(text, memory_decimals, limit));
  if (is_above(scaled, largest)) return bad_input(fmt::format("is more than the largest amount accepted, {}", limit()));
  if (!scaled.exact) return bad_input("has more than six decimals; accepted: at most six");
  return Memory(static_cast<std::int64_t>(scaled.whole));
}

std::string format_time(Ticks time, TimeUnit unit) { return format_decimal(time.count(), facts_of(unit).decimals); }

std::string format_memory(Memory memory) { return format_decimal(memory.count(), memory_decimals); }

}  // namespace dovetail::base
