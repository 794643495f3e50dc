#include "answer/words/profile_words.h"

#include <fmt/format.h>

#include "answer/words/text.h"

namespace dovetail::answer {
namespace {

std::string use_name(const plan::Job& job, const predict::ProfileUse& use) {
  return job.workflow.tasks[use.task].name + (use.decode ? " (decode)" : "");
}

}  // namespace

std::string profile_text(const plan::Job& job, const std::string& profile,
                         const std::vector<predict::ProfileUse>& uses) {
  std::string text;
  for (const auto from :
       {predict::SecondsFrom::profile, predict::SecondsFrom::beyond, predict::SecondsFrom::roofline}) {
    std::vector<std::string> names;
    for (const predict::ProfileUse& use : uses)
      if (use.from == from) names.push_back(use_name(job, use));
    if (names.empty()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name_of(from), fmt::join(names, ", "));
  }
  return text.empty() ? "" : fmt::format("measured layers {}: {}\n", clean_text(profile), text);
}

std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan) {
  return profile_text(scenario.job, scenario.software.profile.name, predict::profile_uses(scenario, plan));
}

}  // namespace dovetail::answer
