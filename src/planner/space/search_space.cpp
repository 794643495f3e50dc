#include "planner/space/search_space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "cost/generation.h"
#include "cost/machine.h"
#include "parallel/for_each_index.h"
#include "plan/framework.h"
#include "plan/iteration_graph.h"
#include "predict/closed_form/trainer_rules.h"
#include "predict/closed_form/variations.h"

namespace dovetail::planner {
namespace {

constexpr int few_nodes = 16;
constexpr int significant_digits = 3;

/// Returns whether a search on many nodes considers the run of `count` nodes that starts at `first`.
bool is_usual_run(int first, int count) {
  const auto width = std::bit_width(static_cast<unsigned>(count));
  const int unit = 1 << std::max(0, static_cast<int>(width) - significant_digits);
  const int last_digit = count & -count;
  return count % unit == 0 && first % last_digit == 0;
}

void number_shapes(SearchSpace& space) {
  std::map<cluster::MeshShape, std::size_t> numbers;
  for (const cluster::Mesh& mesh : space.meshes) {
    const auto [entry, is_new] =
        numbers.emplace(cluster::shape_of(space.scenario->job.cluster, mesh), space.examples.size());
    if (is_new) space.examples.push_back(mesh);
    space.shapes.push_back(entry->second);
  }
}

/// Numbers the forms in which weights are stored, consistently for all tasks of a role.
std::vector<int> forms_of(const std::vector<Choice>& choices, std::vector<plan::TaskPlan>& known) {
  std::vector<int> forms;
  for (const Choice& choice : choices) {
    plan::TaskPlan planned = choice.planned;
    planned.mesh = {};
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const plan::TaskPlan& other) { return plan::share_weights(other, planned); });
    forms.push_back(static_cast<int>(same - known.begin()));
    if (same == known.end()) known.push_back(planned);
  }
  return forms;
}

/// Returns the index of the first element of `known` that agrees with `planned`. Adds `planned` if no element does.
int number_of(const plan::TaskPlan& planned, bool (*agree)(const plan::TaskPlan&, const plan::TaskPlan&),
              std::vector<plan::TaskPlan>& known) {
  const auto same =
      std::find_if(known.begin(), known.end(), [&](const plan::TaskPlan& other) { return agree(other, planned); });
  const auto number = static_cast<int>(same - known.begin());
  if (same == known.end()) known.push_back(planned);
  return number;
}

void number_agreements(SearchSpace& space) {
  const std::vector<plan::Agreement>& agreements = plan::agreements_of(space.scenario->job);
  space.agreement_examples.resize(agreements.size());
  for (std::size_t agreement = 0; agreement < agreements.size(); ++agreement) {
    auto& forms = space.agreement_forms.emplace_back(space.choices.size());
    for (std::size_t task = 0; task < forms.size(); ++task)
      for (const std::vector<Choice>& choices : space.choices[task]) {
        std::vector<int>& numbers = forms[task].emplace_back();
        for (const Choice& choice : choices)
          numbers.push_back(
              number_of(choice.planned, agreements[agreement].agree, space.agreement_examples[agreement]));
      }
  }
}

/// Returns the properties that the job's trainer and framework make tasks share.
std::vector<std::vector<Link>> links_of(const predict::Scenario& scenario) {
  const plan::Job& job = scenario.job;
  const std::vector<plan::Agreement>& agreements = plan::agreements_of(job);
  const auto linked = predict::linked_tasks(job, scenario.software.conventions);
  std::vector<std::vector<Link>> links(job.workflow.tasks.size());
  for (std::size_t task = 0; task < links.size(); ++task)
    for (std::size_t other = 0; other < links.size(); ++other) {
      Link link{.task = other, .mesh = false, .weights = false, .agreements = {}};
      link.mesh = link.weights = std::find(linked[task].begin(), linked[task].end(), other) != linked[task].end();
      for (std::size_t agreement = 0; agreement < agreements.size(); ++agreement) {
        if (!plan::applies(agreements[agreement], job, task, other)) continue;
        link.agreements.push_back(agreement);
        link.mesh = link.mesh || agreements[agreement].same_mesh;
      }
      if (link.weights || !link.agreements.empty()) links[task].push_back(std::move(link));
    }
  return links;
}

/// Returns whether a choice of `task` agrees with the selected choice of the link's task.
bool agrees(const SearchSpace& space, std::size_t task, SelectedChoice choice, const Link& link,
            SelectedChoice selected) {
  if (link.mesh && choice.mesh != selected.mesh) return false;
  if (link.weights && space.weight_form(task, choice) != space.weight_form(link.task, selected)) return false;
  const auto form = [&](std::size_t agreement, std::size_t of, SelectedChoice chosen) {
    const std::size_t shape = space.shapes[static_cast<std::size_t>(chosen.mesh)];
    return space.agreement_forms[agreement][of][shape][static_cast<std::size_t>(chosen.choice)];
  };
  return std::all_of(link.agreements.begin(), link.agreements.end(), [&](std::size_t agreement) {
    return form(agreement, task, choice) == form(agreement, link.task, selected);
  });
}

/// Selects the first choice of `task` that agrees with all of `settled`, unless the current one does. Returns false if
/// no choice does.
bool follow(const SearchSpace& space, Selection& selection, std::size_t task, const std::vector<std::size_t>& settled) {
  std::int32_t mesh = selection[task].mesh;
  for (const Link& link : space.links[task])
    if (link.mesh && std::find(settled.begin(), settled.end(), link.task) != settled.end())
      mesh = selection[link.task].mesh;
  if (!space.is_open(task, mesh)) return false;
  const auto agrees_with_all = [&](SelectedChoice choice) {
    return std::all_of(space.links[task].begin(), space.links[task].end(), [&](const Link& link) {
      return std::find(settled.begin(), settled.end(), link.task) == settled.end() ||
             agrees(space, task, choice, link, selection[link.task]);
    });
  };
  if (agrees_with_all(selection[task])) return true;
  const std::size_t count = space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size();
  for (std::size_t choice = 0; choice < count; ++choice) {
    const SelectedChoice tried{mesh, static_cast<std::int32_t>(choice)};
    if (!agrees_with_all(tried)) continue;
    selection[task] = tried;
    return true;
  }
  return false;
}

WeightSyncTicks weight_sync_ticks(const predict::Scenario& scenario, std::size_t task, const cluster::Mesh& mesh) {
  const cost::ModelFacts& facts = scenario.models[scenario.job.workflow.role_of[task]->index()];
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, mesh, scenario.software.efficiency);
  const auto ticks = [&](bool apart) {
    return base::ticks_of_seconds(
        cost::weight_sync_seconds(facts, mesh.count, apart, machine, scenario.software.efficiency));
  };
  return {ticks(false), ticks(true)};
}

/// Calls work(task, shape) for each task that is not a rule, the last shapes first.
template <class Work>
void for_each_shape(const SearchSpace& space, int threads, const Work& work) {
  const std::size_t tasks = space.choices.size();
  parallel::for_each_index(static_cast<int>(tasks * space.examples.size()), threads, [&](int index) {
    const std::size_t task = static_cast<std::size_t>(index) % tasks;
    if (!space.is_rule(task)) work(task, space.examples.size() - 1 - static_cast<std::size_t>(index) / tasks);
  });
}

/// Fills in the choices. A training has its optimizer on the host only if it has no other choice on any of its meshes.
void fill_choices(SearchSpace& space, ChoiceRules rules, int threads) {
  for_each_shape(space, threads, [&](std::size_t task, std::size_t shape) {
    space.choices[task][shape] = choices_of(*space.scenario, task, space.examples[shape], rules);
  });
  std::vector<char> impossible;
  for (std::size_t task = 0; task < space.choices.size(); ++task) impossible.push_back(space.has_choices(task) ? 0 : 1);
  rules.optimizer_on_host = true;
  for_each_shape(space, threads, [&](std::size_t task, std::size_t shape) {
    if (impossible[task] != 0)
      space.choices[task][shape] = choices_of(*space.scenario, task, space.examples[shape], rules);
  });
}

}  // namespace

bool SearchSpace::has_choices(std::size_t task, std::int32_t mesh) const {
  const auto index = static_cast<std::size_t>(mesh);
  const auto& fixed = scenario->job.fixed;
  return !choices[task][shapes[index]].empty() && (fixed.empty() || plan::admits(fixed[task], meshes[index]));
}

bool SearchSpace::has_choices(std::size_t task) const {
  for (std::size_t mesh = 0; mesh < meshes.size(); ++mesh)
    if (has_choices(task, static_cast<std::int32_t>(mesh))) return true;
  return false;
}

bool SearchSpace::is_open(std::size_t task, std::int32_t mesh) const {
  const auto may_follow = [&](const Link& link) { return !link.mesh || has_choices(link.task, mesh); };
  return has_choices(task, mesh) && std::all_of(links[task].begin(), links[task].end(), may_follow);
}

std::vector<cluster::Mesh> search_meshes(const plan::Job& job) {
  const cluster::Cluster& cluster = job.cluster;
  std::vector<cluster::Mesh> meshes =
      cluster::meshes_of(cluster, 1, cluster::node_count(cluster) > few_nodes ? is_usual_run : nullptr);
  for (const plan::TaskPin& pin : job.fixed)
    if (pin.mesh && std::find(meshes.begin(), meshes.end(), *pin.mesh) == meshes.end()) meshes.push_back(*pin.mesh);
  return meshes;
}

SearchSpace make_search_space(const predict::Scenario& scenario, std::vector<cluster::Mesh> meshes,
                              const ChoiceRules& rules, int threads) {
  SearchSpace space;
  space.scenario = &scenario;
  space.meshes = std::move(meshes);
  number_shapes(space);
  const std::size_t tasks = scenario.job.workflow.tasks.size();
  const std::size_t shapes = space.examples.size();
  space.choices.assign(tasks, std::vector<std::vector<Choice>>(shapes));
  space.weight_forms.assign(tasks, std::vector<std::vector<int>>(shapes));
  space.weight_syncs.assign(tasks, std::vector<WeightSyncTicks>(shapes));
  space.open.resize(tasks);
  space.rules.resize(tasks);
  space.links.resize(tasks);
  if (rules.option_set == OptionSet::all) space.links = links_of(scenario);
  fill_choices(space, rules, threads);
  number_agreements(space);
  for_each_shape(space, threads, [&](std::size_t task, std::size_t shape) {
    if (scenario.job.workflow.tasks[task].kind == workflow::TaskKind::generate)
      space.weight_syncs[task][shape] = weight_sync_ticks(scenario, task, space.examples[shape]);
  });
  std::vector<std::vector<plan::TaskPlan>> known(scenario.job.workflow.roles.size());
  for (std::size_t task = 0; task < tasks; ++task) {
    if (space.is_rule(task)) {
      space.rules[task] = base::ticks_of_seconds(predict::task_seconds(scenario, task, {}).seconds);
      continue;
    }
    auto& of_role = known[scenario.job.workflow.role_of[task]->index()];
    for (std::size_t shape = 0; shape < shapes; ++shape)
      space.weight_forms[task][shape] = forms_of(space.choices[task][shape], of_role);
    for (std::size_t mesh = 0; mesh < space.meshes.size(); ++mesh)
      if (space.is_open(task, static_cast<std::int32_t>(mesh)))
        space.open[task].push_back(static_cast<std::int32_t>(mesh));
  }
  return space;
}

std::optional<std::size_t> impossible_task(const SearchSpace& space) {
  for (std::size_t task = 0; task < space.open.size(); ++task)
    if (!space.is_rule(task) && !space.has_choices(task)) return task;
  for (std::size_t task = 0; task < space.open.size(); ++task)
    if (!space.is_rule(task) && space.open[task].empty()) return task;
  return std::nullopt;
}

plan::TaskPlan task_plan_of(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  plan::TaskPlan planned = space.choice(task, selected).planned;
  planned.mesh = space.meshes[static_cast<std::size_t>(selected.mesh)];
  return planned;
}

void add_agreement_forms(SearchSpace& space, std::size_t task, std::size_t shape) {
  const std::vector<plan::Agreement>& agreements = plan::agreements_of(space.scenario->job);
  const plan::TaskPlan& added = space.choices[task][shape].back().planned;
  for (std::size_t agreement = 0; agreement < space.agreement_forms.size(); ++agreement)
    space.agreement_forms[agreement][task][shape].push_back(
        number_of(added, agreements[agreement].agree, space.agreement_examples[agreement]));
}

bool take(const SearchSpace& space, Selection& selection, std::size_t task, SelectedChoice selected) {
  selection[task] = selected;
  if (space.links[task].empty()) return true;
  std::vector<std::size_t> settled{task};
  for (std::size_t next = 0; next < settled.size(); ++next)
    for (const Link& link : space.links[settled[next]]) {
      if (std::find(settled.begin(), settled.end(), link.task) != settled.end()) continue;
      if (!follow(space, selection, link.task, settled)) return false;
      settled.push_back(link.task);
    }
  return true;
}

bool settle(const SearchSpace& space, Selection& selection) {
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space.links[task].empty()) continue;
    SelectedChoice selected = selection[task];
    const auto choices =
        static_cast<std::int32_t>(space.choices[task][space.shapes[static_cast<std::size_t>(selected.mesh)]].size());
    while (selected.choice < choices && !take(space, selection, task, selected)) ++selected.choice;
    if (selected.choice >= choices) return false;
  }
  return true;
}

plan::Plan plan_of(const SearchSpace& space, const Selection& selection, std::string placement) {
  plan::Plan plan;
  plan.placement = std::move(placement);
  plan.tasks.resize(selection.size());
  for (std::size_t task = 0; task < selection.size(); ++task)
    if (!space.is_rule(task)) plan.tasks[task] = task_plan_of(space, task, selection[task]);
  return plan;
}

namespace {

using workflow::TaskKind;

/// Adds choices to a space and numbers their weight forms.
class Adder {
 public:
  explicit Adder(SearchSpace& space) : space_(space) {}

  /// Returns the index of the choice. Adds it only if it is new.
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
  /// Returns the weight form shared by all tasks of the role that store weights this way, or the next unused number.
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
