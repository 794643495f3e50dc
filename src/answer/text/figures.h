// Formats times, memory, shares and gaps for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace dovetail::answer {

/// "225 ticks", "1 tick", "2.5 ms".
std::string time_with_unit(base::Ticks time, base::TimeUnit unit);

/// Exact shortest decimal of `thousandths` of an internal tick, in `unit`.
std::string format_thousandths(std::int64_t thousandths, base::TimeUnit unit);
/// As format_thousandths, rounded half up to three decimals of `unit`.
std::string format_thousandths_rounded(std::int64_t thousandths, base::TimeUnit unit);

/// "12.3%".
std::string percent(double share);

/// Relative distance of `value` above `bound`; 0 if the bound is 0.
double gap(base::Ticks value, base::Ticks bound);
double gap(base::Memory value, base::Memory bound);

/// "gap 3.6%", or "17 times the bound" if the gap is large.
std::string gap_text(double gap);

/// "+12", "-0.5", "0": the change between two amounts, with the decimals of `format`.
template <class Amount, class Format>
std::string change_text(Amount from, Amount to, Format format) {
  if (to == from) return "0";
  return to < from ? "-" + format(from - to) : "+" + format(to - from);
}

/// Change as a share of the first amount: "+12.3%"; empty if nothing changes or the first amount is 0.
std::string change_share_text(base::Ticks from, base::Ticks to);
std::string change_share_text(base::Memory from, base::Memory to);

/// "+2.3%": relative difference of `value` to `with`; empty if `with` is 0.
std::string difference_text(double value, double with);

/// "950", "12.3k", "4.6M": a rate, to three digits.
std::string short_number(double value);

/// "12 s left", "1:05 min left".
std::string time_left(double seconds);

/// Ends the message "there is no 'gredy'": "; did you mean 'greedy'? The solvers are gpipe, 1f1b", or without a similar
/// name "; the solvers are gpipe, 1f1b". `intro` is "the solvers are".
std::string hint_and_list(std::string_view name, std::string_view intro, const std::vector<std::string_view>& accepted);

/// "12.3 s", "2.1 ms", "124 s": about three significant digits.
std::string seconds_text(double seconds);

/// A signed change: "+1.2 s", "-3.0 ms"; "0" below half a millisecond.
std::string signed_seconds(double seconds);

/// "78.40 GiB". Amounts that would print as 0.00 GiB use MiB or bytes, so that only zero looks like zero.
std::string gibibytes(std::int64_t bytes);

}  // namespace dovetail::answer
