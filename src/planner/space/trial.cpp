#include "planner/space/trial.h"

#include <algorithm>
#include <cmath>

#include "cluster/collective.h"
#include "plan/framework.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/weight_copies.h"

namespace dovetail::planner {

base::Ticks ReallocationTable::ticks(const Selection& selection, const plan::Activity& activity) {
  const SelectedChoice from = selection[activity.train];
  const SelectedChoice to = selection[activity.task];
  const auto role = static_cast<std::int32_t>(space_.scenario->job.workflow.role_of[activity.task]->index());
  const Key key{role, from.mesh, space_.weight_form(activity.train, from), to.mesh,
                space_.weight_form(activity.task, to)};
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) {
    plan::Plan plan;
    plan.tasks.resize(selection.size());
    for (const std::size_t task : {activity.train, activity.task})
      plan.tasks[task] = task_plan_of(space_, task, selection[task]);
    known->second = base::ticks_of_seconds(predict::activity_seconds(*space_.scenario, plan, activity).seconds);
  }
  return known->second;
}

namespace {

using workflow::TaskKind;

constexpr unsigned link_cache_bits = 8;
constexpr std::size_t remembered_links = std::size_t{1} << link_cache_bits;

/// Returns the memory limit of each group of nodes.
std::vector<NodeGroupLimit> group_limits(const predict::Scenario& scenario) {
  std::vector<NodeGroupLimit> limits;
  int device = 0;
  for (const cluster::NodeGroup& group : scenario.job.cluster.groups) {
    const int end = device + group.nodes * group.devices_per_node;
    limits.push_back({device, end, predict::plan_memory(scenario, group.gpu)});
    device = end;
  }
  return limits;
}

}  // namespace

/// The tasks of each role that share weights, and the fusions. All plans with equal values have the same graph.
struct Trial::Sharing {
  /// [pair of tasks of a role, in the order of sharing_of], then the fused stage, then whether two trainings are fused
  std::vector<int> alike;
  plan::IterationGraph graph;
  plan::IterationTimer timer;
  std::vector<predict::WeightCopy> copies;
  std::vector<std::size_t> copy_of;  ///< [task]
};

/// Bytes that stay on each device of a block between tasks.
struct Trial::BlockBytes {
  std::int64_t idle = 0;
  std::int64_t idle_in_engines = 0;
};

double Score::cost(std::int64_t usable) const {
  const double seconds = base::seconds_of_ticks(period);
  return excess == 0 ? seconds : seconds * (1.5 + 3 * static_cast<double>(excess) / static_cast<double>(usable));
}

Trial::Trial(const SearchSpace& space)
    : space_(space),
      limits_(group_limits(*space.scenario)),
      own_tables_(std::make_unique<FusionTables>(space)),
      fused_(*own_tables_),
      links_(remembered_links),
      reallocations_(space) {}
Trial::Trial(const SearchSpace& space, FusionTables& tables)
    : space_(space),
      limits_(group_limits(*space.scenario)),
      fused_(tables),
      links_(remembered_links),
      reallocations_(space) {}
Trial::~Trial() = default;

namespace {

bool has_own_weights(const SearchSpace& space, std::size_t task, SelectedChoice selected) {
  return space.scenario->job.workflow.tasks[task].kind == TaskKind::generate &&
         space.choice(task, selected).planned.engine.own_weights;
}

bool are_alike(const SearchSpace& space, const Selection& selection, std::size_t a, std::size_t b) {
  return selection[a].mesh == selection[b].mesh &&
         space.weight_form(a, selection[a]) == space.weight_form(b, selection[b]) &&
         has_own_weights(space, a, selection[a]) == has_own_weights(space, b, selection[b]);
}

std::vector<predict::WeightCopy> copies_of(const SearchSpace& space, const Selection& selection) {
  return predict::weight_copies(
      space.scenario->job.workflow, [&](std::size_t a, std::size_t b) { return are_alike(space, selection, a, b); },
      [&](std::size_t task) { return has_own_weights(space, task, selection[task]); });
}

}  // namespace

Trial::Sharing& Trial::sharing_of(const Selection& selection) {
  const workflow::Workflow& workflow = space_.scenario->job.workflow;
  alike_.clear();
  for (std::size_t a = 0; a < selection.size(); ++a)
    for (std::size_t b = a + 1; b < selection.size(); ++b)
      if (!space_.is_rule(a) && !space_.is_rule(b) && workflow.role_of[a] == workflow.role_of[b])
        alike_.push_back(are_alike(space_, selection, a, b) ? 1 : 0);
  alike_.push_back(generation_ ? static_cast<int>(generation_->number) + 1 : 0);
  alike_.push_back(training_ != nullptr ? 1 : 0);
  if (last_ != nullptr && last_->alike == alike_) return *last_;
  for (const auto& sharing : sharings_)
    if (sharing->alike == alike_) return *(last_ = sharing.get());
  plan::IterationGraph graph = plan::iteration_graph(space_.scenario->job, plan_of(space_, selection, ""));
  plan::add_order(graph, plan::order_of(space_.scenario->job));
  if (generation_) plan::put_within(graph, generation_->stage->generate, generation_->stage->infer);
  if (training_ != nullptr) plan::put_within(graph, (*fused_.pair())[0], {(*fused_.pair())[1]});
  plan::IterationTimer timer(graph);
  sharings_.push_back(
      std::make_unique<Sharing>(Sharing{alike_, std::move(graph), std::move(timer), copies_of(space_, selection),
                                        std::vector<std::size_t>(selection.size())}));
  Sharing& made = *sharings_.back();
  for (std::size_t copy = 0; copy < made.copies.size(); ++copy)
    for (const std::size_t task : made.copies[copy].tasks) made.copy_of[task] = copy;
  return *(last_ = &made);
}

double Trial::slowest_bandwidth(const cluster::Mesh& from, const cluster::Mesh& to) {
  const cluster::Mesh hull = cluster::hull_of(from, to);
  const std::uint64_t key = (static_cast<std::uint64_t>(hull.first) << 32U) | static_cast<std::uint64_t>(hull.count);
  KnownLink& known = links_[(key * 0x9E3779B97F4A7C15U) >> (64U - link_cache_bits)];
  if (known.bandwidth > 0 && known.hull == hull) return known.bandwidth;
  const cluster::Cluster& cluster = space_.scenario->job.cluster;
  const cluster::Links links = cluster::links_of(cluster, hull, space_.scenario->software.efficiency.links);
  const bool inside = cluster::nodes_of(cluster, hull) == 1;
  known = {hull, (inside ? links.inside : links.between).bandwidth};
  return known.bandwidth;
}

/// Returns the duration of a reallocation. Unless it is exact or goes into an engine, it is the time to receive the
/// weights over the slowest link at full speed.
base::Ticks Trial::reallocation_ticks(const Selection& selection, const plan::Activity& activity) {
  const SelectedChoice to = selection[activity.task];
  const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(to.mesh)];
  const Choice& choice = space_.choice(activity.task, to);
  if (choice.planned.engine.own_weights &&
      space_.scenario->job.workflow.tasks[activity.task].kind == TaskKind::generate) {
    const WeightSyncTicks& sync = space_.weight_syncs[activity.task][space_.shapes[static_cast<std::size_t>(to.mesh)]];
    return cluster::overlap(mesh, space_.meshes[static_cast<std::size_t>(selection[activity.train].mesh)]) ? sync.same
                                                                                                           : sync.apart;
  }
  if (exact_reallocations_) return reallocations_.ticks(selection, activity);
  const cluster::Mesh& from = space_.meshes[static_cast<std::size_t>(selection[activity.train].mesh)];
  const auto bytes = static_cast<double>(choice.held.stored.weights);
  return base::ticks_of_seconds(bytes / slowest_bandwidth(from, mesh));
}

base::Ticks Trial::task_ticks(const Selection& selection, std::size_t task) const {
  if (space_.is_rule(task)) return space_.rules[task];
  if (generation_ && task == generation_->stage->generate) return generation_->duration;
  if (training_ != nullptr && task == (*fused_.pair())[0]) return training_->duration;
  return space_.choice(task, selection[task]).duration;
}

void Trial::prepare(const Selection& selection, const Sharing& sharing) {
  const std::size_t activities = sharing.graph.activities.size();
  meshes_.assign(activities, {});
  durations_.resize(activities);
  for (std::size_t index = 0; index < activities; ++index) {
    const plan::Activity& activity = sharing.graph.activities[index];
    if (activity.within) {
      durations_[index] = base::Ticks(0);
    } else if (activity.kind == plan::Activity::Kind::reallocation) {
      meshes_[index] = {space_.meshes[static_cast<std::size_t>(selection[activity.train].mesh)], {}};
      if (selection[activity.train].mesh != selection[activity.task].mesh)
        meshes_[index][1] = space_.meshes[static_cast<std::size_t>(selection[activity.task].mesh)];
      durations_[index] = reallocation_ticks(selection, activity);
    } else {
      durations_[index] = task_ticks(selection, activity.task);
      if (!space_.is_rule(activity.task))
        meshes_[index][0] = space_.meshes[static_cast<std::size_t>(selection[activity.task].mesh)];
    }
  }
}

/// Returns the work of the busiest device in an iteration. Only the first device of each mesh needs to be checked,
/// because the work of a device changes only where a mesh begins or ends.
base::Ticks Trial::busiest() const {
  base::Ticks most;
  int last = -1;
  for (const auto& of_activity : meshes_)
    for (const cluster::Mesh& candidate : of_activity) {
      if (candidate.count == 0 || candidate.first == last) continue;
      last = candidate.first;
      base::Ticks work;
      const auto is_there = [last](const cluster::Mesh& mesh) {
        return mesh.first <= last && last < mesh.first + mesh.count;
      };
      for (std::size_t activity = 0; activity < meshes_.size(); ++activity)
        if (is_there(meshes_[activity][0]) || is_there(meshes_[activity][1])) work += durations_[activity];
      most = std::max(most, work);
    }
  return most;
}

bool Trial::is_on(const Selection& selection, std::size_t task, std::size_t block) const {
  const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(selection[task].mesh)];
  const int first = blocks_.boundaries[block];
  return mesh.first <= first && first < mesh.first + mesh.count;
}

void Trial::count_copies(const Selection& selection, const Sharing& sharing) {
  copies_.clear();
  for (const predict::WeightCopy& copy : sharing.copies) {
    predict::HeldBytes held = space_.choice(copy.owner, selection[copy.owner]).held;
    held.offload.weights = predict::weights_leave(
        copy, [&](std::size_t task) { return space_.choice(task, selection[task]).planned.offload.weights; });
    CopyBytes& bytes = copies_.emplace_back();
    bytes.idle = predict::on_device(held, predict::CopyUse::idle).sum();
    bytes.inference = predict::on_device(held, predict::CopyUse::inference).sum();
    bytes.generation = predict::on_device(held, predict::CopyUse::generation).sum();
    const bool discards = predict::discards_weights(copy, space_.scenario->job);
    bytes.host_idle = predict::on_host(held, discards, predict::CopyUse::idle);
    bytes.host_used = predict::on_host(held, discards, predict::CopyUse::inference);
    bytes.host_trained = predict::on_host(held, discards, predict::CopyUse::training);
    bytes.returning = copy.trained && held.offload.weights ? held.stored.weights : 0;
  }
}

/// Returns the bytes that arrive for a task that uses newly trained weights. Includes trained weights that return to
/// the device before they are sent.
std::int64_t Trial::arriving_for(const Selection& selection, const Sharing& sharing, std::size_t task,
                                 std::size_t block) const {
  const plan::Job& job = space_.scenario->job;
  const predict::WeightCopy& to = sharing.copies[sharing.copy_of[task]];
  const std::size_t role = job.workflow.role_of[task]->index();
  if (!predict::receives(to, job.workflow)) return 0;
  std::int64_t bytes = space_.choice(to.owner, selection[to.owner]).held.stored.weights +
                       predict::bytes_in_transit(*space_.scenario, role, to.engine);
  for (std::size_t copy = 0; copy < sharing.copies.size(); ++copy)
    if (sharing.copies[copy].trained && job.workflow.role_of[sharing.copies[copy].owner]->index() == role &&
        is_on(selection, sharing.copies[copy].owner, block))
      bytes += copies_[copy].returning;
  return bytes;
}

/// Returns the task that is trained in one schedule with `task`.
std::optional<std::size_t> Trial::partner_of(std::size_t task) const {
  return training_ != nullptr ? plan::partner_of(*fused_.pair(), task) : std::nullopt;
}

/// Returns the bytes needed on each device of the block while the task runs, including other copies there.
std::int64_t Trial::needed_by(const Selection& selection, const Sharing& sharing, std::size_t task, std::size_t block,
                              const BlockBytes& there) const {
  const CopyBytes& own = copies_[sharing.copy_of[task]];
  const TaskKind kind = space_.scenario->job.workflow.tasks[task].kind;
  const auto partner = partner_of(task);
  const std::int64_t others = there.idle - own.idle - (partner ? copies_[sharing.copy_of[*partner]].idle : 0);
  std::int64_t needed = (partner ? training_->working : space_.choice(task, selection[task]).working) + others;
  if (kind == TaskKind::train) needed += predict::reserved_beyond(*space_.scenario, others - there.idle_in_engines);
  if (kind == TaskKind::infer) needed += own.inference;
  if (kind == TaskKind::generate) needed += own.generation;
  const std::int64_t arriving = arriving_for(selection, sharing, task, block);
  return std::max(needed, arriving > 0 ? arriving + others : 0);
}

/// Returns the bytes missing in a node's host memory while tasks of the block run. Negative if none are missing.
std::int64_t Trial::host_excess(const Selection& selection, const Sharing& sharing, std::size_t block,
                                cluster::NodeId node) const {
  const cluster::Cluster& cluster = space_.scenario->job.cluster;
  const int begin = cluster::first_device(cluster, node).value;
  const int end = begin + cluster::devices_of(cluster, node);
  const auto on_node = [&](const predict::WeightCopy& copy) {
    const cluster::Mesh& mesh = space_.meshes[static_cast<std::size_t>(selection[copy.owner].mesh)];
    return std::max(0, std::min(mesh.first + mesh.count, end) - std::max(mesh.first, begin));
  };
  std::int64_t idle = 0;
  for (std::size_t copy = 0; copy < copies_.size(); ++copy)
    idle += copies_[copy].host_idle * on_node(sharing.copies[copy]);
  std::int64_t most = 0;
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space_.is_rule(task) || !is_on(selection, task, block)) continue;
    const bool trains = space_.scenario->job.workflow.tasks[task].kind == TaskKind::train;
    const auto changed = [&](std::size_t used) {
      const CopyBytes& own = copies_[sharing.copy_of[used]];
      return ((trains ? own.host_trained : own.host_used) - own.host_idle) *
             on_node(sharing.copies[sharing.copy_of[used]]);
    };
    const auto partner = partner_of(task);
    most = std::max(most, idle + changed(task) + (partner ? changed(*partner) : 0));
  }
  return most - cluster.groups[cluster::group_of(cluster, node)].host_memory;
}

/// Follows the accounting of predict::task_memory.
std::int64_t Trial::excess_of_block(const Selection& selection, const Sharing& sharing, std::size_t block) const {
  BlockBytes there;
  for (std::size_t copy = 0; copy < copies_.size(); ++copy) {
    if (!is_on(selection, sharing.copies[copy].owner, block)) continue;
    there.idle += copies_[copy].idle;
    if (sharing.copies[copy].engine) there.idle_in_engines += copies_[copy].idle;
  }
  std::int64_t most = 0;
  for (std::size_t task = 0; task < selection.size(); ++task)
    if (!space_.is_rule(task) && is_on(selection, task, block))
      most = std::max(most, needed_by(selection, sharing, task, block, there));
  // Within a block, nodes of one group are equal, and so are their devices.
  std::int64_t excess = 0;
  for (const NodeGroupLimit& limit : limits_) {
    const int first = std::max(blocks_.boundaries[block], limit.first);
    if (first >= std::min(blocks_.boundaries[block + 1], limit.end)) continue;
    const cluster::NodeId node = cluster::node_of(space_.scenario->job.cluster, base::DeviceId(first));
    excess = std::max({excess, most - limit.usable, host_excess(selection, sharing, block, node)});
  }
  return excess;
}

/// Returns the score with the work of the busiest device as its period, for the current fusions.
Score Trial::work_score(const Selection& selection) {
  prepare(selection, sharing_of(selection));
  return {busiest(), 0, {generation_.has_value(), training_ != nullptr}};
}

Score Trial::min_score(const Selection& selection, FusionSelection fusion) {
  const FusedActivities::MinGeneration least =
      fusion.generation ? fused_.min_generation(selection) : FusedActivities::MinGeneration{};
  generation_ = least.generation;
  exact_ = least.exact;
  training_ = fusion.training ? fused_.training(selection) : nullptr;
  return work_score(selection);
}

Score Trial::fused_score(const Selection& selection) {
  generation_ = fused_.generation(selection);
  exact_ = true;
  return work_score(selection);
}

std::int64_t Trial::excess(const Selection& selection) {
  plan::find_blocks(meshes_, blocks_);
  count_copies(selection, *last_);
  std::int64_t most = 0;
  for (std::size_t block = 0; block + 1 < blocks_.boundaries.size(); ++block)
    most = std::max(most, excess_of_block(selection, *last_, block));
  return most;
}

Score Trial::exact_score(const Selection& selection, FusionSelection fusion) {
  exact_reallocations_ = true;
  Score exact = score(selection, fusion);
  exact_reallocations_ = false;
  if (!space_.scenario->job.software.prefetch) return exact;
  const plan::Plan plan = fused_.fused_plan(selection, exact.fused);
  const predict::KnownParts known{.training = training_ != nullptr ? &training_->at_least : nullptr};
  exact.period = predict::timed_iteration(*space_.scenario, plan, {}, known).timing.period;
  return exact;
}

base::Ticks Trial::period() {
  if (generation_) last_->timer.release(last_->graph, generation_->stage->generate, generation_->rest);
  return last_->timer.period(blocks_, durations_);
}

}  // namespace dovetail::planner
