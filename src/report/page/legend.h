// Legend of a chart: the categories of a timeline's bars, with their names and colors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

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
