// What captions say of a timeline, and which bars show where many share a place. For drawing only.
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
  std::array<double, timeline::bar_kinds> share{};  ///< of the time of all devices, by BarKind
  double idle_share = 0;                            ///< the bubbles: all causes together
  std::vector<base::Memory> peaks;                  ///< [lane]
  std::size_t fullest_lane = 0;                     ///< the first with the largest peak
  base::Ticks peak_time;                            ///< when it first has it
  /// [track] the work that takes time; behind them that of no track
  std::vector<std::array<bool, timeline::bar_kinds>> drawn;
  /// [track] of its largest micro-batch: bars that are alike have numbers, or none
  std::vector<std::size_t> label_digits;
  bool has_memory = false;  ///< whether any lane holds any
};
/// Each lane counts as often as it has devices, one of links to host memory not at all.
Summary summarize(const timeline::Timeline& timeline);

/// "9.8%".
std::string percent(double share);

/// The unit in which pictures say times: seconds of iterations, whose ns nobody reads.
base::TimeUnit shown_unit(const timeline::Timeline& timeline);

/// "ticks", "ms", ...: what follows a number of `unit`.
std::string_view plural_of(base::TimeUnit unit);

/// The least of 1, 2, 5, 10, 20, ... that is at least `least`: a step for an axis whose labels are exact.
std::int64_t round_step(double least);

/// Splits [from, to) into `columns` equal ones and names for each the bar that shows there: of the look (bar kind and
/// track) that fills most of the column, the first. -1 where no bar has any length. The bars are bars[first] ...
/// bars[last - 1].
std::vector<std::int32_t> dominant_bars(std::span<const timeline::Bar> bars, std::size_t first, std::size_t last,
                                        double from, double to, std::size_t columns);

}  // namespace dovetail::report
