// Sections that follow from a timeline alone, whatever it is of: where the time goes, what idle time waits for.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// "225 ticks", "12.5 ms".
std::string time_text(base::Ticks time, base::TimeUnit unit);

/// The time of all lanes, and of each, by category. A row's amounts are the lane's bars: with work and idle time, all
/// of the timeline.
Breakdown time_breakdown(const timeline::Timeline& timeline);
/// Likewise of idle categories only; without rows of lanes that are never idle.
Breakdown idle_breakdown(const timeline::Timeline& timeline);
/// The longest idle bars that wait for a bar, each leading to it.
Table wait_table(const timeline::Timeline& timeline);

}  // namespace dovetail::report
