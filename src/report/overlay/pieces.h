// A timeline made anew of pieces of its bars: rows divided, times turned. Private to report.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

/// A bar, a part of it, or two bars that are one.
struct Piece {
  std::size_t bar = 0;  ///< whose all else is
  base::Ticks begin;
  base::Ticks end;
  std::optional<std::size_t> second = {};  ///< the bar that goes on where `bar` ends
};

struct PieceLane {
  timeline::Lane lane;  ///< its number of bars says nothing
  std::vector<Piece> pieces;
};

/// Whether the bar is idle time.
bool is_idle_bar(const timeline::Timeline& timeline, std::size_t bar);

/// `timeline` with these lanes, without counters. Of the launches of its bar a piece has as much as it is long, two
/// bars that are one the larger of both. What leads to a bar leads to its first piece.
timeline::Timeline made_of(const timeline::Timeline& timeline, const std::vector<PieceLane>& lanes);

}  // namespace dovetail::report
