#include "report/overlay/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dovetail::report {
namespace {

/// Puts lanes of two charts into one, lane by lane, and remembers where each bar went.
class Joiner {
 public:
  Joiner(const Chart& a, const Chart& b) : charts_{&a, &b} {
    joined_.title = "Timelines";
    joined_.lane_noun = a.lane_noun;
    joined_.time_unit = a.time_unit;
    joined_.end = std::max(a.end, b.end);
    joined_.curve_name = a.curves.empty() ? b.curve_name : a.curve_name;
    // Counters of traces have no unit.
    const bool from_b = a.curves.empty() || (a.curve_unit.empty() && a.curve_name == b.curve_name);
    joined_.curve_unit = from_b ? b.curve_unit : a.curve_unit;
    for (std::size_t side = 0; side < 2; ++side) {
      number_[side].assign(charts_[side]->bars.size(), -1);
      for (const Category& category : charts_[side]->categories) category_[side].push_back(category_number(category));
      for (const Field& field : charts_[side]->fields) field_[side].push_back(field_number(field));
      std::size_t first = 0;
      for (const ChartLane& lane : charts_[side]->lanes) {
        first_[side].push_back(first);
        first += lane.bars;
      }
    }
  }

  void add_lane(std::size_t side, std::size_t lane, bool joined) {
    const ChartLane& from = charts_[side]->lanes[lane];
    const std::size_t added = joined_.lanes.size();
    joined_.lanes.push_back({fmt::format("{} · {}", from.name, side == 0 ? "A" : "B"), from.bars, joined});
    for (std::size_t bar = first_[side][lane]; bar < first_[side][lane] + from.bars; ++bar) add_bar(side, bar);
    for (const Curve& curve : charts_[side]->curves) {
      const bool comparable = charts_[side]->curve_unit == joined_.curve_unit || charts_[side]->curve_name == joined_.curve_name;
      if (curve.lane == lane && comparable) joined_.curves.push_back({added, curve.steps, curve.capacity});
    }
  }

  OverlayChart finish(const std::vector<BarPair>& pairs) && {
    for (std::size_t side = 0; side < 2; ++side) resolve(side);
    for (const BarPair& pair : pairs) {
      joined_.bars[static_cast<std::size_t>(number_[0][pair.a])].partner = number_[1][pair.b];
      joined_.bars[static_cast<std::size_t>(number_[1][pair.b])].partner = number_[0][pair.a];
    }
    return {std::move(joined_), std::move(number_[0])};
  }

 private:
  std::int32_t category_number(const Category& category) {
    auto& all = joined_.categories;
    const auto same = [&](const Category& other) {
      return other.name == category.name && other.idle == category.idle && other.bar_title == category.bar_title;
    };
    const auto known = std::find_if(all.begin(), all.end(), same);
    if (known != all.end()) return static_cast<std::int32_t>(known - all.begin());
    all.push_back(category);
    return static_cast<std::int32_t>(all.size() - 1);
  }

  std::size_t field_number(const Field& field) {
    auto& all = joined_.fields;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Field& other) { return other.name == field.name && other.kind == field.kind; });
    if (known != all.end()) return static_cast<std::size_t>(known - all.begin());
    all.push_back({field.name, field.kind});
    return all.size() - 1;
  }

  void add_bar(std::size_t side, std::size_t bar) {
    number_[side][bar] = static_cast<std::int32_t>(joined_.bars.size());
    ChartBar added = charts_[side]->bars[bar];
    added.category = category_[side][static_cast<std::size_t>(added.category)];
    joined_.bars.push_back(added);
    side_.push_back(side);
    for (Field& field : joined_.fields) field.values.push_back(-1);
    for (std::size_t i = 0; i < field_[side].size(); ++i) {
      joined_.fields[field_[side][i]].values.back() = charts_[side]->fields[i].values[bar];
    }
  }

  /// Numbers of bars, and of texts, in terms of the joined chart.
  void resolve(std::size_t side) {
    const Chart& chart = *charts_[side];
    const auto number = [&](std::int32_t bar) { return bar < 0 ? -1 : number_[side][static_cast<std::size_t>(bar)]; };
    for (std::size_t i = 0; i < chart.fields.size(); ++i) {
      Field& field = joined_.fields[field_[side][i]];
      const auto offset = static_cast<std::int64_t>(field.texts.size());
      field.texts.insert(field.texts.end(), chart.fields[i].texts.begin(), chart.fields[i].texts.end());
      for (std::size_t bar = 0; bar < field.values.size() && offset > 0; ++bar) {
        if (side_[bar] == side && field.values[bar] >= 0) field.values[bar] += offset;
      }
    }
    for (std::size_t bar = 0; bar < joined_.bars.size(); ++bar) {
      if (side_[bar] == side) joined_.bars[bar].awaits = number(joined_.bars[bar].awaits);
    }
    for (const ChartArrow& arrow : chart.arrows) joined_.arrows.push_back({number(arrow.from), number(arrow.to)});
  }

  const Chart* charts_[2];
  std::vector<std::int32_t> category_[2];  // [category of the side] in joined_
  std::vector<std::size_t> field_[2];      // [field of the side] in joined_
  std::vector<std::size_t> first_[2];      // [lane of the side] its first bar there
  std::vector<std::int32_t> number_[2];    // [bar of the side] in joined_
  std::vector<std::size_t> side_;          // [bar of joined_]
  Chart joined_;
};

}  // namespace

OverlayChart overlay_chart(const Chart& a, const Chart& b, const std::vector<LanePair>& lanes, const std::vector<BarPair>& bars) {
  Joiner joiner(a, b);
  for (std::size_t lane = 0; lane < a.lanes.size(); ++lane) {
    joiner.add_lane(0, lane, a.lanes[lane].joined);
    const auto pair = std::find_if(lanes.begin(), lanes.end(), [&](const LanePair& of) { return of.a == lane; });
    if (pair != lanes.end()) joiner.add_lane(1, pair->b, true);
  }
  for (std::size_t lane = 0; lane < b.lanes.size(); ++lane) {
    const bool is_paired = std::any_of(lanes.begin(), lanes.end(), [&](const LanePair& of) { return of.b == lane; });
    if (!is_paired) joiner.add_lane(1, lane, b.lanes[lane].joined);
  }
  return std::move(joiner).finish(bars);
}

}  // namespace dovetail::report
