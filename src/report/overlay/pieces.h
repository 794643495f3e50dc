// A chart made anew of pieces of its bars: rows divided, times turned. Private to report.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

/// A bar, a part of it, or two bars that are one.
struct Piece {
  std::size_t bar = 0;  ///< whose category and fields it has
  base::Ticks begin;
  base::Ticks end;
  std::optional<std::size_t> second = {};  ///< the bar that goes on where `bar` ends
};

struct PieceLane {
  ChartLane lane;  ///< its number of bars says nothing
  std::vector<Piece> pieces;
};

/// [lane] the number of its first bar; the last entry is the number of bars.
std::vector<std::size_t> first_bars(const Chart& chart);

/// Whether the bar is idle time.
bool is_idle_bar(const Chart& chart, std::size_t bar);

/// `chart` with these lanes, without curves. Of a time that is a field (a part of its bar) a piece has as much as it is long, two bars that
/// are one the larger of both. What leads to a bar leads to its first piece.
Chart made_of(const Chart& chart, const std::vector<PieceLane>& lanes);

}  // namespace dovetail::report
