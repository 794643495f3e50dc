// Sections computed from any timeline (time use, idle time, waits), and texts of times.
#pragma once

#include <string>

#include "base/quantity.h"
#include "report/page/page.h"

namespace dovetail::report {

/// "225 ticks", "12.5 ms".
std::string time_text(base::Ticks time, base::TimeUnit unit);

/// Breaks down the time of all lanes together, then of each lane, by category.
Breakdown time_breakdown(const timeline::Timeline& timeline);
/// Breaks down idle time only. Omits lanes that are never idle.
Breakdown idle_breakdown(const timeline::Timeline& timeline);
/// Lists the longest idle bars that wait for another bar. Rows link to their bars.
Table wait_table(const timeline::Timeline& timeline);

/// "12.3 s" if ticks are ns, rounded to about three digits; otherwise exact: "225 ticks".
std::string brief_time(base::Ticks time, base::TimeUnit unit);

/// A change with its sign: "+12.3 s", "-3 ticks", "0 ticks".
std::string signed_time(base::Ticks change, base::TimeUnit unit);

/// "+1.2 s (+3.4%)".
std::string change_text(base::Ticks from, base::Ticks to, base::TimeUnit unit);

}  // namespace dovetail::report
