#include "report/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "report/amounts.h"
#include "report/chart_sections.h"
#include "report/overlay_chart.h"
#include "report/text.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using base::TimeUnit;

constexpr std::size_t most_listed = 50;
constexpr std::int64_t ticks_of_a_tick = 1000;

/// [lane] the number of its first bar; the last entry is the number of bars.
std::vector<std::size_t> first_bars(const Chart& chart) {
  std::vector<std::size_t> first{0};
  for (const ChartLane& lane : chart.lanes) first.push_back(first.back() + lane.bars);
  return first;
}

bool is_idle(const Chart& chart, std::size_t bar) { return chart.categories[static_cast<std::size_t>(chart.bars[bar].category)].idle; }

Ticks length_of(const ChartBar& bar) { return bar.end - bar.begin; }

/// Its work bars and their sum.
struct LaneUse {
  std::size_t bars = 0;
  Ticks busy;
  Ticks end;
};

LaneUse use_of(const Chart& chart, std::size_t lane, const std::vector<std::size_t>& first) {
  LaneUse use;
  for (std::size_t bar = first[lane]; bar < first[lane + 1]; ++bar) {
    if (is_idle(chart, bar)) continue;
    ++use.bars;
    use.busy += length_of(chart.bars[bar]);
    use.end = std::max(use.end, chart.bars[bar].end);
  }
  return use;
}

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

/// Seconds in three digits or so where ticks are ns: a bar says exactly what it takes.
std::string brief_time(Ticks time, TimeUnit unit) { return unit == TimeUnit::ns ? seconds_text(seconds_of(time)) : time_text(time, unit); }

std::string signed_time(Ticks change, TimeUnit unit) {
  if (change < Ticks()) return "-" + brief_time(Ticks() - change, unit);
  return change == Ticks() ? brief_time(change, unit) : "+" + brief_time(change, unit);
}

std::string change_text(Ticks from, Ticks to, TimeUnit unit) {
  std::string change = signed_time(to - from, unit);
  if (from == Ticks() || to == from) return change;
  return fmt::format("{} ({:+.1f}%)", change, 100 * (static_cast<double>(to.count()) / static_cast<double>(from.count()) - 1));
}

Table lane_table(const NamedChart& a, const NamedChart& b, const std::vector<LanePair>& lanes, const std::vector<BarPair>& bars) {
  const TimeUnit unit = a.chart.time_unit;
  Table table;
  table.title = "Differences by lane";
  table.note = fmt::format("A is {}, B is {}. Busy is the time of work, without idle time.", a.name, b.name);
  table.columns = {{"lane"},         {"busy A", true},  {"busy B", true},    {"change", true},   {"last end A", true}, {"last end B", true},
                   {"change", true}, {"in both", true}, {"only in A", true}, {"only in B", true}};
  const std::vector<std::size_t> first_a = first_bars(a.chart);
  const std::vector<std::size_t> first_b = first_bars(b.chart);
  for (const LanePair& lane : lanes) {
    const LaneUse use_a = use_of(a.chart, lane.a, first_a);
    const LaneUse use_b = use_of(b.chart, lane.b, first_b);
    const auto is_here = [&](const BarPair& pair) { return pair.a >= first_a[lane.a] && pair.a < first_a[lane.a + 1]; };
    const auto both = static_cast<std::size_t>(std::count_if(bars.begin(), bars.end(), is_here));
    table.rows.push_back({a.chart.lanes[lane.a].name, brief_time(use_a.busy, unit), brief_time(use_b.busy, unit),
                          change_text(use_a.busy, use_b.busy, unit), brief_time(use_a.end, unit), brief_time(use_b.end, unit),
                          change_text(use_a.end, use_b.end, unit), std::to_string(both), std::to_string(use_a.bars - both),
                          std::to_string(use_b.bars - both)});
  }
  return table;
}

/// How far apart the two are: the larger of the changes of start and of length.
Ticks distance(const Chart& a, const Chart& b, const BarPair& pair) {
  const auto absolute = [](Ticks time) { return Ticks(std::abs(time.count())); };
  const ChartBar& one = a.bars[pair.a];
  const ChartBar& other = b.bars[pair.b];
  return std::max(absolute(other.begin - one.begin), absolute(length_of(other) - length_of(one)));
}

Table bar_table(const NamedChart& a, const NamedChart& b, std::vector<BarPair> pairs, const std::vector<std::int32_t>& number_of_a) {
  const TimeUnit unit = a.chart.time_unit;
  std::erase_if(pairs, [&](const BarPair& pair) { return distance(a.chart, b.chart, pair) == Ticks(); });
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const BarPair& x, const BarPair& y) { return distance(a.chart, b.chart, x) > distance(a.chart, b.chart, y); });
  Table table;
  table.title = "Differences by bar";
  table.note = pairs.size() > most_listed ? fmt::format("The {} largest of {}; a row leads to its bar.", most_listed, pairs.size())
               : pairs.empty()            ? "No bar that is in both differs."
                                          : "The largest first; a row leads to its bar.";
  table.columns = {{"bar"},          {"lane"},          {"start A", true}, {"start B", true},
                   {"change", true}, {"lasts A", true}, {"lasts B", true}, {"change", true}};
  pairs.resize(std::min(pairs.size(), most_listed));
  const std::vector<std::size_t> first = first_bars(a.chart);
  for (const BarPair& pair : pairs) {
    const ChartBar& one = a.chart.bars[pair.a];
    const ChartBar& other = b.chart.bars[pair.b];
    const auto lane = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), pair.a) - first.begin()) - 1;
    table.rows.push_back({bar_title(a.chart, pair.a), a.chart.lanes[lane].name, brief_time(one.begin, unit), brief_time(other.begin, unit),
                          signed_time(other.begin - one.begin, unit), brief_time(length_of(one), unit), brief_time(length_of(other), unit),
                          signed_time(length_of(other) - length_of(one), unit)});
    table.bars.push_back(number_of_a[pair.a]);
  }
  return table;
}

std::vector<Figure> figures_of(const NamedChart& a, const NamedChart& b, const std::vector<BarPair>& pairs) {
  const TimeUnit unit = a.chart.time_unit;
  Ticks moved;
  for (const BarPair& pair : pairs) moved = std::max(moved, distance(a.chart, b.chart, pair));
  return {{"A lasts", brief_time(a.chart.end, unit), a.name},
          {"B lasts", brief_time(b.chart.end, unit), b.name},
          {"B against A", change_text(a.chart.end, b.chart.end, unit), ""},
          {"bars in both", std::to_string(pairs.size()), fmt::format("the largest difference is {}", brief_time(moved, unit))}};
}

}  // namespace

std::vector<LanePair> pair_lanes(const Chart& a, const Chart& b) {
  std::map<std::string_view, std::vector<std::size_t>> of_name;
  for (std::size_t lane = b.lanes.size(); lane > 0; --lane) of_name[b.lanes[lane - 1].name].push_back(lane - 1);
  std::vector<LanePair> pairs;
  for (std::size_t lane = 0; lane < a.lanes.size(); ++lane) {
    const auto same = of_name.find(a.lanes[lane].name);
    if (same == of_name.end() || same->second.empty()) continue;
    pairs.push_back({lane, same->second.back()});
    same->second.pop_back();
  }
  if (!pairs.empty() || a.lanes.size() != b.lanes.size()) return pairs;
  for (std::size_t lane = 0; lane < a.lanes.size(); ++lane) pairs.push_back({lane, lane});
  return pairs;
}

std::vector<BarPair> pair_bars(const Chart& a, const Chart& b, const std::vector<LanePair>& lanes) {
  const std::vector<std::size_t> first_a = first_bars(a);
  const std::vector<std::size_t> first_b = first_bars(b);
  std::vector<BarPair> pairs;
  for (const LanePair& lane : lanes) {
    std::map<std::string, std::vector<std::size_t>> of_title;  // the latest first
    for (std::size_t bar = first_b[lane.b + 1]; bar > first_b[lane.b]; --bar) {
      if (!is_idle(b, bar - 1)) of_title[bar_title(b, bar - 1)].push_back(bar - 1);
    }
    for (std::size_t bar = first_a[lane.a]; bar < first_a[lane.a + 1]; ++bar) {
      if (is_idle(a, bar)) continue;
      const auto same = of_title.find(bar_title(a, bar));
      if (same == of_title.end() || same->second.empty()) continue;
      pairs.push_back({bar, same->second.back()});
      same->second.pop_back();
    }
  }
  return pairs;
}

Page overlay_page(NamedChart a, NamedChart b, std::string title) {
  const bool a_in_ticks = a.chart.time_unit == TimeUnit::tick;
  const bool mixed = a_in_ticks != (b.chart.time_unit == TimeUnit::tick);
  if (mixed) to_nanoseconds(a_in_ticks ? a.chart : b.chart);
  const std::vector<LanePair> lanes = pair_lanes(a.chart, b.chart);
  const std::vector<BarPair> bars = pair_bars(a.chart, b.chart, lanes);
  OverlayChart joined = overlay_chart(a.chart, b.chart, lanes, bars);
  joined.chart.note = fmt::format("Of two rows that stand close together the upper one is A, {}, the lower one B, {}.{}", a.name, b.name,
                                  mixed ? " A tick is shown as a microsecond." : "");
  Page page;
  page.title = std::move(title);
  page.subtitle = fmt::format("Two timelines over each other: A, {}, and B, {}.", a.name, b.name);
  page.figures = figures_of(a, b, bars);
  Table differences = bar_table(a, b, bars, joined.number_of_a);
  page.sections.push_back(std::move(joined.chart));
  page.sections.push_back(lane_table(a, b, lanes, bars));
  page.sections.insert(page.sections.begin() + 1, std::move(differences));
  return page;
}

}  // namespace dovetail::report
