#include "planner/space/plan_space.h"

#include <algorithm>
#include <utility>

#include "plan/iteration_graph.h"
#include "predict/closed_form/variations.h"

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

/// Adds choices to a space, with the numbers of how their weights lie.
class Adder {
 public:
  explicit Adder(SearchSpace& space) : space_(space) {}

  /// The choice's number; one that is there already is not added again.
  std::int32_t add(std::size_t task, std::size_t shape, plan::TaskPlan planned) {
    planned.mesh = space_.examples[shape];
    std::vector<Choice>& choices = space_.choices[task][shape];
    const auto same =
        std::find_if(choices.begin(), choices.end(), [&](const Choice& known) { return known.planned == planned; });
    if (same != choices.end()) return static_cast<std::int32_t>(same - choices.begin());
    const int form = form_of(task, planned);
    choices.push_back(choice_of(*space_.scenario, task, planned));
    space_.weight_forms[task][shape].push_back(form);
    add_agreement_forms(space_, task, shape);
    return static_cast<std::int32_t>(choices.size()) - 1;
  }

 private:
  /// The number that all tasks of the role have for weights that lie so, or the next.
  int form_of(std::size_t task, plan::TaskPlan planned) const {
    int next = 0;
    for (std::size_t other = 0; other < space_.choices.size(); ++other) {
      if (space_.is_rule(other) ||
          space_.scenario->job.workflow.role_of[other] != space_.scenario->job.workflow.role_of[task])
        continue;
      for (std::size_t shape = 0; shape < space_.examples.size(); ++shape)
        for (std::size_t choice = 0; choice < space_.choices[other][shape].size(); ++choice) {
          const plan::TaskPlan& known = space_.choices[other][shape][choice].planned;
          planned.mesh = known.mesh;
          const int form = space_.weight_forms[other][shape][choice];
          if (plan::share_weights(known, planned)) return form;
          next = std::max(next, form + 1);
        }
    }
    return next;
  }

  SearchSpace& space_;
};

}  // namespace

PlanSpace space_around(const predict::Scenario& scenario, const plan::Plan& plan, const ChoiceRules& rules,
                       int threads) {
  std::vector<cluster::Mesh> meshes = search_meshes(scenario.job);
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const cluster::Mesh& mesh = plan.tasks[task].mesh;
    if (scenario.job.workflow.tasks[task].kind == TaskKind::rule) continue;
    if (std::find(meshes.begin(), meshes.end(), mesh) == meshes.end()) meshes.push_back(mesh);
  }
  PlanSpace around{make_search_space(scenario, std::move(meshes), rules, threads), Selection(plan.tasks.size())};
  SearchSpace& space = around.space;
  Adder adder(space);
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    if (space.is_rule(task)) continue;
    const auto mesh = std::find(space.meshes.begin(), space.meshes.end(), plan.tasks[task].mesh) - space.meshes.begin();
    const std::size_t shape = space.shapes[static_cast<std::size_t>(mesh)];
    around.selection[task] = {static_cast<std::int32_t>(mesh), adder.add(task, shape, plan.tasks[task])};
    for (const plan::TaskPlan& varied : predict::variations_of(scenario, task, plan.tasks[task]))
      adder.add(task, shape, varied);
    const auto number = static_cast<std::int32_t>(mesh);
    if (std::find(space.open[task].begin(), space.open[task].end(), number) == space.open[task].end() &&
        space.is_open(task, number))
      space.open[task].insert(std::lower_bound(space.open[task].begin(), space.open[task].end(), number), number);
  }
  return around;
}

}  // namespace dovetail::planner
