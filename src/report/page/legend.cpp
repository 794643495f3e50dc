#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
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

/// Maximum number of names with a separate category. Other names share one category for work and one for idle time.
constexpr std::size_t max_named = max_legend_entries - 2;
/// number of distinct plain inks; see plain_ink
constexpr std::size_t inks = 16;
constexpr Ink other_ink{{0x8A, 0x93, 0xA3}, {0x77, 0x82, 0x93}};
constexpr Ink other_idle_ink{{0xE2, 0xE5, 0xE9}, {0x3A, 0x42, 0x4E}};

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

/// Returns the first unused ink, starting with ink number `first`. If all are used, returns ink `first`.
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
  struct CategoryGroup {
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
  std::vector<CategoryGroup> groups_;
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
  CategoryGroup& group = groups_[place->second];
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
    CategoryGroup& group = groups_[order[i]];
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

/// Assigns the category `rest` to all groups without a category: to those of idle time if `rest` is idle, otherwise to
/// those of work.
void NamedGroups::share_rest(std::vector<Category>& categories, Category rest) {
  const auto number = static_cast<std::int32_t>(categories.size());
  const auto is_left = [&](const CategoryGroup& group) { return group.category < 0 && group.idle == rest.idle; };
  if (std::none_of(groups_.begin(), groups_.end(), is_left)) return;
  for (CategoryGroup& group : groups_)
    if (is_left(group)) group.category = number;
  categories.push_back(std::move(rest));
}

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;
using timeline::Track;

/// Sort key of a category: work of one bar kind and track, with work without a track last, or idle time of one cause.
using Key = std::tuple<bool, std::uint32_t, BarKind>;

Key legend_key(const Bar& bar) {
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

using Tracks = std::vector<Track>;

bool is_service(BarKind bar_kind) {
  return bar_kind == BarKind::reallocation || bar_kind == BarKind::migration || bar_kind == BarKind::loading ||
         bar_kind == BarKind::hand_over;
}

bool is_generation(BarKind bar_kind) {
  return bar_kind == BarKind::prefill || bar_kind == BarKind::decode || bar_kind == BarKind::recompute;
}

/// Styles that share legend entries. Each value includes the sharing of all values before it.
enum class Sharing : std::uint8_t { bar_kinds, replicas, optimizers, movements, generation, training };

/// Key of the styles that share an entry.
struct GroupKey {
  bool idle = false;
  std::int32_t owner = -1;  ///< track or, with Sharing::replicas, model of the pipelines
  BarKind bar_kind = BarKind::work;
  std::string name;

  friend bool operator==(const GroupKey&, const GroupKey&) = default;
};

GroupKey group_key(const Tracks& tracks, const BarStyle& style, Sharing sharing) {
  GroupKey key{is_idle(style.bar_kind), -1, style.bar_kind, style.name};
  if (key.idle || !style.name.empty()) return key;
  if (sharing >= Sharing::movements && is_service(style.bar_kind) && style.bar_kind != BarKind::hand_over)
    key.bar_kind = BarKind::reallocation;
  if (sharing >= Sharing::generation && is_generation(style.bar_kind)) key.bar_kind = BarKind::decode;
  if (style.track < 0 || is_service(style.bar_kind) || stage_ink(style.bar_kind)) return key;
  if (sharing >= Sharing::optimizers && (style.bar_kind == BarKind::step || style.bar_kind == BarKind::optimizer)) {
    key.bar_kind = BarKind::optimizer;
    return key;
  }
  if (sharing >= Sharing::training && is_op(style.bar_kind)) key.bar_kind = BarKind::backward;
  const Track& track = tracks[static_cast<std::size_t>(style.track)];
  key.owner = sharing >= Sharing::replicas && track.kind == Track::Kind::pipeline ? track.model : style.track;
  return key;
}

/// Returns the name of the track, or of the replicas' model, that all styles have; empty if they differ. Replicas of a
/// model are named "critic/0", "critic/1".
std::string owner_of(const Tracks& tracks, const std::vector<BarStyle>& styles,
                     const std::vector<std::size_t>& members) {
  std::string owner;
  for (const std::size_t member : members) {
    const std::int32_t number = styles[member].track;
    if (is_idle(styles[member].bar_kind) || number < 0) return "";
    const Track& track = tracks[static_cast<std::size_t>(number)];
    const bool is_one_of_replicas = members.size() > 1 && track.kind == Track::Kind::pipeline;
    std::string name = is_one_of_replicas ? track.name.substr(0, track.name.rfind('/')) : track.name;
    if (!owner.empty() && owner != name) return "";
    owner = std::move(name);
  }
  return owner;
}

/// Names and explains a group of styles of one or several bar kinds.
void describe_group(const std::vector<BarStyle>& styles, StyleGroup& group) {
  const BarStyle& first = styles[group.styles.front()];
  const auto all_are = [&](auto is) {
    return std::all_of(group.styles.begin(), group.styles.end(), [&](std::size_t style) { return is(styles[style]); });
  };
  if (!first.name.empty()) {
    group.name = first.name;
  } else if (all_are([&](const BarStyle& style) { return style.bar_kind == first.bar_kind; })) {
    group.name = name_of(first.bar_kind);
    group.about = explanation_of(first.bar_kind);
  } else if (all_are([](const BarStyle& style) { return is_generation(style.bar_kind); })) {
    group.owner.clear();
    group.name = "generation";
    group.about = "prefill (light), which reads prompts into the KV cache, and decoding (dark), one token at a time";
  } else if (all_are([](const BarStyle& style) { return is_service(style.bar_kind); })) {
    group.name = "moving weights";
    group.about = "new weights, weights in host memory, or the KV cache of unfinished sequences are moved";
  } else if (all_are([](const BarStyle& style) { return is_op(style.bar_kind) && style.bar_kind != BarKind::step; })) {
    group.name = "forward, backward";
    group.about = "forward pass (light) and backward pass (dark) of training";
  } else {
    group.name = "optimizer";
    group.about = explanation_of(BarKind::optimizer);
  }
}

std::vector<StyleGroup> groups_at(const Tracks& tracks, const std::vector<BarStyle>& styles, Sharing sharing) {
  std::vector<GroupKey> keys;
  std::vector<StyleGroup> groups;
  for (std::size_t style = 0; style < styles.size(); ++style) {
    GroupKey key = group_key(tracks, styles[style], sharing);
    const auto known = std::find(keys.begin(), keys.end(), key);
    const auto number = static_cast<std::size_t>(known - keys.begin());
    if (known == keys.end()) {
      keys.push_back(std::move(key));
      groups.emplace_back();
      groups.back().idle = is_idle(styles[style].bar_kind);
    }
    groups[number].styles.push_back(style);
    groups[number].time += styles[style].time;
  }
  for (StyleGroup& group : groups) {
    group.owner = owner_of(tracks, styles, group.styles);
    describe_group(styles, group);
  }
  const auto rank = [&](const StyleGroup& group) {
    return group.idle ? 2 : is_service(styles[group.styles.front()].bar_kind) ? 1 : 0;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const StyleGroup& a, const StyleGroup& b) { return rank(a) < rank(b); });
  return groups;
}

/// If `is_rest` accepts several groups, joins them into one at the end.
template <class IsRest>
void join_rest(std::vector<StyleGroup>& groups, std::string name, bool idle, IsRest is_rest) {
  constexpr std::size_t max_listed = 8;
  StyleGroup rest{"", std::move(name), "", idle, true, {}, {}};
  std::size_t joined = 0;
  for (const StyleGroup& group : groups) {
    if (!is_rest(group)) continue;
    if (++joined <= max_listed) rest.about += (joined == 1 ? "" : ", ") + group.full_name();
    rest.styles.insert(rest.styles.end(), group.styles.begin(), group.styles.end());
    rest.time += group.time;
  }
  if (joined > max_listed) rest.about += fmt::format(" and {} more", joined - max_listed);
  std::erase_if(groups, is_rest);
  groups.push_back(std::move(rest));
}

/// Keeps `kept` groups: first those of work, then those of idle time, each by descending time. The other groups become
/// "other work" and "other idle time" if there are several of a kind.
std::vector<StyleGroup> with_rest(const std::vector<StyleGroup>& groups, std::size_t kept) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return groups[a].idle != groups[b].idle ? groups[b].idle : groups[a].time > groups[b].time;
  });
  std::vector<StyleGroup> work;
  std::vector<StyleGroup> idle;
  std::vector<bool> is_kept(groups.size());
  for (std::size_t i = 0; i < kept; ++i) is_kept[order[i]] = true;
  for (const bool is_idle_part : {false, true}) {
    std::vector<StyleGroup>& part = is_idle_part ? idle : work;
    std::vector<std::size_t> dropped;  // first styles identify groups
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].idle != is_idle_part) continue;
      part.push_back(groups[i]);
      if (!is_kept[i]) dropped.push_back(groups[i].styles.front());
    }
    if (dropped.size() < 2) continue;
    join_rest(part, is_idle_part ? "other idle time" : "other work", is_idle_part, [&](const StyleGroup& group) {
      return std::find(dropped.begin(), dropped.end(), group.styles.front()) != dropped.end();
    });
  }
  work.insert(work.end(), std::make_move_iterator(idle.begin()), std::make_move_iterator(idle.end()));
  return work;
}

/// Groups categories into entries. `keys` has the bar kind and track of the first categories; the rest are names.
std::vector<StyleGroup> entries_of(const Timeline& timeline, const Legend& legend,
                                   const std::map<Key, std::int32_t>& keys) {
  std::vector<BarStyle> styles(legend.categories.size());
  for (std::size_t category = 0; category < styles.size(); ++category) {
    styles[category].bar_kind = legend.categories[category].idle ? BarKind::idle : BarKind::work;
    styles[category].name = legend.categories[category].name;
  }
  for (const auto& [key, number] : keys) {
    BarStyle& style = styles[static_cast<std::size_t>(number)];
    style.bar_kind = std::get<BarKind>(key);
    style.track = std::get<bool>(key) ? -1 : static_cast<std::int32_t>(std::get<std::uint32_t>(key));
    style.name.clear();
  }
  for (std::size_t bar = 0; bar < timeline.bars.size(); ++bar)
    styles[static_cast<std::size_t>(legend.of[bar])].time += timeline.bars[bar].end - timeline.bars[bar].begin;
  return group_styles(timeline.tracks, styles);
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
    if (!timeline::is_known_by_name(bar)) numbers.emplace(legend_key(bar), 0);
  for (auto& [key, number] : numbers) {
    const auto& [idle, track, bar_kind] = key;
    number = static_cast<std::int32_t>(legend.categories.size());
    legend.categories.push_back(idle ? idle_category(bar_kind)
                                     : work_category(timeline, bar_kind, static_cast<std::int32_t>(track)));
  }
  NamedGroups groups(timeline);
  groups.add_categories(legend.categories);
  for (const Bar& bar : timeline.bars)
    legend.of.push_back(timeline::is_known_by_name(bar) ? groups.category_of(bar) : numbers.at(legend_key(bar)));
  legend.entries = entries_of(timeline, legend, numbers);
  return legend;
}

std::vector<StyleGroup> group_styles(const std::vector<Track>& tracks, const std::vector<BarStyle>& styles,
                                     std::size_t max_groups) {
  std::vector<StyleGroup> groups;
  for (const Sharing sharing : {Sharing::bar_kinds, Sharing::replicas, Sharing::optimizers, Sharing::movements,
                                Sharing::generation, Sharing::training}) {
    groups = groups_at(tracks, styles, sharing);
    if (groups.size() <= max_groups) return groups;
  }
  for (std::size_t kept = max_groups;; --kept)
    if (std::vector<StyleGroup> fewer = with_rest(groups, kept); fewer.size() <= max_groups) return fewer;
}

Ink ink_of_group(const StyleGroup& group, const std::vector<Ink>& given) {
  return group.is_rest ? (group.idle ? other_idle_ink : other_ink) : given.back();
}

std::string_view explanation_of(BarKind bar_kind) {
  switch (bar_kind) {
    case BarKind::prefill:
      return "prompts are read into the KV cache";
    case BarKind::decode:
      return "responses are sampled, one token per sequence at a time";
    case BarKind::recompute:
      return "prefill is repeated for sequences that were preempted or moved without their KV cache";
    case BarKind::migration:
      return "the KV cache of unfinished sequences is moved to other devices";
    case BarKind::loading:
      return "weights are moved between host and device memory with no other work meanwhile";
    case BarKind::infer:
      return "forward pass for log-probabilities, values or rewards";
    case BarKind::forward:
      return "forward pass of training";
    case BarKind::backward:
      return "backward pass of training";
    case BarKind::input_gradient:
      return "half of a split backward pass: gradient of the input";
    case BarKind::weight_gradient:
      return "half of a split backward pass: gradient of the weights";
    case BarKind::step:
      return "optimizer step of a mini-batch on one stage";
    case BarKind::optimizer:
      return "optimizer step of a mini-batch with its collectives";
    case BarKind::reallocation:
      return "new weights are sent to the devices that use them next";
    case BarKind::hand_over:
      return "the trainer's software distributes data to tasks or collects their results";
    case BarKind::warm_up:
      return "idle before the first op of the device";
    case BarKind::tail:
      return "idle because generation has ended on the device while long samples still decode elsewhere";
    case BarKind::dependency:
      return "idle until work on other devices ends";
    case BarKind::transfer:
      return "idle while data is in transit";
    case BarKind::delay:
      return "idle although the next op could start";
    case BarKind::awaiting:
      return "idle while new weights are in transit";
    case BarKind::bubble:
      return "idle while a pipeline fills, drains or waits for a neighboring stage";
    case BarKind::imbalance:
      return "idle while other ranks of the same task have more work";
    case BarKind::launch:
      return "waiting for kernels, which are launched one by one";
    case BarKind::drain:
      return "idle after the last op of the device";
    case BarKind::work:
    case BarKind::idle:
      break;
  }
  return "";
}

std::string term_sentences(const Timeline& timeline) {
  const std::string_view term = name_of(BarKind::hand_over);
  const bool is_used = std::any_of(timeline.bars.begin(), timeline.bars.end(), [&](const Bar& bar) {
    return bar.bar_kind == BarKind::hand_over || (is_known_by_name(bar) && bar.name >= 0 &&
                                                  timeline.names[static_cast<std::size_t>(bar.name)].starts_with(term));
  });
  return is_used ? fmt::format(" Hand-over: {}.", explanation_of(BarKind::hand_over)) : "";
}

}  // namespace dovetail::report
