#include "planner/advice/repair.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dovetail::planner {
namespace {

/// How far a task may go from where it is.
enum class Reach { settings, layouts, meshes };

class Repair {
 public:
  Repair(const PlanSpace& around, const plan::Plan& plan, Reach reach)
      : space_(around.space), original_(around.selection), selection_(around.selection), trial_(around.space) {
    for (std::size_t task = 0; task < selection_.size(); ++task) options_.push_back(options_of(plan, task, reach));
  }

  /// The selection that fits; nothing where none was met.
  std::optional<Selection> run() {
    Score now = trial_.score(selection_);
    while (now.excess > 0) {
      if (space_.scenario->is_stopped()) return std::nullopt;
      const Score next = step(now);
      if (next.excess >= now.excess) return std::nullopt;
      now = next;
    }
    for (std::size_t task = 0; task < selection_.size(); ++task) give_back(task);
    for (std::size_t task = 0; task < selection_.size(); ++task)
      if (selection_[task] != original_[task]) quicken(task);
    return selection_;
  }

 private:
  std::vector<SelectedChoice> options_of(const plan::Plan& plan, std::size_t task, Reach reach) const {
    std::vector<SelectedChoice> options;
    if (space_.is_rule(task)) return options;
    for (const std::int32_t mesh : space_.open[task]) {
      if (reach != Reach::meshes && mesh != original_[task].mesh) continue;
      const auto& choices = space_.choices[task][space_.shapes[static_cast<std::size_t>(mesh)]];
      for (std::size_t choice = 0; choice < choices.size(); ++choice) {
        plan::TaskPlan planned = choices[choice].planned;
        planned.mesh = plan.tasks[task].mesh;
        const bool same_layout = kind_of(plan.tasks[task], planned) != ChangeKind::layout;
        if (reach != Reach::settings || same_layout) options.push_back({mesh, static_cast<std::int32_t>(choice)});
      }
    }
    return options;
  }

  /// The change of one task after which the least is missing; of several the fastest.
  Score step(const Score& now) {
    Score best = now;
    Selection to = selection_;
    const Selection before = selection_;
    for (std::size_t task = 0; task < selection_.size(); ++task) {
      for (const SelectedChoice option : options_[task]) {
        selection_ = before;
        if (!take(space_, selection_, task, option)) continue;
        const Score score = trial_.score(selection_);
        if (score.excess > best.excess || (score.excess == best.excess && score.period >= best.period)) continue;
        best = score;
        to = selection_;
      }
    }
    selection_ = best.excess < now.excess ? to : before;
    return best;
  }

  void give_back(std::size_t task) {
    if (selection_[task] == original_[task]) return;
    const Selection changed = selection_;
    if (!take(space_, selection_, task, original_[task]) || trial_.score(selection_).excess > 0) selection_ = changed;
  }

  void quicken(std::size_t task) {
    const Selection before = selection_;
    Selection best = selection_;
    base::Ticks least = trial_.score(selection_).period;
    for (const SelectedChoice option : options_[task]) {
      selection_ = before;
      if (!take(space_, selection_, task, option)) continue;
      const Score score = trial_.score(selection_);
      if (score.excess > 0 || score.period >= least) continue;
      least = score.period;
      best = selection_;
    }
    selection_ = std::move(best);
  }

  const SearchSpace& space_;
  const Selection& original_;
  Selection selection_;
  Trial trial_;
  std::vector<std::vector<SelectedChoice>> options_;  // [task]
};

}  // namespace

std::optional<Change> repair(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around) {
  for (const Reach reach : {Reach::settings, Reach::layouts, Reach::meshes}) {
    if (scenario.is_stopped()) break;
    const auto selection = Repair(around, plan, reach).run();
    if (!selection) continue;
    Change change = change_to(scenario, plan, plan_of(around.space, *selection, "custom"));
    if (change.fit == predict::Fit::fits) return change;
  }
  return std::nullopt;
}

}  // namespace dovetail::planner
