#include "report/page/legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "report/page/inks.h"
#include "report/page/named_groups.h"

namespace dovetail::report {
namespace {

using timeline::Activity;
using timeline::Bar;
using timeline::Timeline;
using timeline::Track;

/// Work of one activity for one track, that of no track last; or idle time of one cause.
using Key = std::tuple<bool, std::uint32_t, Activity>;

Key key_of(const Bar& bar) {
  const bool idle = is_idle(bar.activity);
  return {idle, idle ? 0 : static_cast<std::uint32_t>(bar.track), bar.activity};
}

/// Whether bars of an activity have the numbers of their micro-batches on them.
bool is_numbered(Activity activity) {
  return activity == Activity::optimizer ||
         std::find(timeline::op_activities.begin(), timeline::op_activities.end(), activity) != timeline::op_activities.end();
}

Category idle_category(Activity cause) {
  const std::string name(name_of(cause));
  return {name, name, "", idle_ink(cause_of(cause)), true};
}

Category work_category(const Timeline& timeline, Activity activity, std::int32_t number) {
  Category category;
  category.ink = ink_of(timeline.tracks, activity, number);
  category.name = category_name(timeline.tracks, activity, number);
  category.bar_label = is_numbered(activity) ? "{micro-batch}" : category.name;
  if (number < 0) {
    category.bar_title = name_of(activity);
    return category;
  }
  const Track& track = timeline.tracks[static_cast<std::size_t>(number)];
  if (track.kind == Track::Kind::task) {
    category.bar_title = describe(activity, "{task}");
    return category;
  }
  // A brace in a name would read as a field.
  std::string name = track.name;
  std::replace(name.begin(), name.end(), '{', '(');
  category.bar_title = fmt::format("{}{{micro-batch}} {}", letter_of(activity), name);
  return category;
}

}  // namespace

std::string category_name(const std::vector<Track>& tracks, Activity activity, std::int32_t track) {
  if (is_idle(activity) || track < 0) return std::string(name_of(activity));
  return fmt::format("{} {}", tracks[static_cast<std::size_t>(track)].name, name_of(activity));
}

Legend legend_of(const Timeline& timeline) {
  Legend legend;
  std::map<Key, std::int32_t> numbers;
  for (const Bar& bar : timeline.bars)
    if (!timeline::is_known_by_name(bar)) numbers.emplace(key_of(bar), 0);
  for (auto& [key, number] : numbers) {
    const auto& [idle, track, activity] = key;
    number = static_cast<std::int32_t>(legend.categories.size());
    legend.categories.push_back(idle ? idle_category(activity) : work_category(timeline, activity, static_cast<std::int32_t>(track)));
  }
  NamedGroups groups(timeline);
  groups.add_categories(legend.categories);
  for (const Bar& bar : timeline.bars)
    legend.of.push_back(timeline::is_known_by_name(bar) ? groups.category_of(bar) : numbers.at(key_of(bar)));
  return legend;
}

}  // namespace dovetail::report
