// Legend and sections computed from any timeline (time use, idle time, waits), and texts of times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// An entry of the legend. In `bar_title` and `bar_label`, "{NAME}" stands for the bar's value of the field NAME (see
/// bar_fields in html.cpp).
struct Category {
  std::string name;       ///< "actor forward"
  std::string bar_title;  ///< title of a bar: "F{micro-batch} actor"
  std::string bar_label;  ///< text on a bar if it fits: "{micro-batch}"; may be empty
  Ink ink;
  bool idle = false;  ///< drawn lower than work
};

/// Returns the name of a category: "actor_generate decode". Idle time is named by its cause alone: "bubble".
std::string category_name(const std::vector<timeline::Track>& tracks, timeline::BarKind bar_kind, std::int32_t track);

struct Legend {
  std::vector<Category> categories;
  std::vector<std::int32_t> of;  ///< [bar] index into `categories`
};

/// Builds the legend: a category per bar kind of each track, in order of tracks, then work without a track, then a
/// category per cause of idle time. Bars known only by name are grouped by their names with numbers ignored. The groups
/// with the most time get their own category; the others share one for work and one for idle time. Colors are unique as
/// long as there are enough.
Legend legend_of(const timeline::Timeline& timeline);

}  // namespace dovetail::report
