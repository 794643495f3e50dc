// Formats times, memory, shares and gaps for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace dovetail::answer {

/// Formats a time exactly: "225 ticks", "1 tick", "2.5 ms".
std::string time_with_unit(base::Ticks time, base::TimeUnit unit);

/// Formats `thousandths` of an internal tick as the exact shortest decimal in `unit`.
std::string format_thousandths(std::int64_t thousandths, base::TimeUnit unit);
/// Like format_thousandths, but rounded half up to three decimals of `unit`.
std::string format_thousandths_rounded(std::int64_t thousandths, base::TimeUnit unit);

/// Formats a fraction as a percentage: 0.123 as "12.3%".
std::string percent(double share);

/// Returns the relative distance of `value` from `bound`; 0 if the bound is 0.
double gap(base::Ticks value, base::Ticks bound);
double gap(base::Memory value, base::Memory bound);

/// Formats a gap: "gap 3.6%", or "17 times the bound" if the value is at least 10 times its bound.
std::string gap_text(double gap);

/// Formats the change between two amounts: "+12", "-0.5", "0". `format` formats a positive amount.
template <class Amount, class Format>
std::string change_text(Amount from, Amount to, Format format) {
  if (to == from) return "0";
  return to < from ? "-" + format(from - to) : "+" + format(to - from);
}

/// Formats a change as a percentage of `from`: "+12.3%". Empty if nothing changes or `from` is 0.
std::string change_share_text(base::Ticks from, base::Ticks to);
std::string change_share_text(base::Memory from, base::Memory to);

/// Formats the relative difference of `value` from `with`: "+2.3%". Empty if `with` is 0.
std::string difference_text(double value, double with);

/// Formats a rate to at most three digits, and below 1000 as an integer: "950", "12.3k", "4.6M".
std::string short_number(double value);

/// Formats a remaining time: "12 s left", "1:05 min left".
std::string time_left(double seconds);

/// Returns the end of a message such as "there is no 'gredy'": "; did you mean 'greedy'? The solvers are gpipe, 1f1b",
/// or "; the solvers are gpipe, 1f1b" if no accepted name is similar. Here, `intro` is "the solvers are".
std::string hint_and_list(std::string_view name, std::string_view intro, const std::vector<std::string_view>& accepted);

/// Formats seconds with one decimal, from 100 s without: "12.3 s", "124 s". Below 1 s, uses ms: "2.1 ms".
std::string seconds_text(double seconds);

/// Formats a change in seconds: "+1.2 s", "-3.0 ms"; "0" if its absolute value is below half a millisecond.
std::string signed_seconds(double seconds);

/// Formats bytes: "78.40 GiB". Amounts that would print as 0.00 GiB use MiB or bytes, so that only zero looks like
/// zero.
std::string gibibytes(std::int64_t bytes);

}  // namespace dovetail::answer
