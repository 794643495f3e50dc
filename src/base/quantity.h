// Whole-number quantities: time in ticks, memory in millionths of the file's unit. Sums are exact and equal on every
// machine.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// A 64-bit amount of what `Tag` names; adds, subtracts and compares only with its own kind.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }
  static constexpr Quantity max() { return Quantity(std::numeric_limits<std::int64_t>::max()); }

  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count_ + b.count_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count_ - b.count_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) { return Quantity(a.count_ * factor); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  std::int64_t count_ = 0;
};

using Ticks = Quantity<struct TimeTag>;     ///< time: ticks, or nanoseconds where the file names a unit
using Memory = Quantity<struct MemoryTag>;  ///< memory: millionths of the file's unit of activation

/// The unit of the times in a file. All but `tick` are held as whole nanoseconds.
enum class TimeUnit { tick, s, ms, us, ns };

/// "tick", "s", "ms", "us" or "ns".
std::string_view name_of(TimeUnit unit);
/// The unit of that name, if there is one.
std::optional<TimeUnit> time_unit_named(std::string_view name);
/// How many of the internal ticks make one of `unit` (1 for tick and ns, 1000 for us, ...).
std::int64_t ticks_per(TimeUnit unit);

/// What to do with digits finer than what is held: round half up (problems), or refuse (schedules).
enum class FineDigits { round_half_up, refuse };

/// The largest time accepted in a file, in ticks or ns: 10^15 (11 days).
inline constexpr std::int64_t max_time = 1'000'000'000'000'000;
/// The largest amount of memory accepted in a file, in millionths: 10^18 (a terabyte, where the unit is a byte).
inline constexpr std::int64_t max_memory = 1'000'000'000'000'000'000;

// Seconds and whole ns. What every prediction of time in seconds is rounded by before it is compared, added or played.

/// To the nearest ns, halves up; 0 below that, and just beyond max_time, which no file may say, from there on.
Ticks ticks_of_seconds(double seconds);
/// Rounded down: of a bound, or of what is to be no longer than it is. Limits as above.
Ticks ticks_within_seconds(double seconds);
/// To 53 binary digits: ticks_of_seconds gives the same ticks back, up to max_time.
double seconds_of_ticks(Ticks ticks);

/// Reads a decimal ("2", "0.5", "1e-3") of `unit` exactly, up to `largest` ticks or ns. Decimals of `tick` must be
/// whole. The Error has a message only ("is negative; accepted: a number from 0 to 1000000 s", ...); the caller adds
/// the place.
Result<Ticks> parse_time(std::string_view text, TimeUnit unit, FineDigits fine_digits, std::int64_t largest = max_time);
/// Reads an amount of memory with at most six decimals, up to `largest` millionths; finer digits are refused.
Result<Memory> parse_memory(std::string_view text, std::int64_t largest = max_memory);

/// The exact shortest decimal of `time` in `unit`: "2.5".
std::string format_time(Ticks time, TimeUnit unit);
/// The exact shortest decimal of `memory`: "15.6".
std::string format_memory(Memory memory);

}  // namespace dovetail::base
