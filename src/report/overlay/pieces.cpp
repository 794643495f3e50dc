#include "report/overlay/pieces.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dovetail::report {
namespace {

std::int64_t value_of(const Field& field, const Piece& piece) {
  const std::int64_t value = field.values[piece.bar];
  if (field.kind != Field::Kind::time) return value;
  const std::int64_t second = piece.second ? field.values[*piece.second] : -1;
  return std::min(std::max(value, second), (piece.end - piece.begin).count());
}

}  // namespace

std::vector<std::size_t> first_bars(const Chart& chart) {
  std::vector<std::size_t> first{0};
  for (const ChartLane& lane : chart.lanes) first.push_back(first.back() + lane.bars);
  return first;
}

bool is_idle_bar(const Chart& chart, std::size_t bar) { return chart.categories[static_cast<std::size_t>(chart.bars[bar].category)].idle; }

Chart made_of(const Chart& chart, const std::vector<PieceLane>& lanes) {
  Chart made = chart;
  made.lanes.clear();
  made.bars.clear();
  made.curves.clear();
  for (Field& field : made.fields) field.values.clear();
  std::vector<std::int32_t> number(chart.bars.size(), -1);  // [bar of chart] its first piece
  for (const PieceLane& lane : lanes) {
    made.lanes.push_back(lane.lane);
    made.lanes.back().bars = lane.pieces.size();
    for (const Piece& piece : lane.pieces) {
      for (const std::optional<std::size_t>& of : {std::optional(piece.bar), piece.second})
        if (of && number[*of] < 0) number[*of] = static_cast<std::int32_t>(made.bars.size());
      made.bars.push_back(chart.bars[piece.bar]);
      made.bars.back().begin = piece.begin;
      made.bars.back().end = piece.end;
      for (std::size_t field = 0; field < made.fields.size(); ++field)
        made.fields[field].values.push_back(value_of(chart.fields[field], piece));
    }
  }
  for (ChartBar& bar : made.bars) bar.awaits = bar.awaits < 0 ? -1 : number[static_cast<std::size_t>(bar.awaits)];
  for (ChartArrow& arrow : made.arrows) arrow = {number[static_cast<std::size_t>(arrow.from)], number[static_cast<std::size_t>(arrow.to)]};
  return made;
}

}  // namespace dovetail::report
