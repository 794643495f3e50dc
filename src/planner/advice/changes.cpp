#include "planner/advice/changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "planner/rank/fusion_choice.h"

namespace dovetail::planner {
namespace {

/// A selection with its score.
struct Candidate {
  Selection selection;
  Score score;
};

/// Number of candidates per group that are evaluated exactly.
constexpr std::size_t evaluated = 3;

/// The best few candidates that fit, by period.
class Shortlist {
 public:
  void add(const Selection& selection, const Score& score) {
    if (score.excess > 0 || (best_.size() == evaluated && score.period >= best_.back().score.period)) return;
    const auto place =
        std::upper_bound(best_.begin(), best_.end(), score.period,
                         [](base::Ticks period, const Candidate& known) { return period < known.score.period; });
    best_.insert(place, {selection, score});
    if (best_.size() > evaluated) best_.pop_back();
  }

  const std::vector<Candidate>& best() const { return best_; }

 private:
  std::vector<Candidate> best_;
};

/// The plan to change, and the ratio of its fused training to the bound.
struct Origin {
  const plan::Plan& plan;
  std::optional<double> over_bound;
};

/// Returns the fastest candidate that fits, according to predict::estimate.
std::optional<Change> fastest_change(const predict::Scenario& scenario, const Origin& from, const SearchSpace& space,
                                     const Shortlist& list) {
  std::optional<Change> fastest;
  for (const Candidate& candidate : list.best()) {
    Change change = change_to(scenario, from.plan, plan_of(space, candidate.selection, "custom"), from.over_bound);
    if (change.fit != predict::Fit::fits || change.tasks.empty()) continue;
    if (!fastest || change.iteration_seconds < fastest->iteration_seconds) fastest = std::move(change);
  }
  return fastest;
}

void add_single_changes(const predict::Scenario& scenario, const Origin& from, const PlanSpace& around, Trial& trial,
                        std::vector<Change>& changes) {
  const SearchSpace& space = around.space;
  for (std::size_t task = 0; task < around.selection.size(); ++task) {
    if (space.is_rule(task)) continue;
    std::map<ChangeKind, Shortlist> lists;
    const plan::TaskPlan& now = from.plan.tasks[task];
    for (const std::int32_t mesh : space.open[task]) {
      const auto& choices = space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]];
      for (std::size_t choice = 0; choice < choices.size(); ++choice) {
        const SelectedChoice selected{mesh, static_cast<std::int32_t>(choice)};
        Selection selection = around.selection;
        if (selected == around.selection[task] || !take(space, selection, task, selected)) continue;
        if (scenario.is_stopped()) return;
        plan::TaskPlan changed = choices[choice].planned;
        changed.mesh = space.meshes[static_cast<std::size_t>(mesh)];
        lists[kind_of(now, changed)].add(selection, trial.score(selection));
      }
    }
    for (const auto& [kind, list] : lists)
      if (auto change = fastest_change(scenario, from, space, list)) changes.push_back(std::move(*change));
  }
}

/// Returns which tasks can run at the same time: [task][other task].
std::vector<std::vector<bool>> independence_of(const plan::Job& job) {
  const std::size_t tasks = job.workflow.tasks.size();
  std::vector<std::vector<bool>> before(tasks, std::vector<bool>(tasks, false));
  for (const workflow::DataEdge& edge : job.workflow.data_edges) before[edge.from.index()][edge.to.index()] = true;
  for (std::size_t middle = 0; middle < tasks; ++middle)
    for (std::size_t from = 0; from < tasks; ++from)
      for (std::size_t to = 0; to < tasks; ++to)
        if (before[from][middle] && before[middle][to]) before[from][to] = true;
  // Off policy, generation for later iterations does not wait for this one.
  std::vector<std::vector<bool>> independent(tasks, std::vector<bool>(tasks, job.workload.steps_off_policy > 0));
  for (std::size_t from = 0; from < tasks; ++from)
    for (std::size_t to = 0; to < tasks; ++to)
      if (from != to && !before[from][to] && !before[to][from]) independent[from][to] = true;
  return independent;
}

/// Returns the pairs of meshes that divide the hull of two meshes, in both orders.
std::vector<std::pair<std::int32_t, std::int32_t>> splits_of(const SearchSpace& space, const cluster::Mesh& a,
                                                             const cluster::Mesh& b) {
  const cluster::Mesh hull = cluster::hull_of(a, b);
  std::vector<std::pair<std::int32_t, std::int32_t>> splits;
  for (std::size_t first = 0; first < space.meshes.size(); ++first) {
    const cluster::Mesh& mesh = space.meshes[first];
    const cluster::Mesh rest{mesh.first + mesh.count, hull.count - mesh.count};
    if (mesh.first != hull.first || rest.count <= 0) continue;
    const auto second = std::find(space.meshes.begin(), space.meshes.end(), rest);
    if (second == space.meshes.end()) continue;
    const auto number = static_cast<std::int32_t>(second - space.meshes.begin());
    splits.emplace_back(static_cast<std::int32_t>(first), number);
    splits.emplace_back(number, static_cast<std::int32_t>(first));
  }
  return splits;
}

/// Selects the cheapest choice on their meshes for the two tasks, in turn.
void choose(const SearchSpace& space, Trial& trial, Selection& selection,
            const std::pair<std::size_t, std::size_t>& tasks) {
  const std::int64_t usable = min_memory(space);
  double least = trial.score(selection).cost(usable);
  for (const std::size_t task : {tasks.first, tasks.second, tasks.first}) {
    const Selection before = selection;
    Selection best = selection;
    const std::int32_t mesh = selection[task].mesh;
    const std::size_t choices = space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size();
    for (std::size_t choice = 0; choice < choices; ++choice) {
      selection = before;
      if (!take(space, selection, task, {mesh, static_cast<std::int32_t>(choice)})) continue;
      const double cost = trial.score(selection).cost(usable);
      if (cost >= least) continue;
      least = cost;
      best = selection;
    }
    selection = std::move(best);
  }
}

void add_pairs(const predict::Scenario& scenario, const Origin& from, const PlanSpace& around, Trial& trial,
               std::vector<Change>& changes) {
  const SearchSpace& space = around.space;
  const std::vector<std::vector<bool>> independent = independence_of(scenario.job);
  for (std::size_t a = 0; a < around.selection.size(); ++a)
    for (std::size_t b = a + 1; b < around.selection.size(); ++b) {
      if (space.is_rule(a) || space.is_rule(b) || !independent[a][b]) continue;
      if (scenario.is_stopped()) return;
      Shortlist list;
      for (const auto& [of_a, of_b] : splits_of(space, from.plan.tasks[a].mesh, from.plan.tasks[b].mesh)) {
        if (!space.is_open(a, of_a) || !space.is_open(b, of_b)) continue;
        if (scenario.is_stopped()) return;
        Selection selection = around.selection;
        if (!take(space, selection, a, {of_a, 0}) || !take(space, selection, b, {of_b, 0})) continue;
        choose(space, trial, selection, {a, b});
        list.add(selection, trial.score(selection));
      }
      auto change = fastest_change(scenario, from, space, list);
      if (!change || change->tasks.size() < 2) continue;
      change->kind = ChangeKind::side_by_side;
      changes.push_back(std::move(*change));
    }
}

/// Copies the figures of an estimate into a change.
void fill(const predict::Estimate& estimate, Change& change) {
  change.iteration_seconds = estimate.iteration_seconds;
  change.min_margin_task = min_margin_task(estimate.memory);
  change.margin = estimate.memory[change.min_margin_task].margin();
  change.fit = estimate.fit();
  change.missing = missing_of(estimate.memory).bytes;
}

std::vector<std::size_t> tasks_of(const plan::GenerationStage& stage) {
  std::vector<std::size_t> tasks{stage.generate};
  tasks.insert(tasks.end(), stage.infer.begin(), stage.infer.end());
  return tasks;
}

/// Adds other fusions of the otherwise unchanged plan.
void add_fusions(const predict::Scenario& scenario, const plan::Plan& plan, std::vector<Change>& changes) {
  const auto add = [&](ChangeKind kind, std::vector<std::size_t> tasks, const plan::Fusion& fusion) {
    if (fusion == plan.fusion || !plan::agrees(scenario.job.fixed_fusion, fusion)) return;
    Change change;
    change.kind = kind;
    change.tasks = std::move(tasks);
    change.plan = plan;
    change.plan.placement = "custom";
    change.plan.fusion = fusion;
    fill(estimate(scenario, change.plan), change);
    if (change.fit == predict::Fit::fits) changes.push_back(std::move(change));
  };
  if (const auto stage = plan::generation_stage(scenario.job, plan.tasks)) {
    const auto threshold = chosen_threshold(scenario, plan.tasks);
    const bool now = plan.fusion.threshold.has_value();
    if (threshold)
      add(now ? ChangeKind::threshold : ChangeKind::fusion, tasks_of(*stage),
          {.threshold = threshold, .training = plan.fusion.training});
    if (now) add(ChangeKind::fusion, tasks_of(*stage), {.threshold = std::nullopt, .training = plan.fusion.training});
  }
  const auto pair = plan.fusion.training ? plan.fusion.training : fusible_pair(scenario.job, plan.tasks);
  if (!pair) return;
  const auto other = plan.fusion.training ? std::nullopt : pair;
  add(ChangeKind::fusion, {(*pair)[0], (*pair)[1]}, {.threshold = plan.fusion.threshold, .training = other});
}

/// Returns whether `change` changes several settings but gains no more than a change of one setting of the same task.
bool is_needless(const Change& change, const std::vector<Change>& changes) {
  if (change.kind != ChangeKind::settings) return false;
  return std::any_of(changes.begin(), changes.end(), [&](const Change& other) {
    return other.kind > ChangeKind::layout && other.kind < ChangeKind::settings && other.tasks == change.tasks &&
           other.iteration_seconds <= change.iteration_seconds;
  });
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::mesh:
      return "mesh";
    case ChangeKind::side_by_side:
      return "side by side";
    case ChangeKind::layout:
      return "layout";
    case ChangeKind::zero:
      return "zero";
    case ChangeKind::recomputation:
      return "recomputation";
    case ChangeKind::micro_batch:
      return "micro-batch";
    case ChangeKind::engine:
      return "engine";
    case ChangeKind::offload:
      return "offload";
    case ChangeKind::settings:
      return "settings";
    case ChangeKind::fusion:
      return "fusion";
    case ChangeKind::threshold:
      return "threshold";
  }
  DOVETAIL_ASSERT(false);
}

ChangeKind kind_of(const plan::TaskPlan& from, const plan::TaskPlan& to) {
  if (from.mesh != to.mesh) return ChangeKind::mesh;
  llm::Layout same_settings = to.layout;
  same_settings.zero = from.layout.zero;
  same_settings.recomputation = from.layout.recomputation;
  if (same_settings != from.layout) return ChangeKind::layout;
  std::vector<ChangeKind> kinds;
  if (from.layout.zero != to.layout.zero) kinds.push_back(ChangeKind::zero);
  if (from.layout.recomputation != to.layout.recomputation) kinds.push_back(ChangeKind::recomputation);
  if (from.micro_batching != to.micro_batching) kinds.push_back(ChangeKind::micro_batch);
  if (from.engine != to.engine) kinds.push_back(ChangeKind::engine);
  if (from.offload != to.offload) kinds.push_back(ChangeKind::offload);
  return kinds.size() == 1 ? kinds.front() : ChangeKind::settings;
}

void reestimate(const predict::Scenario& scenario, Change& change) {
  fill(predict::estimate(scenario, change.plan), change);
}

std::size_t min_margin_task(const std::vector<predict::TaskMemory>& memory) {
  std::optional<std::size_t> found;
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (memory[task].usable > 0 && (!found || memory[task].margin() < memory[*found].margin())) found = task;
  DOVETAIL_ASSERT(found.has_value());
  return *found;
}

Missing missing_of(const std::vector<predict::TaskMemory>& memory) {
  Missing missing;
  missing.task = min_margin_task(memory);
  missing.bytes = std::max<std::int64_t>(0, -memory[missing.task].margin());
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (const std::int64_t bytes = memory[task].host - memory[task].host_memory;
        memory[task].usable > 0 && bytes > missing.bytes)
      missing = {bytes, true, task};
  return missing;
}

Change change_to(const predict::Scenario& scenario, const plan::Plan& from, plan::Plan plan,
                 std::optional<double> over_bound) {
  plan.fusion = plan::possible_fusion(from.fusion, scenario.job, plan.tasks);
  const predict::Estimate estimate = predict::estimate_like(scenario, plan, over_bound);
  Change change;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    if (from.tasks[task] != plan.tasks[task]) change.tasks.push_back(task);
  if (change.tasks.size() == 1)
    change.kind = kind_of(from.tasks[change.tasks.front()], plan.tasks[change.tasks.front()]);
  change.plan = std::move(plan);
  fill(estimate, change);
  return change;
}

std::vector<Change> changes_of(const predict::Scenario& scenario, const plan::Plan& plan, const PlanSpace& around,
                               OptionSet option_set) {
  std::vector<Change> changes;
  Trial trial(around.space);
  Origin from{plan, std::nullopt};
  if (plan.fusion.training) from.over_bound = predict::intra_stage(scenario, plan).over_bound();
  add_single_changes(scenario, from, around, trial, changes);
  add_pairs(scenario, from, around, trial, changes);
  if (option_set == OptionSet::all && !scenario.is_stopped()) add_fusions(scenario, plan, changes);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.iteration_seconds < b.iteration_seconds; });
  std::vector<Change> needed;
  for (const Change& change : changes)
    if (!is_needless(change, changes)) needed.push_back(change);
  return needed;
}

}  // namespace dovetail::planner
