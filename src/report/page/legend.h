// What the bars of a timeline are drawn as: the legend of a chart, with its words and colours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

/// What bars show: an entry of a chart's legend. In `bar_title` and `bar_label`, "{NAME}" stands for the bar's value of
/// that field (fields.h).
struct Category {
  std::string name;       ///< "actor forward"
  std::string bar_title;  ///< of one of its bars: "F{micro-batch} actor"
  std::string bar_label;  ///< written on a bar where it fits: "{micro-batch}"; may be empty
  Ink ink;
  bool idle = false;  ///< drawn lower than work
};

/// What a category of known bars is called: "actor_generate decode"; "bubble" of idle time, whatever its track.
std::string category_name(const std::vector<timeline::Track>& tracks, timeline::BarKind bar_kind, std::int32_t track);

struct Legend {
  std::vector<Category> categories;
  std::vector<std::int32_t> of;  ///< [bar] index into `categories`
};

/// A category for each bar kind of each track, in the order of tracks, work of no track behind them; then one for each
/// cause of idle time, whatever is waited for. Bars that only have names are of one category where their names differ
/// in numbers only; those that take most of the time have one of their own, the rest share one, idle time another.
/// Their colours are not those of others, as long as there are any.
Legend legend_of(const timeline::Timeline& timeline);

}  // namespace dovetail::report
