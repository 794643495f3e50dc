#include "place/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cluster/collective.h"

namespace dovetail::place {
namespace {

using workflow::TaskKind;

/// Weights of a role that some tasks share.
struct Copy {
  std::vector<std::size_t> tasks;
  std::size_t owner = 0;  ///< the task whose choice says what is stored: the one that trains, else the first
  bool trained = false;
  bool engine = false;
};

/// What each of the devices first ... end - 1 has at least.
std::int64_t usable_memory(const cluster::Cluster& cluster, int first, int end) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  int device = 0;
  for (const cluster::NodeGroup& group : cluster.groups) {
    const int after = device + group.nodes * group.devices_per_node;
    if (device < end && first < after) least = std::min(least, group.gpu.usable_memory);
    device = after;
  }
  return least;
}

}  // namespace

/// Which tasks of a role share weights; all plans that agree in it have the same graph.
struct Trial::Sharing {
  std::vector<char> alike;  ///< [pair of tasks of a role, as sharing_of counts them]
  plan::IterationGraph graph;
  plan::IterationTimer timer;
  std::vector<Copy> copies;
  std::vector<std::size_t> copy_of;  ///< [task]
};

double Score::cost(std::int64_t usable) const {
  const double seconds = static_cast<double>(period.count()) * 1e-9;
  return excess == 0 ? seconds : seconds * (1.5 + 3 * static_cast<double>(excess) / static_cast<double>(usable));
}

Trial::Trial(const SearchSpace& space) : space_(space) {}
Trial::~Trial() = default;

namespace {

bool has_own_weights(const SearchSpace& space, std::size_t task, Pick pick) {
  return space.ground->job.workflow.tasks[task].kind == TaskKind::generate && space.choice(task, pick).planned.engine.own_weights;
}

bool are_alike(const SearchSpace& space, const Picks& picks, std::size_t a, std::size_t b) {
  return picks[a].mesh == picks[b].mesh && space.weight_form(a, picks[a]) == space.weight_form(b, picks[b]) &&
         has_own_weights(space, a, picks[a]) == has_own_weights(space, b, picks[b]);
}

std::vector<Copy> copies_of(const SearchSpace& space, const Picks& picks) {
  const workflow::Workflow& workflow = space.ground->job.workflow;
  std::vector<Copy> copies;
  for (std::size_t task = 0; task < picks.size(); ++task) {
    if (space.is_rule(task)) continue;
    const auto copy = std::find_if(copies.begin(), copies.end(), [&](const Copy& known) {
      return workflow.role_of[known.tasks.front()] == workflow.role_of[task] && are_alike(space, picks, known.tasks.front(), task);
    });
    const bool trains = workflow.tasks[task].kind == TaskKind::train;
    if (copy == copies.end()) {
      copies.push_back({{task}, task, trains, has_own_weights(space, task, picks[task])});
      continue;
    }
    copy->tasks.push_back(task);
    if (trains) copy->owner = task;
    copy->trained = copy->trained || trains;
  }
  return copies;
}

}  // namespace

Trial::Sharing& Trial::sharing_of(const Picks& picks) {
  const workflow::Workflow& workflow = space_.ground->job.workflow;
  alike_.clear();
  for (std::size_t a = 0; a < picks.size(); ++a)
    for (std::size_t b = a + 1; b < picks.size(); ++b)
      if (!space_.is_rule(a) && !space_.is_rule(b) && workflow.role_of[a] == workflow.role_of[b])
        alike_.push_back(are_alike(space_, picks, a, b) ? 1 : 0);
  if (last_ != nullptr && last_->alike == alike_) return *last_;
  for (const auto& sharing : sharings_)
    if (sharing->alike == alike_) return *(last_ = sharing.get());
  plan::IterationGraph graph = plan::iteration_graph(space_.ground->job, plan_of(space_, picks, ""));
  plan::IterationTimer timer(graph);
  sharings_.push_back(std::make_unique<Sharing>(
      Sharing{alike_, std::move(graph), std::move(timer), copies_of(space_, picks), std::vector<std::size_t>(picks.size())}));
  Sharing& made = *sharings_.back();
  for (std::size_t copy = 0; copy < made.copies.size(); ++copy)
    for (const std::size_t task : made.copies[copy].tasks) made.copy_of[task] = copy;
  return *(last_ = &made);
}

/// The slowest link on the way to the destination, at full speed.
base::Ticks Trial::reallocation_ticks(const Picks& picks, const plan::Step& step) const {
  const Pick to = picks[step.task];
  const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(to.mesh)];
  const Choice& choice = space_.choice(step.task, to);
  if (choice.planned.engine.own_weights && space_.ground->job.workflow.tasks[step.task].kind == TaskKind::generate) {
    const RefitTicks& refit = space_.refits[step.task][space_.shapes[static_cast<std::size_t>(to.mesh)]];
    return cluster::overlap(mesh, space_.meshes[static_cast<std::size_t>(picks[step.train].mesh)]) ? refit.same : refit.apart;
  }
  const cluster::Mesh& from = space_.meshes[static_cast<std::size_t>(picks[step.train].mesh)];
  const cluster::Cluster& cluster = space_.ground->job.cluster;
  const cluster::Mesh hull = cluster::hull_of(from, mesh);
  const cluster::Links links = cluster::links_of(cluster, hull, space_.ground->software.efficiency.links);
  const bool inside = cluster::nodes_of(cluster, hull) == 1;
  const auto bytes = static_cast<double>(choice.stored.weights);
  return base::Ticks(std::llround(bytes / (inside ? links.inside : links.between).bandwidth * 1e9));
}

void Trial::prepare(const Picks& picks, const Sharing& sharing) {
  const std::size_t steps = sharing.graph.steps.size();
  meshes_.assign(steps, {});
  durations_.resize(steps);
  for (std::size_t index = 0; index < steps; ++index) {
    const plan::Step& step = sharing.graph.steps[index];
    if (step.kind == plan::Step::Kind::reallocation) {
      meshes_[index] = {space_.meshes[static_cast<std::size_t>(picks[step.train].mesh)], {}};
      if (picks[step.train].mesh != picks[step.task].mesh)
        meshes_[index][1] = space_.meshes[static_cast<std::size_t>(picks[step.task].mesh)];
      durations_[index] = reallocation_ticks(picks, step);
    } else if (space_.is_rule(step.task)) {
      durations_[index] = space_.rules[step.task];
    } else {
      meshes_[index][0] = space_.meshes[static_cast<std::size_t>(picks[step.task].mesh)];
      durations_[index] = space_.choice(step.task, picks[step.task]).duration;
    }
  }
  plan::find_blocks(meshes_, blocks_);
}

bool Trial::is_on(const Picks& picks, std::size_t task, std::size_t block) const {
  const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(picks[task].mesh)];
  const int first = blocks_.borders[block];
  return mesh.first <= first && first < mesh.first + mesh.count;
}

/// As place::task_memory accounts for it.
std::int64_t Trial::excess_of_block(const Picks& picks, const Sharing& sharing, std::size_t block) const {
  const auto& tasks = space_.ground->job.workflow.tasks;
  const cluster::Cluster& cluster = space_.ground->job.cluster;
  std::int64_t idle = 0;
  std::int64_t idle_in_engines = 0;
  std::int64_t host = 0;
  const auto idle_of = [&](const Copy& copy) {
    const bool away = std::all_of(copy.tasks.begin(), copy.tasks.end(),
                                  [&](std::size_t task) { return space_.choice(task, picks[task]).planned.offload.weights; });
    const Choice& owner = space_.choice(copy.owner, picks[copy.owner]);
    return kept_bytes(owner, copy.trained ? owner.planned.offload.weights : away);
  };
  const int first = blocks_.borders[block];
  const auto node = cluster::node_of(cluster, base::DeviceId(first));
  for (const Copy& copy : sharing.copies) {
    if (!is_on(picks, copy.owner, block)) continue;
    idle += idle_of(copy);
    if (copy.engine) idle_in_engines += idle_of(copy);
    const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(picks[copy.owner].mesh)];
    host += space_.choice(copy.owner, picks[copy.owner]).away * std::min(mesh.count, cluster::devices_of(cluster, node));
  }
  std::int64_t most = 0;
  for (std::size_t task = 0; task < picks.size(); ++task) {
    if (space_.is_rule(task) || !is_on(picks, task, block)) continue;
    const Copy& copy = sharing.copies[sharing.copy_of[task]];
    const Choice& owner = space_.choice(copy.owner, picks[copy.owner]);
    const std::int64_t others = idle - idle_of(copy);
    std::int64_t needed = space_.choice(task, picks[task]).working + others;
    if (tasks[task].kind == TaskKind::train)
      needed += reserved_beyond(*space_.ground, others - idle_in_engines);
    else
      needed += kept_bytes(owner, true);
    if (tasks[task].kind == TaskKind::infer) needed += owner.stored.weights;
    most = std::max(most, needed);
  }
  const std::int64_t host_memory = cluster.groups[cluster::group_of(cluster, node)].host_memory;
  return std::max({std::int64_t{0}, most - usable_memory(cluster, first, blocks_.borders[block + 1]), host - host_memory});
}

Score Trial::score(const Picks& picks) {
  Sharing& sharing = sharing_of(picks);
  prepare(picks, sharing);
  Score score;
  score.period = sharing.timer.period(blocks_, durations_);
  for (std::size_t block = 0; block + 1 < blocks_.borders.size(); ++block)
    score.excess = std::max(score.excess, excess_of_block(picks, sharing, block));
  return score;
}

}  // namespace dovetail::place
