#include "report/schedule/trace_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "report/page/chart_sections.h"
#include "report/page/inks.h"
#include "report/words/text.h"

namespace dovetail::report {
namespace {

using timeline::ChromeTrace;
using timeline::TraceLane;
using timeline::TraceSlice;

constexpr std::size_t most_named = 14;
constexpr Ink other_ink{{0x8A, 0x93, 0xA3}, {0x77, 0x82, 0x93}};

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

/// `name` with each number in it as an ellipsis.
std::string without_numbers(std::string_view name) {
  std::string pattern;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) {
      pattern += name[i];
    } else if (i == 0 || !is_digit(name[i - 1])) {
      pattern += "…";
    }
  }
  return pattern;
}

/// Slices that share a colour: alike but for numbers, and alike in being idle.
struct Group {
  std::string name;
  bool idle = false;
  base::Ticks time;
  bool one_name = true;
  std::int32_t first_name = -1;
  std::int32_t category = -1;  ///< in the chart
};

class Grouping {
 public:
  explicit Grouping(const ChromeTrace& trace) : trace_(trace) {
    for (const TraceLane& lane : trace.lanes) {
      for (const TraceSlice& slice : lane.slices) add(slice);
    }
  }

  /// The categories of the groups with the most time; the others share the last one.
  std::vector<Category> categories() {
    std::vector<std::size_t> order(groups_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return groups_[a].time > groups_[b].time; });
    std::vector<Category> categories;
    std::size_t work = 0;
    std::size_t idle = 0;
    for (std::size_t i = 0; i < std::min(order.size(), most_named); ++i) {
      Group& group = groups_[order[i]];
      group.category = static_cast<std::int32_t>(categories.size());
      const Ink ink = group.idle ? idle_ink(idle++) : plain_ink(work++);
      const std::string& own = trace_.names[static_cast<std::size_t>(group.first_name)];
      categories.push_back({group.one_name ? own : group.name, "{name}", group.idle ? "" : "{name}", ink, group.idle});
    }
    share_rest(categories, {"other", "{name}", "{name}", other_ink, false});
    share_rest(categories, {"other idle time", "{name}", "", idle_ink(idle), true});
    return categories;
  }

  /// REQUIRES: categories() was called.
  std::int32_t category_of(const TraceSlice& slice) const { return groups_[group_of_.at({slice.name, is_idle(slice)})].category; }

 private:
  /// Groups without a category, idle as `rest` is, get that one.
  void share_rest(std::vector<Category>& categories, Category rest) {
    const auto number = static_cast<std::int32_t>(categories.size());
    const auto is_left = [&](const Group& group) { return group.category < 0 && group.idle == rest.idle; };
    if (std::none_of(groups_.begin(), groups_.end(), is_left)) return;
    for (Group& group : groups_)
      if (is_left(group)) group.category = number;
    categories.push_back(std::move(rest));
  }

  bool is_idle(const TraceSlice& slice) const {
    return trace_.categories[static_cast<std::size_t>(slice.category)] == timeline::idle_category;
  }

  void add(const TraceSlice& slice) {
    const std::pair key(slice.name, is_idle(slice));
    if (const auto known = group_of_.find(key); known != group_of_.end()) {
      groups_[known->second].time += slice.end - slice.begin;
      return;
    }
    const std::string pattern = without_numbers(trace_.names[static_cast<std::size_t>(slice.name)]);
    const auto [place, added] = number_.try_emplace({pattern, key.second}, groups_.size());
    if (added) groups_.push_back({pattern, key.second, {}, true, slice.name, -1});
    Group& group = groups_[place->second];
    group.one_name = group.one_name && group.first_name == slice.name;
    group.time += slice.end - slice.begin;
    group_of_[key] = place->second;
  }

  const ChromeTrace& trace_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, bool>, std::size_t> number_;     // by (pattern, idle)
  std::map<std::pair<std::int32_t, bool>, std::size_t> group_of_;  // by (name, idle)
};

void add_curves(Chart& chart, const ChromeTrace& trace) {
  if (trace.counters.empty()) return;
  chart.curve_name = trace.counters.front().name;
  if (trace.counters.front().key == "bytes") chart.curve_unit = "bytes";
  for (const timeline::TraceCounter& counter : trace.counters) {
    const bool has_one =
        std::any_of(chart.curves.begin(), chart.curves.end(), [&](const Curve& curve) { return curve.lane == counter.lane; });
    if (counter.name == chart.curve_name && !has_one) chart.curves.push_back({counter.lane, counter.values});
  }
}

}  // namespace

Chart trace_chart(const ChromeTrace& trace, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.time_unit = base::TimeUnit::us;
  chart.end = trace.end;
  chart.fields = {{"name", Field::Kind::text, trace.names}, {"category", Field::Kind::text, trace.categories}};
  Grouping grouping(trace);
  chart.categories = grouping.categories();
  for (const TraceLane& lane : trace.lanes) {
    chart.lanes.push_back(
        {lane.level == 0 ? lane.name : fmt::format("{} ▸ {}", lane.name, lane.level), lane.slices.size(), lane.level > 0});
    for (const TraceSlice& slice : lane.slices) {
      chart.bars.push_back({slice.begin, slice.end, grouping.category_of(slice)});
      chart.fields[0].values.push_back(slice.name);
      chart.fields[1].values.push_back(trace.categories[static_cast<std::size_t>(slice.category)].empty() ? -1 : slice.category);
    }
  }
  add_curves(chart, trace);
  return chart;
}

Page trace_page(const ChromeTrace& trace, std::string title) {
  Page page;
  page.title = std::move(title);
  page.subtitle = "A Chrome trace.";
  Chart chart = trace_chart(trace, "Timeline");
  page.figures.push_back({"lasts", time_text(trace.end, chart.time_unit), ""});
  page.figures.push_back({"slices", fmt::format("{}", chart.bars.size()),
                          fmt::format("in {}", counted(static_cast<std::int64_t>(chart.lanes.size()), "row"))});
  Breakdown breakdown = time_breakdown(chart);
  breakdown.note = "Time of the slices of each row. What runs within another slice counts in its own row as well.";
  page.sections.push_back(std::move(chart));
  page.sections.push_back(std::move(breakdown));
  return page;
}

}  // namespace dovetail::report
