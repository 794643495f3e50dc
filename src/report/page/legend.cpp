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

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;
using timeline::Track;

/// Work of one bar kind for one track, that of no track last; or idle time of one cause.
using Key = std::tuple<bool, std::uint32_t, BarKind>;

Key key_of(const Bar& bar) {
  const bool idle = is_idle(bar.bar_kind);
  return {idle, idle ? 0 : static_cast<std::uint32_t>(bar.track), bar.bar_kind};
}

/// Whether bars of a bar kind have the numbers of their micro-batches on them.
bool is_numbered(BarKind bar_kind) {
  return bar_kind == BarKind::optimizer || std::find(timeline::op_bar_kinds.begin(), timeline::op_bar_kinds.end(),
                                                     bar_kind) != timeline::op_bar_kinds.end();
}

Category idle_category(BarKind cause) {
  const std::string name(name_of(cause));
  return {name, name, "", idle_ink(cause_of(cause)), true};
}

Category work_category(const Timeline& timeline, BarKind bar_kind, std::int32_t number) {
  Category category;
  category.ink = ink_of(timeline.tracks, bar_kind, number);
  category.name = category_name(timeline.tracks, bar_kind, number);
  category.bar_label = is_numbered(bar_kind) ? "{micro-batch}" : category.name;
  if (number < 0) {
    category.bar_title = name_of(bar_kind);
    return category;
  }
  const Track& track = timeline.tracks[static_cast<std::size_t>(number)];
  if (track.kind == Track::Kind::task) {
    category.bar_title = describe(bar_kind, "{task}");
    return category;
  }
  // A brace in a name would read as a field.
  std::string name = track.name;
  std::replace(name.begin(), name.end(), '{', '(');
  category.bar_title = fmt::format("{}{{micro-batch}} {}", letter_of(bar_kind), name);
  return category;
}

}  // namespace

std::string category_name(const std::vector<Track>& tracks, BarKind bar_kind, std::int32_t track) {
  if (is_idle(bar_kind) || track < 0) return std::string(name_of(bar_kind));
  return fmt::format("{} {}", tracks[static_cast<std::size_t>(track)].name, name_of(bar_kind));
}

Legend legend_of(const Timeline& timeline) {
  Legend legend;
  std::map<Key, std::int32_t> numbers;
  for (const Bar& bar : timeline.bars)
    if (!timeline::is_known_by_name(bar)) numbers.emplace(key_of(bar), 0);
  for (auto& [key, number] : numbers) {
    const auto& [idle, track, bar_kind] = key;
    number = static_cast<std::int32_t>(legend.categories.size());
    legend.categories.push_back(idle ? idle_category(bar_kind)
                                     : work_category(timeline, bar_kind, static_cast<std::int32_t>(track)));
  }
  NamedGroups groups(timeline);
  groups.add_categories(legend.categories);
  for (const Bar& bar : timeline.bars)
    legend.of.push_back(timeline::is_known_by_name(bar) ? groups.category_of(bar) : numbers.at(key_of(bar)));
  return legend;
}

}  // namespace dovetail::report
