// Strongly typed integers: indices, time in ticks, and memory in millionths of the file's unit. Sums are exact and
// identical on every machine. The parse_ and format_ functions below do not use floating-point numbers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// A zero-based index into the objects that `Tag` names. A device index cannot be mistaken for a stage index.
template <class Tag>
struct Id {
  std::int32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t index_value) : value(index_value) {}
  constexpr explicit Id(std::size_t index_value) : value(static_cast<std::int32_t>(index_value)) {}

  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using DeviceId = Id<struct DeviceTag>;
using ModelId = Id<struct ModelTag>;
using ReplicaId = Id<struct ReplicaTag>;    ///< data-parallel copy within a model
using PipelineId = Id<struct PipelineTag>;  ///< one replica of one model, numbered throughout the file
using StageId = Id<struct StageTag>;
using MicrobatchId = Id<struct MicrobatchTag>;
using OpId = Id<struct OpTag>;  ///< a node of an OpGraph

/// A 64-bit amount of the quantity that `Tag` names. Only amounts of the same quantity can be added or compared.
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

using Ticks = Quantity<struct TimeTag>;     ///< time: ticks, or nanoseconds if the file's unit is not tick
using Memory = Quantity<struct MemoryTag>;  ///< memory: millionths of the file's unit of activation

/// Unit of the times in a file. All except `tick` are stored as integer nanoseconds.
enum class TimeUnit { tick, s, ms, us, ns };

/// Returns "tick", "s", "ms", "us" or "ns".
std::string_view name_of(TimeUnit unit);
/// Returns the unit with that name, or nullopt.
std::optional<TimeUnit> time_unit_named(std::string_view name);
/// Returns the number of internal ticks per `unit` (1 for tick and ns, 1000 for us, ...).
std::int64_t ticks_per(TimeUnit unit);

/// Treatment of digits finer than a nanosecond: rounded half up (problems) or rejected (schedules).
enum class ExcessDigits { round_half_up, refuse };

/// Maximum time accepted in a file, in ticks or ns: 10^15 (11 days in ns).
inline constexpr std::int64_t max_time = 1'000'000'000'000'000;
/// Maximum amount of memory accepted in a file, in millionths: 10^18 (a terabyte if the unit is a byte).
inline constexpr std::int64_t max_memory = 1'000'000'000'000'000'000;

// Conversion between seconds and integer nanoseconds. Predicted durations are rounded this way before they are
// scheduled or simulated.

/// Rounds to the nearest ns, halves up. Clamps to [0, max_time + 1], so that max_time + 1, which no file may contain,
/// means "too long".
Ticks ticks_of_seconds(double seconds);
/// Rounds down, for lower bounds and for times that must not exceed `seconds`. Clamps like ticks_of_seconds.
Ticks ticks_within_seconds(double seconds);
/// Converts ns to seconds. For times from 0 to max_time, ticks_of_seconds converts the result back to the same ns.
double seconds_of_ticks(Ticks ticks);

/// Parses a time from 0 to `largest` ticks or ns, written as a decimal in `unit` ("2", "0.5", "1e-3"). `excess_digits`
/// applies to digits below one ns. Times in ticks must be integers. The Error has only a message ("is negative;
/// accepted: a number from 0 to 1000000 s", ...); the caller adds the place.
Result<Ticks> parse_time(std::string_view text, TimeUnit unit, ExcessDigits excess_digits,
                         std::int64_t largest = max_time);
/// Parses an amount of memory from 0 to `largest` millionths. A nonzero digit after the sixth decimal place is an
/// Error. The Error has only a message; the caller adds the place.
Result<Memory> parse_memory(std::string_view text, std::int64_t largest = max_memory);

/// Returns the exact shortest decimal of `time` in `unit`: "2.5".
std::string format_time(Ticks time, TimeUnit unit);
/// Returns the exact shortest decimal of `memory`: "15.6".
std::string format_memory(Memory memory);

/// Whether `text` is a decimal: an optional sign, digits with at most one decimal point, an optional exponent.
bool is_decimal(std::string_view text);

/// The absolute value of a decimal times a power of ten, split into its integer part and its fraction.
struct ScaledDecimal {
  bool negative = false;      ///< written with a minus and not zero
  bool too_large = false;     ///< `integer` overflowed
  std::uint64_t integer = 0;  ///< integer part
  bool exact = true;          ///< the fraction is zero
  bool half_or_more = false;  ///< the fraction is at least one half
};

/// Computes |text| * 10^power; nullopt if `text` is not a decimal. Takes time linear in the length of the text,
/// whatever the exponent.
std::optional<ScaledDecimal> scale_decimal(std::string_view text, int power);

}  // namespace dovetail::base
