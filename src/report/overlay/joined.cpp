#include "report/overlay/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::Counter;
using timeline::Lane;
using timeline::Timeline;
using timeline::Track;

/// Puts things of two timelines into one list, those that have one key at one place.
template <class Key, class Thing>
class Merged {
 public:
  explicit Merged(std::vector<Thing>& things) : things_(things) {}

  /// [index] where it went.
  template <class KeyOf>
  std::vector<std::int32_t> add(const std::vector<Thing>& things, KeyOf key_of) {
    std::vector<std::int32_t> numbers;
    for (const Thing& thing : things) {
      const auto [place, added] = number_.try_emplace(key_of(thing), static_cast<std::int32_t>(things_.size()));
      if (added) things_.push_back(thing);
      numbers.push_back(place->second);
    }
    return numbers;
  }

 private:
  std::vector<Thing>& things_;
  std::map<Key, std::int32_t> number_;
};

std::int32_t mapped(const std::vector<std::int32_t>& numbers, std::int32_t number) {
  return number < 0 ? -1 : numbers[static_cast<std::size_t>(number)];
}

/// Puts lanes of two timelines into one, lane by lane, and remembers where each bar went.
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
  /// Of the lane that is added next.
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

  using Numbers = std::array<std::vector<std::int32_t>, 2>;  // [side][index there] in joined_
  std::array<const Timeline*, 2> timelines_;
  Numbers track_;
  Numbers name_;
  Numbers category_;
  Numbers number_;                                       // of bars
  std::array<std::vector<std::size_t>, 2> first_;        // [side] first_bars
  std::array<std::vector<const Counter*>, 2> counters_;  // [side] drawn_counters
  Timeline joined_;
};

}  // namespace

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
