#include "planner/search/placements.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "predict/closed_form/memory.h"

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

std::optional<std::int32_t> index_of(const SearchSpace& space, const cluster::Mesh& mesh) {
  const auto found = std::find(space.meshes.begin(), space.meshes.end(), mesh);
  if (found == space.meshes.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - space.meshes.begin());
}

/// Returns the selection of the first choices on these meshes ([task]). nullopt if a task cannot run on its mesh.
std::optional<Selection> selection_on(const SearchSpace& space, const std::vector<cluster::Mesh>& meshes) {
  Selection selection(meshes.size());
  for (std::size_t task = 0; task < meshes.size(); ++task) {
    if (space.is_rule(task)) continue;
    const auto mesh = index_of(space, meshes[task]);
    if (!mesh || !space.is_open(task, *mesh)) return std::nullopt;
    selection[task].mesh = *mesh;
  }
  if (!settle(space, selection)) return std::nullopt;
  return selection;
}

cluster::Mesh all_devices(const SearchSpace& space) { return {0, cluster::device_count(space.scenario->job.cluster)}; }

bool is_trained(const workflow::Workflow& workflow, std::size_t task) {
  return workflow.role_of[task] && workflow.trained_by[workflow.role_of[task]->index()].has_value();
}

/// Returns the meshes that start at the first device, each paired with the rest of the cluster, if that is a mesh as
/// well.
std::vector<std::pair<cluster::Mesh, cluster::Mesh>> mesh_pairs(const SearchSpace& space) {
  const int devices = all_devices(space).count;
  std::vector<std::pair<cluster::Mesh, cluster::Mesh>> splits;
  for (const cluster::Mesh& mesh : space.meshes) {
    const cluster::Mesh rest{mesh.count, devices - mesh.count};
    if (mesh.first == 0 && rest.count > 0 && index_of(space, rest)) splits.emplace_back(mesh, rest);
  }
  return splits;
}

/// [task of the workflow]
using Meshes = std::vector<cluster::Mesh>;

Meshes interleaving(const SearchSpace& space) {
  const workflow::Workflow& workflow = space.scenario->job.workflow;
  Meshes meshes(workflow.tasks.size(), all_devices(space));
  const int half = all_devices(space).count / 2;
  bool first = true;
  for (std::size_t task = 0; task < meshes.size(); ++task) {
    if (space.is_rule(task) || is_trained(workflow, task)) continue;
    meshes[task] = first ? cluster::Mesh{0, half} : cluster::Mesh{all_devices(space).count - half, half};
    first = !first;
  }
  return meshes;
}

/// Returns whether the task runs on the model that is being trained.
bool follows_training(const SearchSpace& space, std::size_t task) {
  return space.scenario->job.workflow.tasks[task].kind == TaskKind::train || !space.links[task].empty();
}

/// Returns the variants with training on the first devices and, on a cluster of several groups, on the last devices as
/// well.
std::vector<Meshes> disaggregated(const SearchSpace& space) {
  const plan::Job& job = space.scenario->job;
  std::vector<std::pair<cluster::Mesh, cluster::Mesh>> splits = mesh_pairs(space);
  if (job.cluster.groups.size() > 1)
    for (const auto& [first, last] : std::vector(splits)) splits.emplace_back(last, first);
  std::vector<Meshes> variants;
  for (const auto& [training, rest] : splits) {
    Meshes& meshes = variants.emplace_back();
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
      meshes.push_back(follows_training(space, task) ? training : rest);
  }
  return variants;
}

/// Selects each task's first choice with these degrees. Returns false if a task has none.
bool take_degrees(const SearchSpace& space, const Degrees& degrees, Selection& selection) {
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space.is_rule(task)) continue;
    const auto& choices = space.choices[task][space.shapes[static_cast<std::size_t>(selection[task].mesh)]];
    const auto choice = std::find_if(choices.begin(), choices.end(),
                                     [&](const Choice& candidate) { return degrees.are_of(candidate.planned.layout); });
    if (choice == choices.end()) return false;
    selection[task].choice = static_cast<std::int32_t>(choice - choices.begin());
  }
  return settle(space, selection);
}

/// Coordinate descent. With `same_degrees`, tensor and pipeline degrees do not change. Engines on one mesh with the
/// first engine also change their choice together: memory that one of them frees is useless if another one takes too
/// much.
class Descent {
 public:
  Descent(const SearchSpace& space, Trial& trial, Selection& selection, DescentObjective objective, bool same_degrees)
      : space_(space),
        trial_(trial),
        selection_(selection),
        aim_(objective),
        same_degrees_(same_degrees),
        usable_(min_memory(space)) {}

  Score run() {
    score_ = trial_.score(selection_);
    for (bool gained = true; gained && !space_.scenario->is_stopped();) {
      gained = false;
      for (std::size_t task = 0; task < selection_.size(); ++task)
        if (!space_.is_rule(task) && improve({task})) gained = true;
      const std::vector<std::size_t> engines = engines_together();
      if (engines.size() > 1 && improve(engines)) gained = true;
    }
    return score_;
  }

 private:
  bool is_better(const Score& score) const {
    if (aim_ == DescentObjective::excess && score.excess != score_.excess) return score.excess < score_.excess;
    return score.cost(usable_) < score_.cost(usable_);
  }

  const std::vector<Choice>& choices_of(std::size_t task) const {
    return space_.choices[task][space_.shapes[static_cast<std::size_t>(selection_[task].mesh)]];
  }

  /// Returns the first generate task and all others with the same mesh and the same number of choices.
  std::vector<std::size_t> engines_together() const {
    std::vector<std::size_t> together;
    for (std::size_t task = 0; task < selection_.size(); ++task) {
      if (space_.scenario->job.workflow.tasks[task].kind != TaskKind::generate) continue;
      const bool joins = together.empty() || (selection_[task].mesh == selection_[together.front()].mesh &&
                                              choices_of(task).size() == choices_of(together.front()).size());
      if (joins) together.push_back(task);
    }
    return together;
  }

  /// Returns whether the degrees of the choice differ from those of `now`.
  bool changes_degrees(std::size_t task, const SelectedChoice& now, std::size_t choice) const {
    const llm::Layout& layout = choices_of(task)[choice].planned.layout;
    const llm::Layout& before = space_.choice(task, now).planned.layout;
    return layout.tensor != before.tensor || layout.pipeline != before.pipeline;
  }

  /// Tries each choice for all of these tasks at once. REQUIRES: the tasks have the same number of choices.
  bool improve(const std::vector<std::size_t>& tasks) {
    const Selection before = selection_;
    Selection best = selection_;
    bool gained = false;
    for (std::size_t choice = 0; choice < choices_of(tasks.front()).size() && !space_.scenario->is_stopped();
         ++choice) {
      const auto changes = [&](std::size_t task) { return changes_degrees(task, before[task], choice); };
      if (same_degrees_ && std::any_of(tasks.begin(), tasks.end(), changes)) continue;
      selection_ = before;
      const auto take_it = [&](std::size_t task) {
        return take(space_, selection_, task, {before[task].mesh, static_cast<std::int32_t>(choice)});
      };
      if (!std::all_of(tasks.begin(), tasks.end(), take_it)) continue;
      const Score tried = trial_.score(selection_);
      if (!is_better(tried)) continue;
      score_ = tried;
      best = selection_;
      gained = true;
    }
    selection_ = std::move(best);
    return gained;
  }

  const SearchSpace& space_;
  Trial& trial_;
  Selection& selection_;
  const DescentObjective aim_;
  const bool same_degrees_;
  const std::int64_t usable_;
  Score score_;
};

}  // namespace

std::string_view name_of(Placement placement) {
  switch (placement) {
    case Placement::co_located:
      return "co-located";
    case Placement::interleaving:
      return "interleaving";
    case Placement::disaggregated:
      return "disaggregated";
    case Placement::megatron:
      return "megatron";
    case Placement::rlhfuse:
      return "rlhfuse";
    case Placement::searched:
      return "searched";
  }
  DOVETAIL_ASSERT(false);
}

std::int64_t min_memory(const SearchSpace& space) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const cluster::NodeGroup& group : space.scenario->job.cluster.groups)
    least = std::min(least, predict::plan_memory(*space.scenario, group.gpu));
  return least;
}

std::vector<std::vector<cluster::Mesh>> meshes_of(const SearchSpace& space, Placement placement) {
  DOVETAIL_ASSERT(placement != Placement::searched && placement != Placement::rlhfuse);
  std::vector<Meshes> variants;
  if (placement == Placement::disaggregated)
    variants = disaggregated(space);
  else if (placement == Placement::interleaving)
    variants = {interleaving(space)};
  else
    variants = {Meshes(space.choices.size(), all_devices(space))};
  const std::vector<plan::TaskPin>& fixed = space.scenario->job.fixed;
  for (Meshes& meshes : variants)
    for (std::size_t task = 0; task < fixed.size(); ++task)
      if (fixed[task].mesh) meshes[task] = *fixed[task].mesh;
  return variants;
}

std::optional<Degrees> degrees_of(const SearchSpace& space, Placement placement) {
  if (placement != Placement::megatron) return std::nullopt;
  const int nodes = cluster::node_count(space.scenario->job.cluster);
  return Degrees{all_devices(space).count / nodes, nodes};
}

std::vector<Selection> selection_of(const SearchSpace& space, Placement placement, DescentObjective objective) {
  const std::optional<Degrees> degrees = degrees_of(space, placement);
  std::vector<Selection> starts;
  for (const Meshes& meshes : meshes_of(space, placement))
    if (auto selection = selection_on(space, meshes);
        selection && (!degrees || take_degrees(space, *degrees, *selection)))
      starts.push_back(*selection);
  Trial trial(space);
  for (Selection& selection : starts) Descent(space, trial, selection, objective, degrees.has_value()).run();
  return starts;
}

Score improve_choices(const SearchSpace& space, Trial& trial, Selection& selection, DescentObjective objective) {
  return Descent(space, trial, selection, objective, false).run();
}

}  // namespace dovetail::planner
