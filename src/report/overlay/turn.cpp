#include "report/overlay/turn.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "report/iteration/iteration_picture.h"
#include "report/overlay/pieces.h"
#include "report/page/chart_sections.h"
#include "simulate/trace.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using Steps = std::vector<std::pair<Ticks, double>>;

/// The pieces of the bars from `first` to before `last`, in their new order.
std::vector<Piece> turned_pieces(const Chart& chart, std::size_t first, std::size_t last, Ticks begin, Ticks stretch) {
  std::vector<Piece> pieces;
  std::vector<Piece> before;
  std::vector<Piece> behind;
  for (std::size_t number = first; number < last; ++number) {
    const ChartBar& bar = chart.bars[number];
    if (bar.begin >= stretch) {
      behind.push_back({number, bar.begin, bar.end});
      continue;
    }
    if (bar.begin < begin) before.push_back({number, bar.begin + stretch - begin, std::min(bar.end, begin) + stretch - begin});
    if (bar.begin >= begin || bar.end > begin) pieces.push_back({number, std::max(bar.begin, begin) - begin, bar.end - begin});
  }
  const bool meet = !pieces.empty() && !before.empty() && pieces.back().end == before.front().begin;
  if (meet && begin > Ticks() && is_same_work(chart, pieces.back().bar, before.front().bar)) {
    pieces.back().end = before.front().end;
    pieces.back().second = before.front().bar;
    before.erase(before.begin());
  }
  pieces.insert(pieces.end(), before.begin(), before.end());
  pieces.insert(pieces.end(), behind.begin(), behind.end());
  return pieces;
}

Steps turned_steps(const Steps& steps, Ticks begin, Ticks stretch) {
  Steps turned;
  const auto add = [&](Ticks time, double value) {
    if (turned.empty() || turned.back().second != value) turned.emplace_back(time, value);
  };
  /// From `from` to `to`, `by` later.
  const auto add_part = [&](Ticks from, std::optional<Ticks> to, Ticks by) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), from, [](Ticks time, const auto& step) { return time < step.first; });
    if (after != steps.begin()) add(from + by, std::prev(after)->second);
    for (auto step = after; step != steps.end() && (!to || step->first < *to); ++step) add(step->first + by, step->second);
  };
  add_part(begin, stretch, Ticks() - begin);
  if (begin > Ticks()) add_part(Ticks(), begin, stretch - begin);
  add_part(stretch, std::nullopt, Ticks());
  return turned;
}

}  // namespace

Ticks stretch_end(const Chart& chart) {
  const std::vector<std::size_t> first = first_bars(chart);
  std::optional<Ticks> end;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    if (first[lane] == first[lane + 1] || is_host_link_row(chart.lanes[lane].name)) continue;
    const std::size_t last = first[lane + 1] - 1;
    const Ticks begin = chart.bars[last].begin;
    const bool closes = chart.bars[last].end == chart.end && bar_title(chart, last) == name_of(simulate::Activity::hand_over);
    if (!closes || begin == Ticks() || (end && *end != begin)) return chart.end;
    end = begin;
  }
  return end.value_or(chart.end);
}

Chart turned(const Chart& chart, Ticks begin) {
  const Ticks stretch = stretch_end(chart);
  const std::vector<std::size_t> first = first_bars(chart);
  std::vector<PieceLane> lanes;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane)
    lanes.push_back({chart.lanes[lane], turned_pieces(chart, first[lane], first[lane + 1], begin, stretch)});
  Chart result = made_of(chart, lanes);
  for (const Curve& curve : chart.curves) result.curves.push_back({curve.lane, turned_steps(curve.steps, begin, stretch), curve.capacity});
  return result;
}

bool is_same_work(const Chart& chart, std::size_t bar, std::size_t other) {
  const auto is_same = [&](const Field& field) { return field.kind == Field::Kind::time || field.values[bar] == field.values[other]; };
  return chart.bars[bar].category == chart.bars[other].category && std::all_of(chart.fields.begin(), chart.fields.end(), is_same);
}

Chart delayed(Chart chart, Ticks by) {
  chart.end += by;
  for (ChartBar& bar : chart.bars) {
    bar.begin += by;
    bar.end += by;
  }
  for (Curve& curve : chart.curves)
    for (auto& step : curve.steps) step.first += by;
  return chart;
}

}  // namespace dovetail::report
