#include "report/overlay/pieces.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dovetail::report {

using timeline::Arrow;
using timeline::Bar;
using timeline::Timeline;

namespace {

Bar bar_of(const Timeline& timeline, const Piece& piece) {
  Bar bar = timeline.bars[piece.bar];
  const base::Ticks second = piece.second ? timeline.bars[*piece.second].launch : base::Ticks();
  bar.launch = std::min(std::max(bar.launch, second), piece.end - piece.begin);
  bar.begin = piece.begin;
  bar.end = piece.end;
  return bar;
}

}  // namespace

bool is_idle_bar(const Timeline& timeline, std::size_t bar) { return is_idle(timeline.bars[bar].bar_kind); }

Timeline made_of(const Timeline& timeline, const std::vector<PieceLane>& lanes) {
  Timeline made = timeline;
  made.lanes.clear();
  made.bars.clear();
  made.counters.clear();
  std::vector<std::int32_t> number(timeline.bars.size(), -1);  // [bar of timeline] its first piece
  for (const PieceLane& lane : lanes) {
    made.lanes.push_back(lane.lane);
    made.lanes.back().bars = lane.pieces.size();
    for (const Piece& piece : lane.pieces) {
      for (const std::optional<std::size_t>& of : {std::optional(piece.bar), piece.second})
        if (of && number[*of] < 0) number[*of] = static_cast<std::int32_t>(made.bars.size());
      made.bars.push_back(bar_of(timeline, piece));
    }
  }
  for (Bar& bar : made.bars) bar.awaits = bar.awaits < 0 ? -1 : number[static_cast<std::size_t>(bar.awaits)];
  for (Arrow& arrow : made.arrows)
    arrow = {number[static_cast<std::size_t>(arrow.from)], number[static_cast<std::size_t>(arrow.to)]};
  return made;
}

}  // namespace dovetail::report
