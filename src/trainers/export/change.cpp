#include "trainers/export/change.h"

#include <fmt/format.h>

#include <utility>

namespace dovetail::trainers {

std::string flag_text(bool value) { return value ? "True" : "False"; }

std::string yaml_flag(bool value) { return value ? "true" : "false"; }

std::string number_text(double value) { return fmt::format("{}", value); }

std::vector<std::string> words_of(const Change& change) {
  const auto word = [](const Setter& set) {
    if (!set.key.starts_with("--")) return fmt::format("{}={}", set.key, set.value);
    return set.value.empty() ? set.key : fmt::format("{} {}", set.key, set.value);
  };
  std::vector<std::string> words{(change.removes ? "without " : "") + word(change.set)};
  for (const Setter& more : change.with) words.push_back(word(more));
  return words;
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
