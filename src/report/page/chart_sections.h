// Legend and sections computed from any timeline (time use, idle time, waits), and formatting of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Formats a time with its unit: "225 ticks", "12.5 ms".
std::string time_text(base::Ticks time, base::TimeUnit unit);

/// Breaks down the time of all lanes together, then of each lane, by legend entry.
Breakdown time_breakdown(const timeline::Timeline& timeline);
/// Breaks down idle time only. Omits lanes that are never idle.
Breakdown idle_breakdown(const timeline::Timeline& timeline);
/// Lists up to 20 of the longest idle bars that wait for another bar, the longest first. Rows link to their bars.
Table wait_table(const timeline::Timeline& timeline);

/// Formats a time in a short form: rounded to about three digits if `unit` is ns ("12.3 s"), otherwise exact ("225
/// ticks", "12.3456 ms").
std::string short_time(base::Ticks time, base::TimeUnit unit);

/// Formats a change with its sign: "+12.3 s", "-3 ticks", "0 ticks".
std::string signed_time(base::Ticks change, base::TimeUnit unit);

/// Formats a change as a difference and a percentage: "+1.2 s (+3.4%)". Omits the percentage if `from` is 0 or equals
/// `to`.
std::string change_text(base::Ticks from, base::Ticks to, base::TimeUnit unit);

/// Bars with a common color and common formats of their titles and labels. In `bar_title` and `bar_label`, "{NAME}" is
/// replaced by the bar's value of the field NAME (see bar_fields in html.cpp).
struct Category {
  std::string name;       ///< "actor forward"
  std::string bar_title;  ///< title of a bar: "F{micro-batch} actor"
  std::string bar_label;  ///< text on a bar if it fits: "{micro-batch}"; may be empty
  Ink ink;
  bool idle = false;  ///< idle time, drawn as lower bars than work
};

/// Returns the name of a category: "actor_generate decode". Idle time is named by its cause alone: "bubble".
std::string category_name(const std::vector<timeline::Track>& tracks, timeline::BarKind bar_kind, std::int32_t track);

/// Maximum number of entries of a legend, idle time included.
inline constexpr std::size_t max_legend_entries = 10;

/// Bars that look the same: one bar kind of one track, or bars of a trace with one name.
struct BarStyle {
  timeline::BarKind bar_kind = timeline::BarKind::work;
  std::int32_t track = -1;
  base::Ticks time;       ///< total length of its bars
  std::string name = {};  ///< for bars known only by name
};

/// An entry of a legend, for one or several styles.
struct StyleGroup {
  std::string owner;  ///< "actor_train"; empty if the styles belong to several tasks
  std::string name;   ///< "forward", "inference", "other work"
  std::string about;  ///< explains the name; may be empty
  bool idle = false;
  bool is_rest = false;  ///< "other work" or "other idle time"
  base::Ticks time;
  std::vector<std::size_t> styles;

  /// Returns the owner and the name: "actor_train forward".
  std::string full_name() const { return owner.empty() ? name : owner + " " + name; }
};

/// Groups styles into at most `max_groups` legend entries, work first. Styles of generation and inference, and of work
/// that serves tasks, are grouped by bar kind. While there are too many groups, more are joined, in this order:
/// replicas of a model, all optimizers, all movements of weights and KV caches, all of generation, and the passes of
/// each training. Finally, the groups with the least time become "other idle time", then "other work". REQUIRES:
/// max_groups >= 2.
std::vector<StyleGroup> group_styles(const std::vector<timeline::Track>& tracks, const std::vector<BarStyle>& styles,
                                     std::size_t max_groups = max_legend_entries);

/// Returns the color of a group that a chart draws in one color: the color of its last style (decode rather than
/// prefill), or gray for "other work" and "other idle time". `inks` has an entry for each of `group.styles`.
Ink ink_of_group(const StyleGroup& group, const std::vector<Ink>& inks);

/// Explains a bar kind: "prompts are read into the KV cache". Returns an empty string for `work` and `idle`, which need
/// no explanation.
std::string_view explanation_of(timeline::BarKind bar_kind);

/// Explains the terms of a timeline that readers may not know. Each sentence has a leading space: " Hand-over: ...".
std::string term_sentences(const timeline::Timeline& timeline);

struct Legend {
  std::vector<Category> categories;
  std::vector<std::int32_t> of;     ///< [bar] index into `categories`
  std::vector<StyleGroup> entries;  ///< groups of categories; `styles` are indices into `categories`
};

/// Builds the legend: a category per bar kind of each track, in order of tracks, then work without a track, then a
/// category per cause of idle time. Bars known only by name are grouped by their names with numbers ignored. The groups
/// with the most time get their own category; the other groups share one category for work and one for idle time.
/// Categories of the same legend entry may share a color. Otherwise each category has its own color, as long as there
/// are enough colors.
Legend legend_of(const timeline::Timeline& timeline);

}  // namespace dovetail::report
