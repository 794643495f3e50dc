// Sections that follow from a chart alone, whatever it is of: where the time goes, what idle time waits for.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// An amount of a schedule as a plain number; for pictures.
double amount_of(base::Memory memory);
/// "225 ticks", "12.5 ms".
std::string time_text(base::Ticks time, base::TimeUnit unit);
/// The title of a bar as the page says it: its category's, with the bar's fields filled in.
std::string bar_title(const Chart& chart, std::size_t bar);

/// The time of all lanes, and of each, by category. A row's amounts are the lane's bars: with work and idle time, all of the chart.
Breakdown time_breakdown(const Chart& chart);
/// Likewise of idle categories only; without rows of lanes that are never idle.
Breakdown idle_breakdown(const Chart& chart);
/// The longest idle bars that wait for a bar, each leading to it.
Table longest_waits(const Chart& chart);

}  // namespace dovetail::report
