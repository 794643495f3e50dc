#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/page/chart_sections.h"
#include "report/page/palette.h"

namespace dovetail::report {
namespace {

using timeline::Bar;

constexpr std::size_t max_named = 14;
/// number of distinct plain inks; see plain_ink
constexpr std::size_t inks = 16;
constexpr Ink other_ink{{0x8A, 0x93, 0xA3}, {0x77, 0x82, 0x93}};

bool is_digit(char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; }

/// Returns `name` with each number replaced by an ellipsis.
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

/// Returns the first ink from `first` on that no category uses, or ink `first` if all are used.
Ink free_ink(const std::vector<Category>& categories, bool idle, std::size_t first) {
  const auto ink_number = [&](std::size_t number) { return idle ? idle_ink(number) : plain_ink(number); };
  const auto is_free = [&](const Ink& ink) {
    return std::none_of(categories.begin(), categories.end(),
                        [&](const Category& of) { return of.ink.light == ink.light; });
  };
  if (is_free(ink_number(first))) return ink_number(first);
  for (std::size_t number = 0; number < inks; ++number)
    if (is_free(ink_number(number))) return ink_number(number);
  return ink_number(first);
}

/// Bars known only by name, grouped by their names without numbers and by whether they are idle.
class NamedGroups {
 public:
  explicit NamedGroups(const timeline::Timeline& timeline);

  /// Adds a category for each of the groups with the most time. The other groups share the last categories. Avoids the
  /// colors of existing categories.
  void add_categories(std::vector<Category>& categories);
  /// REQUIRES: add_categories was called.
  std::int32_t category_of(const timeline::Bar& bar) const;

 private:
  struct Group {
    std::string name;
    bool idle = false;
    base::Ticks time;
    bool one_name = true;
    std::int32_t first_name = -1;
    std::int32_t category = -1;
  };

  void add(const timeline::Bar& bar);
  void share_rest(std::vector<Category>& categories, Category rest);

  const timeline::Timeline& timeline_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, bool>, std::size_t> number_;     // by (pattern, idle)
  std::map<std::pair<std::int32_t, bool>, std::size_t> group_of_;  // by (name, idle)
};

NamedGroups::NamedGroups(const timeline::Timeline& timeline) : timeline_(timeline) {
  for (const Bar& bar : timeline.bars)
    if (is_known_by_name(bar)) add(bar);
}

void NamedGroups::add(const Bar& bar) {
  const std::pair key(bar.name, is_idle(bar.bar_kind));
  if (const auto known = group_of_.find(key); known != group_of_.end()) {
    groups_[known->second].time += bar.end - bar.begin;
    return;
  }
  const std::string pattern = without_numbers(title_of(timeline_, bar));
  const auto [place, added] = number_.try_emplace({pattern, key.second}, groups_.size());
  if (added) groups_.push_back({pattern, key.second, {}, true, bar.name, -1});
  Group& group = groups_[place->second];
  group.one_name = group.one_name && group.first_name == bar.name;
  group.time += bar.end - bar.begin;
  group_of_[key] = place->second;
}

void NamedGroups::add_categories(std::vector<Category>& categories) {
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups_[a].time > groups_[b].time; });
  std::size_t work = 0;
  std::size_t idle = 0;
  for (std::size_t i = 0; i < std::min(order.size(), max_named); ++i) {
    Group& group = groups_[order[i]];
    group.category = static_cast<std::int32_t>(categories.size());
    const Ink ink = free_ink(categories, group.idle, group.idle ? idle++ : work++);
    const bool has_own = group.one_name && group.first_name >= 0;
    const std::string name = has_own ? timeline_.names[static_cast<std::size_t>(group.first_name)] : group.name;
    categories.push_back({name, "{name}", group.idle ? "" : "{name}", ink, group.idle});
  }
  share_rest(categories, {"other", "{name}", "{name}", other_ink, false});
  share_rest(categories, {"other idle time", "{name}", "", idle_ink(idle), true});
}

std::int32_t NamedGroups::category_of(const Bar& bar) const {
  return groups_[group_of_.at({bar.name, is_idle(bar.bar_kind)})].category;
}

/// Assigns the category `rest` to all groups without one that match it in being idle.
void NamedGroups::share_rest(std::vector<Category>& categories, Category rest) {
  const auto number = static_cast<std::int32_t>(categories.size());
  const auto is_left = [&](const Group& group) { return group.category < 0 && group.idle == rest.idle; };
  if (std::none_of(groups_.begin(), groups_.end(), is_left)) return;
  for (Group& group : groups_)
    if (is_left(group)) group.category = number;
  categories.push_back(std::move(rest));
}

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;
using timeline::Track;

/// Work of one bar kind for one track (work without a track sorts last), or idle time of one cause.
using Key = std::tuple<bool, std::uint32_t, BarKind>;

Key key_of(const Bar& bar) {
  const bool idle = is_idle(bar.bar_kind);
  return {idle, idle ? 0 : static_cast<std::uint32_t>(bar.track), bar.bar_kind};
}

/// Whether bars of this kind are labeled with their micro-batch.
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
  // A brace in a name would be read as a field.
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
