// What captions say of a timeline, and which bars show where many share a place. For drawing only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

/// How many kinds of bars are work; they come first in BarKind.
inline constexpr std::size_t work_kinds = pipeline::op_kinds;
/// The other kinds of bars, in the order of BarKind.
inline constexpr std::array<timeline::BarKind, 5> idle_kinds{timeline::BarKind::warm_up, timeline::BarKind::dependency,
                                                             timeline::BarKind::transfer, timeline::BarKind::delay,
                                                             timeline::BarKind::drain};

struct Summary {
  std::int64_t ops = 0;
  std::array<double, timeline::bar_kinds> share{};  ///< of lanes x end, by kind of bar
  double idle_share = 0;                            ///< the bubbles: all idle kinds together
  std::vector<base::Memory> peaks;                  ///< [lane]
  std::size_t fullest_lane = 0;                     ///< the first with the largest peak
  base::Ticks peak_time;                            ///< when it first has it
  std::vector<std::array<bool, work_kinds>> drawn;  ///< [track] which kinds of work it has that take time
  std::vector<std::size_t> label_digits;            ///< [track] of its largest micro-batch: bars that are alike have numbers, or none
  bool has_memory = false;                          ///< whether any lane holds any
};
Summary summarize(const timeline::Timeline& timeline);

/// "9.8%".
std::string percent(double share);

/// "ticks", "ms", ...: what follows a number of `unit`.
std::string_view plural_of(base::TimeUnit unit);

/// The least of 1, 2, 5, 10, 20, ... that is at least `least`: a step for an axis whose labels are exact.
std::int64_t round_step(double least);

/// "F7 of actor, stage 3": a work bar in words, with the track's name as it is.
std::string describe(const timeline::Timeline& timeline, const timeline::Bar& bar);

/// Of a work bar: the letter of its ops.
char letter_of(timeline::BarKind kind);

/// Splits [from, to) into `columns` equal ones and names for each the bar that shows there: of the look (kind and track) that fills
/// most of the column, the first. -1 where no bar has any length. The bars are bars[first] ... bars[last - 1].
std::vector<std::int32_t> dominant_bars(const std::vector<timeline::Bar>& bars, std::size_t first, std::size_t last, double from, double to,
                                        std::size_t columns);

}  // namespace dovetail::report
