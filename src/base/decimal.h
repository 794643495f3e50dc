// Decimal numbers as written in files, read exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dovetail::base {

/// Whether `text` is a decimal: an optional sign, digits with at most one point among or beside them, an optional
/// exponent.
bool is_decimal(std::string_view text);

/// A decimal times a power of ten, cut into its whole part and what is below.
struct ScaledDecimal {
  bool negative = false;      ///< written with a minus and not zero
  bool too_large = false;     ///< `whole` did not fit
  std::uint64_t whole = 0;    ///< of the absolute value
  bool exact = true;          ///< nothing is below `whole`
  bool half_or_more = false;  ///< what is below `whole` is at least one half
};

/// |text| * 10^power; nothing where `text` is no decimal. Takes time linear in the text, whatever the exponent.
std::optional<ScaledDecimal> scale_decimal(std::string_view text, int power);

}  // namespace dovetail::base
