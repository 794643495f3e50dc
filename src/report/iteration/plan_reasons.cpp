#include "report/iteration/plan_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "plan/fusion.h"
#include "planner/advice/comparison.h"

namespace dovetail::report {
namespace {

constexpr double negligible = 0.0005;  // seconds

/// An activity, or several that one of the plans fuses.
struct Difference {
  std::string name;
  double lost = 0;
  std::string note = {};  // what of it
};

/// The tasks of each fused activity of a plan, its leader first.
std::vector<std::vector<std::size_t>> fused_tasks(const predict::Scenario& scenario, const plan::Plan& plan) {
  std::vector<std::vector<std::size_t>> groups;
  if (const auto stage = plan::fused_stage(scenario.job, plan)) {
    groups.push_back({stage->generate});
    groups.back().insert(groups.back().end(), stage->infer.begin(), stage->infer.end());
  }
  if (const auto& pair = plan.fusion.training) groups.emplace_back(pair->begin(), pair->end());
  return groups;
}

/// What one plan alone fuses, as one difference; its tasks are taken out of `activities`.
std::vector<Difference> take_fused(const predict::Scenario& scenario, const plan::Plan& fusing, const char* note,
                                   std::vector<planner::ActivityComparison>& activities) {
  std::vector<Difference> differences;
  for (const std::vector<std::size_t>& tasks : fused_tasks(scenario, fusing)) {
    const auto is_of = [&](const planner::ActivityComparison& activity) {
      return activity.kind == plan::Activity::Kind::task &&
             std::find(tasks.begin(), tasks.end(), activity.task) != tasks.end();
    };
    const auto leader =
        std::find_if(activities.begin(), activities.end(), [&](const planner::ActivityComparison& activity) {
          return activity.kind == plan::Activity::Kind::task && activity.task == tasks.front();
        });
    if (leader == activities.end() || leader->fused_here == leader->fused_there) continue;
    Difference difference{"", 0, note};
    for (const std::size_t task : tasks)
      difference.name += (difference.name.empty() ? "" : " + ") + scenario.job.workflow.tasks[task].name;
    for (const planner::ActivityComparison& activity : activities)
      if (is_of(activity)) difference.lost += activity.seconds.lost();
    differences.push_back(std::move(difference));
    std::erase_if(activities, is_of);
  }
  return differences;
}

Difference difference_of(const predict::Scenario& scenario, const planner::ActivityComparison& activity) {
  Difference difference{answer::activity_words(scenario.job, activity.kind, activity.task), activity.seconds.lost()};
  // A part that pulls the other way explains nothing.
  if (activity.part && activity.of_part.lost() * activity.seconds.lost() > 0 &&
      std::abs(activity.of_part.lost()) >= negligible)
    difference.note =
        fmt::format("{} {}", base::enum_name(*activity.part), answer::signed_seconds(activity.of_part.lost()));
  return difference;
}

/// Activities and fused activities, those that differ most first.
std::vector<Difference> differences_of(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                                       const planner::EstimatedPlan& other,
                                       std::vector<planner::ActivityComparison> activities) {
  std::vector<Difference> differences = take_fused(scenario, other.plan, "not fused", activities);
  for (Difference& difference : take_fused(scenario, plan.plan, "fused", activities))
    differences.push_back(std::move(difference));
  for (const planner::ActivityComparison& activity : activities)
    // Of an activity that others hide no second counts.
    if (std::max(activity.critical.here, activity.critical.there) > 0.01)
      differences.push_back(difference_of(scenario, activity));
  std::stable_sort(differences.begin(), differences.end(),
                   [](const Difference& a, const Difference& b) { return std::abs(a.lost) > std::abs(b.lost); });
  return differences;
}

/// Whether a plan fuses both tasks into one activity, in which they take turns.
bool fuses(const predict::Scenario& scenario, const plan::Plan& plan, const planner::SideBySide& pair) {
  const auto groups = fused_tasks(scenario, plan);
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& tasks) {
    const auto has = [&](std::size_t task) { return std::find(tasks.begin(), tasks.end(), task) != tasks.end(); };
    return has(pair.one) && has(pair.two);
  });
}

/// "reward_infer and critic_infer 1.9 s less side by side"; empty where no two tasks explain anything.
std::string overlap_text(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                         const planner::EstimatedPlan& other, bool slower) {
  for (const planner::SideBySide& pair : planner::side_by_side(plan, other)) {
    const double more = pair.seconds.lost();
    if (std::abs(more) < negligible || (more < 0) != slower) continue;
    if (fuses(scenario, plan.plan, pair) || fuses(scenario, other.plan, pair)) continue;
    const std::vector<workflow::Task>& tasks = scenario.job.workflow.tasks;
    return fmt::format("{} and {} {} {} side by side", tasks[pair.one].name, tasks[pair.two].name,
                       answer::seconds_text(std::abs(more)), slower ? "less" : "more");
  }
  return "";
}

}  // namespace

std::string reasons_against(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                            const planner::EstimatedPlan& other) {
  constexpr std::size_t most = 3;
  planner::Comparison comparison = planner::compare(scenario, plan, other);
  const bool slower = plan.estimate.iteration_seconds > other.estimate.iteration_seconds;
  const auto explains = [&](double lost) { return std::abs(lost) >= negligible && (lost > 0) == slower; };
  std::vector<std::string> texts;
  for (const planner::TimeUse& use : comparison.uses)
    if (use.of == predict::SecondsOf::idle && explains(use.seconds.lost()))
      texts.push_back("idle time " + answer::signed_seconds(use.seconds.lost()));
  const std::string overlap = overlap_text(scenario, plan, other, slower);
  for (const Difference& difference : differences_of(scenario, plan, other, std::move(comparison.activities))) {
    if (texts.size() + (overlap.empty() ? 0 : 1) >= most) break;
    if (!explains(difference.lost)) continue;
    texts.push_back(fmt::format("{} {}{}", difference.name, answer::signed_seconds(difference.lost),
                                difference.note.empty() ? "" : " (" + difference.note + ")"));
  }
  if (!overlap.empty()) texts.push_back(overlap);
  if (texts.empty()) return "no step that counts differs";
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace dovetail::report
