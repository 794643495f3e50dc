#include "cli/profile_words.h"

#include <fmt/format.h>

#include "answer/question/json.h"
#include "answer/words/text.h"

namespace dovetail::cli {
namespace {

std::string use_name(const plan::Job& job, const predict::ProfileUse& use) {
  return job.workflow.tasks[use.task].name + (use.decode ? " (decode)" : "");
}

}  // namespace

std::string profile_text(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses) {
  std::string text;
  for (const auto from : {predict::SecondsFrom::profile, predict::SecondsFrom::beyond, predict::SecondsFrom::roofline}) {
    std::vector<std::string> names;
    for (const predict::ProfileUse& use : uses)
      if (use.from == from) names.push_back(use_name(job, use));
    if (names.empty()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name_of(from), fmt::join(names, ", "));
  }
  return text.empty() ? "" : fmt::format("measured layers {}: {}\n", answer::clean_text(profile), text);
}

std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan) {
  return profile_text(scenario.job, scenario.software.profile.name, predict::profile_uses(scenario, plan));
}

answer::Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses) {
  answer::Json object{{"name", answer::clean_text(profile)}, {"tasks", answer::Json::array()}};
  for (const predict::ProfileUse& use : uses)
    object["tasks"].push_back(answer::Json{
        {"task", job.workflow.tasks[use.task].name}, {"part", use.decode ? "decode" : "passes"}, {"seconds_from", name_of(use.from)}});
  return object;
}

void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, answer::Json& object) {
  const std::vector<predict::ProfileUse> uses = predict::profile_uses(scenario, plan);
  if (!uses.empty()) object["profile"] = profile_json(scenario.job, scenario.software.profile.name, uses);
}

}  // namespace dovetail::cli
