// Amounts with a unit, as people write them in files: "80GiB", "3.35TB/s", "400Gb/s", "989TFLOP/s", "5us".
//
// A unit may have a prefix: k, M, G, T, P (powers of 1000; K is k) or Ki, Mi, Gi, Ti, Pi (powers of 1024). A small b is
// a bit, a capital B a byte. Spaces may stand before the unit. A plain number is in the unit that has no prefix: bytes,
// bytes/s, FLOP/s, seconds.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

/// What an amount measures.
enum class Measure {
  bandwidth,  ///< bytes a second: B/s, or b/s or bit/s for bits
  compute,    ///< floating-point operations a second: FLOP/s
  time,       ///< seconds: s, ms, us, ns, min, h
  number,     ///< a plain number
};

/// The largest amount of memory that is accepted, in bytes: 10^18 (an exabyte).
inline constexpr std::int64_t max_bytes = 1'000'000'000'000'000'000;
/// The largest of all other amounts that is accepted.
inline constexpr double max_amount = 1e24;

/// Reads an amount of memory, rounded half up to whole bytes: "80GiB", "1.5 TB", "1024". Exact; with a binary prefix as
/// exact as a double. The Error has a message only ("is negative; accepted: ..."); the caller adds the place.
Result<std::int64_t> parse_bytes(std::string_view text);

/// Reads any other amount, from 0 on. A decimal is read as a C++ literal would be ("3.35TB/s" is 3.35e12); binary
/// prefixes and bits are then powers of two. The Error has a message only.
Result<double> parse_amount(std::string_view text, Measure measure);

/// Whether an amount in a file may be 0.
enum class Zero { refused, accepted };

/// The amount of memory at `node`; else an Error there that names `what` and says what is accepted.
Result<std::int64_t> read_bytes(const Node& node, std::string_view what, Zero zero = Zero::refused);
/// The amount at `node`, likewise.
Result<double> read_amount(const Node& node, std::string_view what, Measure measure, Zero zero = Zero::refused);

}  // namespace dovetail::base
