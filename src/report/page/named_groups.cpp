#include "report/page/named_groups.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "report/page/inks.h"

namespace dovetail::report {
namespace {

using timeline::Bar;

constexpr std::size_t max_named = 14;
/// How many inks there are of each kind; see inks.h.
constexpr std::size_t inks = 16;
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

/// The first ink from number `first` on that no category has; that one where all are taken.
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

}  // namespace

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

/// Groups without a category, idle as `rest` is, get that one.
void NamedGroups::share_rest(std::vector<Category>& categories, Category rest) {
  const auto number = static_cast<std::int32_t>(categories.size());
  const auto is_left = [&](const Group& group) { return group.category < 0 && group.idle == rest.idle; };
  if (std::none_of(groups_.begin(), groups_.end(), is_left)) return;
  for (Group& group : groups_)
    if (is_left(group)) group.category = number;
  categories.push_back(std::move(rest));
}

}  // namespace dovetail::report
