#include "trainers/export/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace dovetail::trainers {
namespace {

/// Whether both set the same, with whatever prefix of Hydra's.
bool is_same_setting(const Setter& a, const Setter& b) {
  const auto bare = [](std::string_view key) { return key.substr(std::min(key.find_first_not_of('+'), key.size())); };
  return bare(a.key) == bare(b.key);
}

/// The change among `all` that says the setting itself; null where none does.
Change* saying(std::vector<Change>& all, const Setter& set) {
  const auto found = std::ranges::find_if(all, [&](const Change& change) { return is_same_setting(change.set, set); });
  return found == all.end() ? nullptr : &*found;
}

bool is_set_in(const std::vector<Change>& all, const Setter& set) {
  return std::ranges::any_of(all, [&](const Change& change) {
    return is_same_setting(change.set, set) ||
           std::ranges::any_of(change.with, [&](const Setter& more) { return is_same_setting(more, set); });
  });
}

}  // namespace

std::string flag_text(bool value) { return value ? "True" : "False"; }

std::string yaml_flag(bool value) { return value ? "true" : "false"; }

std::string megatron_granularity(llm::Recomputation recomputation) {
  if (recomputation == llm::Recomputation::none) return "null";
  return recomputation == llm::Recomputation::full ? "full" : "selective";
}

std::optional<std::string> megatron_modules(llm::Recomputation recomputation) {
  if (recomputation == llm::Recomputation::selective) return "[core_attn]";
  if (recomputation == llm::Recomputation::experts) return "[moe]";
  return std::nullopt;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::vector<std::string> words_of(const Change& change) {
  const auto word = [](const Setter& set) {
    if (!set.key.starts_with("--")) return fmt::format("{}={}", set.key, set.value);
    return set.value.empty() ? set.key : fmt::format("{} {}", set.key, set.value);
  };
  std::vector<std::string> words;
  for (const std::string& name : change.without) words.push_back("without " + name);
  words.push_back(change.removes ? "without " + change.set.key : word(change.set));
  for (const Setter& more : change.with) words.push_back(word(more));
  return words;
}

std::vector<Change> joined(const std::vector<Change>& first, std::vector<Change> second) {
  std::vector<Change> all;
  for (Change change : first) {
    std::erase_if(change.with, [&](const Setter& more) { return is_set_in(second, more); });
    Change* const later = saying(second, change.set);
    if (later == nullptr) {
      all.push_back(std::move(change));
      continue;
    }
    later->with.insert(later->with.end(), change.with.begin(), change.with.end());
    later->without.insert(later->without.end(), change.without.begin(), change.without.end());
    later->in_place = later->in_place || change.in_place;
  }
  all.insert(all.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return all;
}

void ChangeList::set(std::string_view key, std::string value, std::vector<Setter> with) {
  all.push_back({.set = {std::string(key), std::move(value)}, .with = std::move(with)});
}

void ChangeList::turn(std::string_view flag, bool on, std::vector<Setter> with) {
  all.push_back({.set = {std::string(flag), {}}, .with = std::move(with), .removes = !on});
}

const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task) {
  const auto found = workflow::find_task(job.workflow, task);
  return found ? &plan.tasks[found->index()] : nullptr;
}

}  // namespace dovetail::trainers
