#include "report/overlay/pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "report/overlay/rotation.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Timeline;

/// A bar, with its continuation if the end of the repeating part cuts it.
struct WholeBar {
  Ticks begin;  ///< see begin_of
  std::size_t bar = 0;
  std::optional<std::size_t> rest = {};
};

/// Returns both parts of the bar that the end of the repeating part cuts, or nullopt if this lane has no such bar.
std::optional<std::pair<std::size_t, std::size_t>> cut_bar(const Timeline& timeline,
                                                           const TimelineActivities& activities, std::size_t first,
                                                           std::size_t end) {
  if (!activities.cycle || first == end || timeline.bars[first].begin > Ticks()) return std::nullopt;
  for (std::size_t bar = end; bar > first + 1; --bar) {
    if (timeline.bars[bar - 1].end > *activities.cycle) continue;
    const bool continues = timeline.bars[bar - 1].end == *activities.cycle && is_same_work(timeline, bar - 1, first);
    return continues ? std::optional(std::pair(bar - 1, first)) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns the work bars of a lane by title, in order of start.
std::map<std::string, std::vector<WholeBar>> work_of(const Timeline& timeline, const TimelineActivities& activities,
                                                     std::size_t first, std::size_t end) {
  std::map<std::string, std::vector<WholeBar>> work;
  const auto cut = cut_bar(timeline, activities, first, end);
  for (std::size_t bar = first; bar < end; ++bar) {
    if (is_idle_bar(timeline, bar) || (cut && bar == cut->second)) continue;
    WholeBar whole{begin_of(activities, bar, timeline.bars[bar].begin), bar};
    if (cut && bar == cut->first) whole.rest = cut->second;
    work[title_of(timeline, timeline.bars[bar])].push_back(whole);
  }
  for (auto& [title, bars] : work)
    std::stable_sort(bars.begin(), bars.end(), [](const WholeBar& a, const WholeBar& b) { return a.begin < b.begin; });
  return work;
}

using timeline::Bar;
using timeline::Counter;
using timeline::Lane;
using timeline::Timeline;
using timeline::Track;

/// Merges the elements of two timelines into one list. Elements with the same key become one.
template <class Key, class Element>
class Merged {
 public:
  explicit Merged(std::vector<Element>& elements) : elements_(elements) {}

  /// Returns [index in `elements`] index in the merged list.
  template <class KeyOf>
  std::vector<std::int32_t> add(const std::vector<Element>& elements, KeyOf key_of) {
    std::vector<std::int32_t> numbers;
    for (const Element& element : elements) {
      const auto [place, added] = number_.try_emplace(key_of(element), static_cast<std::int32_t>(elements_.size()));
      if (added) elements_.push_back(element);
      numbers.push_back(place->second);
    }
    return numbers;
  }

 private:
  std::vector<Element>& elements_;
  std::map<Key, std::int32_t> number_;
};

std::int32_t mapped(const std::vector<std::int32_t>& numbers, std::int32_t number) {
  return number < 0 ? -1 : numbers[static_cast<std::size_t>(number)];
}

/// Joins two timelines lane by lane and records the new index of each bar.
class Joiner {
 public:
  Joiner(const Timeline& a, const Timeline& b) : timelines_{&a, &b} {
    joined_.lane_noun = a.lane_noun;
    joined_.time_unit = a.time_unit;
    joined_.end = std::max(a.end, b.end);
    Merged<std::pair<Track::Kind, std::string>, Track> tracks(joined_.tracks);
    Merged<std::string, std::string> names(joined_.names);
    Merged<std::string, std::string> categories(joined_.categories);
    const auto text = [](const std::string& of) { return of; };
    for (std::size_t side = 0; side < 2; ++side) {
      track_[side] =
          tracks.add(timelines_[side]->tracks, [](const Track& track) { return std::pair(track.kind, track.name); });
      name_[side] = names.add(timelines_[side]->names, text);
      category_[side] = categories.add(timelines_[side]->categories, text);
      first_[side] = first_bars(*timelines_[side]);
      number_[side].assign(timelines_[side]->bars.size(), -1);
      counters_[side] = drawn_counters(*timelines_[side]);
    }
  }

  void add_lane(std::size_t side, std::size_t lane, bool joined) {
    const Lane& from = timelines_[side]->lanes[lane];
    if (counters_[side][lane]) add_counter(*counters_[side][lane]);
    joined_.lanes.push_back({fmt::format("{} · {}", from.name, side == 0 ? "A" : "B"), from.bars, joined});
    for (std::size_t bar = first_[side][lane]; bar < first_[side][lane + 1]; ++bar) add_bar(side, bar);
  }

  JoinedTimelines finish(const std::vector<BarPair>& pairs) && {
    for (std::size_t side = 0; side < 2; ++side) {
      for (const std::int32_t number : number_[side]) {
        Bar& bar = joined_.bars[static_cast<std::size_t>(number)];
        bar.awaits = mapped(number_[side], bar.awaits);
      }
      for (const timeline::Arrow& arrow : timelines_[side]->arrows)
        joined_.arrows.push_back({mapped(number_[side], arrow.from), mapped(number_[side], arrow.to)});
    }
    for (const BarPair& pair : pairs) {
      joined_.bars[static_cast<std::size_t>(number_[0][pair.a])].partner = number_[1][pair.b];
      joined_.bars[static_cast<std::size_t>(number_[1][pair.b])].partner = number_[0][pair.a];
    }
    return {std::move(joined_), std::move(number_[0])};
  }

 private:
  /// Adds the counter of the lane that is added next.
  void add_counter(const Counter& counter) {
    if (!joined_.counters.empty() && joined_.counters.front().unit != counter.unit) return;
    Counter added = counter;
    added.lane = joined_.lanes.size();
    if (!joined_.counters.empty()) added.name = joined_.counters.front().name;
    joined_.counters.push_back(std::move(added));
  }

  void add_bar(std::size_t side, std::size_t bar) {
    number_[side][bar] = static_cast<std::int32_t>(joined_.bars.size());
    Bar added = timelines_[side]->bars[bar];
    added.track = mapped(track_[side], added.track);
    added.name = mapped(name_[side], added.name);
    added.category = mapped(category_[side], added.category);
    joined_.bars.push_back(added);
  }

  using Numbers = std::array<std::vector<std::int32_t>, 2>;  // [side][old index] index in joined_
  std::array<const Timeline*, 2> timelines_;
  Numbers track_;
  Numbers name_;
  Numbers category_;
  Numbers number_;                                       // bars
  std::array<std::vector<std::size_t>, 2> first_;        // [side] first_bars
  std::array<std::vector<const Counter*>, 2> counters_;  // [side] drawn_counters
  Timeline joined_;
};

}  // namespace

std::vector<LanePair> pair_lanes(const Timeline& a, const Timeline& b) {
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

std::vector<BarPair> pair_bars(const Timeline& a, const Timeline& b,
                               const std::array<TimelineActivities, 2>& activities,
                               const std::vector<LanePair>& lanes) {
  const std::vector<std::size_t> first_a = first_bars(a);
  const std::vector<std::size_t> first_b = first_bars(b);
  std::vector<BarPair> pairs;
  for (const LanePair& lane : lanes) {
    const auto work_b = work_of(b, activities[1], first_b[lane.b], first_b[lane.b + 1]);
    for (const auto& [title, bars] : work_of(a, activities[0], first_a[lane.a], first_a[lane.a + 1])) {
      const auto same = work_b.find(title);
      if (same == work_b.end()) continue;
      for (std::size_t bar = 0; bar < std::min(bars.size(), same->second.size()); ++bar) {
        const WholeBar& other = same->second[bar];
        if (bars[bar].rest.has_value() != other.rest.has_value()) continue;
        pairs.push_back({bars[bar].bar, other.bar});
        if (other.rest) pairs.push_back({*bars[bar].rest, *other.rest});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const BarPair& x, const BarPair& y) { return x.a < y.a; });
  return pairs;
}

JoinedTimelines join_timelines(const Timeline& a, const Timeline& b, const std::vector<LanePair>& lanes,
                               const std::vector<BarPair>& bars) {
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
