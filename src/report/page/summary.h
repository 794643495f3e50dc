// Summary of a timeline for captions, and the choice of the bar to draw where several share a pixel. For drawing only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

struct Summary {
  std::int64_t work_bars = 0;
  std::array<double, timeline::bar_kinds> share{};  ///< share of all devices' time, by BarKind
  double idle_share = 0;                            ///< share of idle time of all causes (bubbles)
  std::vector<base::Memory> peaks;                  ///< [lane] peak of the counter
  std::size_t fullest_lane = 0;                     ///< lane with the highest peak; the first of several
  base::Ticks peak_time;                            ///< time at which that lane first reaches its peak
  /// [track] kinds of work that take time; the last entry is work without a track
  std::vector<std::array<bool, timeline::bar_kinds>> drawn;
  /// [track] number of digits of its largest micro-batch number. Charts label a bar only if this many digits fit, so
  /// bars of equal width are all labeled or all unlabeled.
  std::vector<std::size_t> label_digits;
  bool has_memory = false;  ///< whether any lane has memory in use
};
/// Summarizes a timeline. In shares of time, a lane counts once per device, and links to host memory do not count.
Summary summarize(const timeline::Timeline& timeline);

/// Formats a share as a percentage: "9.8%".
std::string percent(double share);

/// Returns the unit of times in pictures: seconds for iterations in ns, otherwise the timeline's own unit.
base::TimeUnit shown_unit(const timeline::Timeline& timeline);

/// Returns a unit as written after a number: "ticks", "ms".
std::string_view plural_of(base::TimeUnit unit);

/// Returns the smallest of 1, 2, 5, 10, 20, ... that is at least `least`, for axis steps with exact labels.
std::int64_t round_step(double least);

/// Splits [from, to) into `columns` equal columns and returns the bar to show in each: the first bar of the style (bar
/// kind and track) that fills the largest part of it; -1 if no bar has any length there. Considers bars [first, last).
std::vector<std::int32_t> dominant_bars(std::span<const timeline::Bar> bars, std::size_t first, std::size_t last,
                                        double from, double to, std::size_t columns);

}  // namespace dovetail::report
