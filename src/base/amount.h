// Amounts with a unit, as written in input files: "80GiB", "3.35TB/s", "400Gb/s", "989TFLOP/s", "5us".
//
// A unit of memory, bandwidth or compute may have a prefix: k, M, G, T, P (powers of 1000; K means k) or Ki, Mi, Gi,
// Ti, Pi (powers of 1024). A lowercase b is a bit, an uppercase B a byte. Spaces may precede the unit. A number without
// a unit is in bytes, bytes/s, FLOP/s or seconds.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

/// Dimension of an amount other than memory, with its accepted units. See parse_bytes() for memory.
enum class Measure {
  bandwidth,  ///< in bytes per second; units B/s (bytes), b/s and bit/s (bits)
  compute,    ///< in floating-point operations per second; units FLOP/s and FLOPS
  time,       ///< in seconds; units s, ms, us, ns, min and h
  number,     ///< a plain number, without a unit
};

/// Maximum accepted amount of memory, in bytes: 10^18 (an exabyte).
inline constexpr std::int64_t max_bytes = 1'000'000'000'000'000'000;
/// Maximum accepted value of any other amount, in bytes/s, FLOP/s, seconds or as a plain number.
inline constexpr double max_amount = 1e24;

/// Parses an amount of memory, rounded half up to bytes: "80GiB", "1.5 TB", "1024". Decimal prefixes are exact; binary
/// prefixes have the precision of a double. Amounts below 0 or above max_bytes are Errors. The Error has only a
/// message; the caller adds the place.
Result<std::int64_t> parse_bytes(std::string_view text);

/// Parses an amount of the dimension `measure`. The number and its decimal prefix are rounded once, like a C++ literal
/// ("3.35TB/s" is 3.35e12). Binary prefixes and bits then multiply by a power of two, and `min` and `h` by 60 and 3600.
/// Amounts below 0 or above max_amount are Errors. The Error has only a message; the caller adds the place.
Result<double> parse_amount(std::string_view text, Measure measure);

/// Whether an amount in a file may be 0.
enum class Zero { rejected, accepted };

/// Reads the amount of memory at `node`, in bytes. An Error names `what` and the accepted values.
Result<std::int64_t> read_bytes(const Node& node, std::string_view what, Zero zero = Zero::rejected);
/// Reads the amount of the dimension `measure` at `node`. An Error names `what` and the accepted values.
Result<double> read_amount(const Node& node, std::string_view what, Measure measure, Zero zero = Zero::rejected);

}  // namespace dovetail::base
