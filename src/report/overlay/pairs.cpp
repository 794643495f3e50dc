#include "report/overlay/pairs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "report/overlay/pieces.h"
#include "report/overlay/turn.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Timeline;

/// A bar, with where it goes on if the end of the stretch cuts it.
struct WholeBar {
  Ticks begin;  ///< as begin_of has it
  std::size_t bar = 0;
  std::optional<std::size_t> rest = {};
};

/// The two parts of a bar that the end of the stretch cuts; nothing where the lane has none.
std::optional<std::pair<std::size_t, std::size_t>> cut_bar(const Timeline& timeline,
                                                           const TimelineActivities& activities, std::size_t first,
                                                           std::size_t end) {
  if (!activities.stretch || first == end || timeline.bars[first].begin > Ticks()) return std::nullopt;
  for (std::size_t bar = end; bar > first + 1; --bar) {
    if (timeline.bars[bar - 1].end > *activities.stretch) continue;
    const bool goes_on = timeline.bars[bar - 1].end == *activities.stretch && is_same_work(timeline, bar - 1, first);
    return goes_on ? std::optional(std::pair(bar - 1, first)) : std::nullopt;
  }
  return std::nullopt;
}

/// The work of a lane by title, in order.
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

}  // namespace dovetail::report
