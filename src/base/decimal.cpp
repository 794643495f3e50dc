#include "base/decimal.h"

#include <algorithm>
#include <limits>

namespace dovetail::base {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The parts of a decimal as written.
struct Parts {
  bool negative = false;
  std::string_view whole;
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

/// Takes a sign; whether it was a minus.
bool take_sign(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  const bool minus = text.front() == '-';
  text.remove_prefix(1);
  return minus;
}

/// The value of an exponent's digits; far beyond what any text length could balance it stays where it is.
std::int64_t exponent_of(std::string_view digits) {
  constexpr std::int64_t enough = 1'000'000'000'000;
  std::int64_t value = 0;
  for (const char c : digits) value = std::min(enough, value * 10 + (c - '0'));
  return value;
}

std::optional<Parts> split(std::string_view text) {
  Parts parts;
  parts.negative = take_sign(text);
  parts.whole = take_digits(text);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts.fraction = take_digits(text);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    const bool minus = take_sign(text);
    const std::string_view digits = take_digits(text);
    if (digits.empty()) return std::nullopt;
    parts.exponent = minus ? -exponent_of(digits) : exponent_of(digits);
  }
  if (!text.empty()) return std::nullopt;
  return parts;
}

bool is_zero(std::string_view digits) {
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c == '0'; });
}

/// Appends a digit to `scaled.whole`, or notes that it no longer fits.
void append_digit(ScaledDecimal& scaled, unsigned digit) {
  if (scaled.whole > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) scaled.too_large = true;
  if (!scaled.too_large) scaled.whole = scaled.whole * 10 + digit;
}

}  // namespace

bool is_decimal(std::string_view text) { return split(text).has_value(); }

std::optional<ScaledDecimal> scale_decimal(std::string_view text, int power) {
  const std::optional<Parts> parts = split(text);
  if (!parts) return std::nullopt;
  ScaledDecimal scaled;
  if (is_zero(parts->whole) && is_zero(parts->fraction)) return scaled;
  scaled.negative = parts->negative;

  const auto whole_size = static_cast<std::int64_t>(parts->whole.size());
  const std::int64_t size = whole_size + static_cast<std::int64_t>(parts->fraction.size());
  const auto digit = [&](std::int64_t i) {
    const char c = i < whole_size ? parts->whole[static_cast<std::size_t>(i)]
                                  : parts->fraction[static_cast<std::size_t>(i - whole_size)];
    return static_cast<unsigned>(c - '0');
  };
  // The digits before `point` are whole, those from it on are below.
  const std::int64_t point = whole_size + parts->exponent + power;
  for (std::int64_t i = 0; i < std::min(point, size); ++i) append_digit(scaled, digit(i));
  if (scaled.whole != 0) {
    for (std::int64_t i = size; i < point && !scaled.too_large; ++i) append_digit(scaled, 0);
  }
  for (std::int64_t i = std::max<std::int64_t>(point, 0); i < size && scaled.exact; ++i) scaled.exact = digit(i) == 0;
  scaled.half_or_more = point >= 0 && point < size && digit(point) >= 5;
  return scaled;
}

}  // namespace dovetail::base
