#include "answer/text/software_text.h"

#include <fmt/format.h>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/assert.h"

namespace dovetail::answer {
namespace {

std::string use_name(const plan::Job& job, const predict::ProfileUse& use) {
  return job.workflow.tasks[use.task].name + (use.decode ? " (decode)" : "");
}

}  // namespace

std::string efficiency_text(const predict::Software& software) {
  const predict::EfficiencyChoice& choice = software.choice;
  const std::string gpus = fmt::format("{}", fmt::join(choice.gpus, " and "));
  const std::string& name = software.efficiency.name;
  const std::string expect = fmt::format("expect errors of {:.1f}%", 100 * software.efficiency.error);
  switch (choice.reason) {
    case predict::EfficiencyReason::named:
      return fmt::format("the job selects {}", name);
    case predict::EfficiencyReason::fitted:
      return fmt::format("{2} was fitted to {1} training on GPU {0}", gpus, choice.training, name);
    case predict::EfficiencyReason::gpu_fitted:
      return fmt::format("{1} was fitted to GPU {0}, but not to {2} training; {3} or more", gpus, name, choice.training,
                         expect);
    case predict::EfficiencyReason::training_fitted:
      return fmt::format("{1} was fitted to {0} training, but not to GPU {2}; {3} or more", choice.training, name, gpus,
                         expect);
    case predict::EfficiencyReason::unmeasured:
      return fmt::format("{} (no measurements of GPU {}); {}", name, gpus, expect);
    case predict::EfficiencyReason::custom_gpu:
      return fmt::format("{} (no measurements of {}, a custom `gpu:`); {}", name, gpus, expect);
    case predict::EfficiencyReason::mixed_gpus:
      return fmt::format("{} (no measurements of {} together); {}", name, gpus, expect);
  }
  DOVETAIL_ASSERT(false);
}

std::string margin_text(const predict::Scenario& scenario) {
  const plan::MinMargin margin = predict::min_margin(scenario);
  if (scenario.job.limits.margin)
    return margin.bytes > 0 ? gibibytes(margin.bytes) + " of usable memory (the job's limit)"
                            : fmt::format("{:.1f}% of usable memory (the job's limit)", 100 * margin.share);
  const cost::Conventions& conventions = scenario.software.conventions;
  if (conventions.memory_error <= predict::min_margin_share)
    return fmt::format("{:.1f}% of usable memory", 100 * margin.share);
  return fmt::format("{:.1f}% of usable memory (error of past {} predictions)", 100 * margin.share, conventions.name);
}

std::string assumptions_text(const predict::Scenario& scenario) {
  const predict::Software& software = scenario.software;
  return fmt::format("efficiencies: {} (mean error {}); memory model: {}\n{}\nrequired margin: {}\n",
                     software.efficiency.name, percent(software.efficiency.error), software.conventions.name,
                     efficiency_text(software), margin_text(scenario));
}

std::string nearest_text(const planner::NearestPlan& nearest, const predict::Scenario& scenario) {
  const std::string& task = scenario.job.workflow.tasks[nearest.task].name;
  const std::string missing = gibibytes(nearest.missing);
  if (nearest.fit == predict::Fit::tight)
    return fmt::format("no plan keeps the required margin of {}; the closest one found is tight: short by {} in {}",
                       margin_text(scenario), missing, task);
  return fmt::format("no plan fits; the closest one found is short by {} in {}, including the required margin", missing,
                     task);
}

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
