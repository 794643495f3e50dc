#include "base/amount.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/quantity.h"

namespace dovetail::base {

namespace {

/// Value of a unit: 10^ten * 2^two * times.
struct Factor {
  int ten = 0;
  int two = 0;
  int times = 1;
};

struct Unit {
  std::string_view name;
  Factor factor;
  bool takes_prefix = true;
};

constexpr std::array<Unit, 1> byte_units = {{{"B", {}}}};
constexpr std::array<Unit, 3> bandwidth_units = {{{"B/s", {}}, {"b/s", {.two = -3}}, {"bit/s", {.two = -3}}}};
constexpr std::array<Unit, 2> compute_units = {{{"FLOP/s", {}}, {"FLOPS", {}}}};
constexpr std::array<Unit, 6> time_units = {{{"s", {}, false},
                                             {"ms", {.ten = -3}, false},
                                             {"us", {.ten = -6}, false},
                                             {"ns", {.ten = -9}, false},
                                             {"min", {.times = 60}, false},
                                             {"h", {.times = 3600}, false}}};

std::span<const Unit> units_of(Measure measure) {
  switch (measure) {
    case Measure::bandwidth:
      return bandwidth_units;
    case Measure::compute:
      return compute_units;
    case Measure::time:
      return time_units;
    case Measure::number:
      return {};
  }
  DOVETAIL_ASSERT(false);
}

constexpr std::string_view accepted_bytes = "an amount of memory such as `80GiB`, `2TB` or a number of bytes";

std::string_view accepted_amount(Measure measure) {
  switch (measure) {
    case Measure::bandwidth:
      return "a bandwidth such as `50GB/s`, `46.5GiB/s`, `400Gb/s` (bits) or a number of bytes/s";
    case Measure::compute:
      return "a speed such as `989TFLOP/s` or a number of FLOP/s";
    case Measure::time:
      return "a time such as `5us`, `0.2ms` or a number of seconds";
    case Measure::number:
      return "a non-negative number";
  }
  DOVETAIL_ASSERT(false);
}

/// Returns the length of the leading decimal. An e without digits after it does not begin an exponent.
std::size_t decimal_length(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  std::size_t end = std::min(text.find_first_not_of("0123456789.+-"), text.size());
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const std::size_t after = std::min(text.find_first_not_of(digits, exponent), text.size());
    if (after > exponent) end = after;
  }
  return end;
}

/// Returns the factor of a unit prefix: 1 for an empty one, nullopt for an unknown one.
std::optional<Factor> prefix_factor(std::string_view prefix) {
  if (prefix.empty()) return Factor{};
  constexpr std::string_view letters = "kMGTP";
  const std::size_t place = letters.find(prefix.front() == 'K' ? 'k' : prefix.front());
  if (place == std::string_view::npos) return std::nullopt;
  const int rank = static_cast<int>(place) + 1;
  if (prefix.size() == 1) return Factor{.ten = 3 * rank};
  if (prefix.substr(1) == "i") return Factor{.two = 10 * rank};
  return std::nullopt;
}

std::optional<Factor> factor_of(std::string_view unit_text, std::span<const Unit> units) {
  if (unit_text.empty()) return Factor{};
  for (const Unit& unit : units) {
    if (!unit_text.ends_with(unit.name)) continue;
    const std::string_view prefix = unit_text.substr(0, unit_text.size() - unit.name.size());
    if (!unit.takes_prefix && !prefix.empty()) continue;
    const std::optional<Factor> factor = prefix_factor(prefix);
    if (factor) return Factor{factor->ten + unit.factor.ten, factor->two + unit.factor.two, unit.factor.times};
  }
  return std::nullopt;
}

struct DecimalAndFactor {
  std::string_view decimal;
  Factor factor;
};

/// Splits an amount into its decimal, which is not negative, and the factor of its unit.
Result<DecimalAndFactor> split(std::string_view text, std::span<const Unit> units, std::string_view accepted) {
  const std::string_view decimal = text.substr(0, decimal_length(text));
  std::string_view unit = text.substr(decimal.size());
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (!is_decimal(decimal)) return bad_input(fmt::format("is not an amount; accepted: {}", accepted));
  const std::optional<Factor> factor = factor_of(unit, units);
  if (!factor) return bad_input(fmt::format("has the unknown unit {}; accepted: {}", quote(unit), accepted));
  if (scale_decimal(decimal, 0)->negative) return bad_input(fmt::format("is negative; accepted: {}", accepted));
  return DecimalAndFactor{decimal, *factor};
}

/// Returns the exponent of a decimal, clamped to a range far wider than the exponents of doubles.
long exponent_of(std::string_view decimal) {
  constexpr long far = 1'000'000'000;
  const std::size_t e = decimal.find_first_of("eE");
  if (e == std::string_view::npos) return 0;
  std::string_view digits = decimal.substr(e + 1);
  if (digits.front() == '+') digits.remove_prefix(1);
  long exponent = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (parsed.ec != std::errc()) return digits.front() == '-' ? -far : far;
  return std::clamp(exponent, -far, far);
}

/// Computes `decimal` * 10^power, rounded once like a literal; nullopt above max_amount. Values too small for a double
/// become 0.
std::optional<double> scaled_double(std::string_view decimal, int power) {
  const ScaledDecimal of_largest = *scale_decimal(decimal, power - 24);
  if (of_largest.too_large || of_largest.integer > 1 || (of_largest.integer == 1 && !of_largest.exact))
    return std::nullopt;
  std::string_view mantissa = decimal.substr(0, decimal.find_first_of("eE"));
  if (mantissa.front() == '+' || mantissa.front() == '-') mantissa.remove_prefix(1);
  const std::string literal = fmt::format("{}e{}", mantissa, exponent_of(decimal) + power);
  double value = 0;
  const auto parsed = std::from_chars(literal.data(), literal.data() + literal.size(), value);
  return parsed.ec == std::errc() ? value : 0.0;
}

/// Reads the value at `node` with `parse` and adds the place to its errors.
template <class Value, class Parse>
Result<Value> read_with(const Node& node, std::string_view what, Zero zero, std::string_view accepted,
                        const Parse& parse) {
  if (!node.is_number() && !node.is_string())
    return node.error(fmt::format("{} is {}; accepted: {}", what, node.describe(), accepted));
  Result<Value> value = parse(node.text());
  if (!value.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), value.error().message));
  if (zero == Zero::rejected && *value == 0) {
    return node.error(fmt::format("{}: {} is not above 0; accepted: {}", what, node.describe(), accepted));
  }
  return value;
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  DOVETAIL_TRY(const DecimalAndFactor parts, split(text, byte_units, accepted_bytes));
  const auto too_large = [] { return bad_input(fmt::format("is too large; accepted: at most {} bytes", max_bytes)); };
  if (parts.factor.two > 0) {
    const std::optional<double> value = scaled_double(parts.decimal, 0);
    const double bytes = value ? std::ldexp(*value, parts.factor.two) : max_amount;
    if (bytes > static_cast<double>(max_bytes)) return too_large();
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  const ScaledDecimal integer = *scale_decimal(parts.decimal, parts.factor.ten);
  if (integer.too_large || integer.integer >= static_cast<std::uint64_t>(max_bytes) + (integer.half_or_more ? 0 : 1))
    return too_large();
  return static_cast<std::int64_t>(integer.integer) + (integer.half_or_more ? 1 : 0);
}

Result<double> parse_amount(std::string_view text, Measure measure) {
  DOVETAIL_TRY(const DecimalAndFactor parts, split(text, units_of(measure), accepted_amount(measure)));
  const std::optional<double> value = scaled_double(parts.decimal, parts.factor.ten);
  const double amount = value ? std::ldexp(*value, parts.factor.two) * parts.factor.times : 2 * max_amount;
  if (amount > max_amount)
    return bad_input(fmt::format("is too large; accepted: {}, at most {}", accepted_amount(measure), max_amount));
  return amount;
}

Result<std::int64_t> read_bytes(const Node& node, std::string_view what, Zero zero) {
  return read_with<std::int64_t>(node, what, zero, accepted_bytes, parse_bytes);
}

Result<double> read_amount(const Node& node, std::string_view what, Measure measure, Zero zero) {
  return read_with<double>(node, what, zero, accepted_amount(measure),
                           [&](std::string_view text) { return parse_amount(text, measure); });
}

}  // namespace dovetail::base
