#include "report/overlay/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "report/overlay/alignment.h"
#include "report/overlay/chart.h"
#include "report/overlay/kinds.h"
#include "report/overlay/rows.h"
#include "report/overlay/tables.h"
#include "report/overlay/turn.h"
#include "report/overlay/words.h"
#include "report/schedule/trace_page.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using base::TimeUnit;

constexpr std::int64_t ticks_of_a_tick = 1000;

/// All times of a chart in ticks as ns, a tick for a microsecond.
void to_nanoseconds(Chart& chart) {
  const auto convert = [](Ticks& time) { time = Ticks(time.count() * ticks_of_a_tick); };
  convert(chart.end);
  for (ChartBar& bar : chart.bars) {
    convert(bar.begin);
    convert(bar.end);
  }
  for (Curve& curve : chart.curves) {
    for (auto& step : curve.steps) convert(step.first);
  }
  for (Field& field : chart.fields) {
    if (field.kind != Field::Kind::time) continue;
    for (std::int64_t& value : field.values) value = value < 0 ? value : value * ticks_of_a_tick;
  }
  chart.time_unit = TimeUnit::us;
}

/// Gives both one unit; whether one was in ticks and the other was not.
bool unify_units(Chart& a, Chart& b) {
  const bool a_in_ticks = a.time_unit == TimeUnit::tick;
  const bool mixed = a_in_ticks != (b.time_unit == TimeUnit::tick);
  if (mixed) to_nanoseconds(a_in_ticks ? a : b);
  if (a.time_unit == TimeUnit::ns || b.time_unit == TimeUnit::ns) a.time_unit = b.time_unit = TimeUnit::ns;
  return mixed;
}

/// What is known better on one side, on both.
void unify_kinds(NamedChart& a, NamedChart& b) {
  if (b.guessed)
    b.chart = with_kinds_of(b.chart, a.chart);
  else if (a.guessed)
    a.chart = with_kinds_of(a.chart, b.chart);
}

void divide_both(Chart& a, Chart& b) {
  Chart divided = divide_rows(a, b);
  b = divide_rows(b, a);
  a = std::move(divided);
}

std::array<ChartSteps, 2> steps_of(const NamedChart& a, const NamedChart& b) {
  return {steps_of(a.chart, a.beginning == Beginning::repeats), steps_of(b.chart, b.beginning == Beginning::repeats)};
}

std::vector<Figure> figures_of(const Overlay& overlay) {
  const Chart& a = overlay.a.chart;
  const Chart& b = overlay.b.chart;
  const Ticks ends[2] = {a.end - overlay.delayed[0], b.end - overlay.delayed[1]};
  Ticks moved;
  for (const BarPair& pair : overlay.bars) moved = std::max(moved, distance(overlay, pair));
  return {{"A lasts", brief_time(ends[0], a.time_unit), overlay.a.name},
          {"B lasts", brief_time(ends[1], a.time_unit), overlay.b.name},
          {"B against A", change_text(ends[0], ends[1], a.time_unit), ""},
          {"bars in both", std::to_string(overlay.bars.size()),
           overlay.bars.empty() ? "" : fmt::format("the largest difference is {}", brief_time(moved, a.time_unit))}};
}

std::string note_of(const Overlay& overlay, bool mixed, const std::string& alignment) {
  std::string note = fmt::format("Of two rows that stand close together the upper one is A, {}, the lower one B, {}.{}", overlay.a.name,
                                 overlay.b.name, alignment);
  if (mixed) note += " A tick is shown as a microsecond.";
  const auto is_other = [&](const LanePair& pair) { return overlay.a.chart.lanes[pair.a].name != overlay.b.chart.lanes[pair.b].name; };
  if (std::any_of(overlay.lanes.begin(), overlay.lanes.end(), is_other))
    note += " No row of A has the name of one of B: they are put together in their order.";
  return note;
}

}  // namespace

NamedChart named_trace(const timeline::ChromeTrace& trace, std::string name) {
  const auto about = [&](std::string_view key) {
    const auto found = trace.about.find(key);
    return found == trace.about.end() ? std::string() : found->second;
  };
  const bool own = about("generator") == "dovetail";
  const bool is_schedule = own && trace.about.contains("makespan");
  const bool repeats = own && about("repeats") == "true";
  Chart chart = trace_chart(trace, name);
  if (own && about("time_unit") == base::name_of(TimeUnit::ns)) chart.time_unit = TimeUnit::ns;
  return {std::move(name), std::move(chart), is_schedule ? Beginning::fixed : repeats ? Beginning::repeats : Beginning::unknown, true};
}

Page overlay_page(NamedChart a, NamedChart b, std::string title) {
  const bool mixed = unify_units(a.chart, b.chart);
  divide_both(a.chart, b.chart);
  unify_kinds(a, b);
  const Alignment alignment = align(a, b, steps_of(a, b));
  if (alignment.turned[0] > Ticks()) a.chart = turned(a.chart, alignment.turned[0]);
  if (alignment.turned[1] > Ticks()) b.chart = turned(b.chart, alignment.turned[1]);
  Overlay overlay{a, b, steps_of(a, b), alignment.delayed, pair_lanes(a.chart, b.chart), {}};
  overlay.bars = pair_bars(a.chart, b.chart, overlay.steps, overlay.lanes);
  a.chart = delayed(std::move(a.chart), alignment.delayed[0]);
  b.chart = delayed(std::move(b.chart), alignment.delayed[1]);
  OverlayChart joined = overlay_chart(a.chart, b.chart, overlay.lanes, overlay.bars);
  joined.chart.note = note_of(overlay, mixed, alignment_note(alignment, a, b));
  Page page;
  page.title = std::move(title);
  page.subtitle = fmt::format("Two timelines over each other: A, {}, and B, {}.", a.name, b.name);
  page.figures = figures_of(overlay);
  Table bars = bar_differences(overlay, joined.number_of_a);
  page.sections.emplace_back(std::move(joined.chart));
  page.sections.emplace_back(std::move(bars));
  if (Table steps = step_differences(overlay); !steps.rows.empty()) page.sections.emplace_back(std::move(steps));
  page.sections.emplace_back(lane_differences(overlay));
  return page;
}

}  // namespace dovetail::report
