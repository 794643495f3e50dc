#include "planner/advice/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plan/pin_fault.h"
#include "planner/advice/changes.h"

namespace dovetail::planner {
namespace {

constexpr int most_times = 64;
constexpr int most_devices = 8192;

/// The meshes that named placements have: such as begin or end where the cluster does, and those that are pinned.
std::vector<cluster::Mesh> outer_meshes(const plan::Job& job) {
  std::vector<cluster::Mesh> meshes = search_meshes(job);
  const int devices = cluster::device_count(job.cluster);
  std::erase_if(meshes, [&](const cluster::Mesh& mesh) {
    const bool pinned = std::any_of(job.fixed.begin(), job.fixed.end(), [&](const plan::TaskPin& pin) { return pin.mesh == mesh; });
    return mesh.first != 0 && mesh.first + mesh.count != devices && !pinned;
  });
  return meshes;
}

/// Of a ranking of no plans at all.
std::string none_can_be_had(const Ranking& ranking) {
  std::string text = "none of the placements that may be looked at can be had on this cluster";
  for (const AbsentPlacement& absent : ranking.absent) text += fmt::format("; {} {}", name_of(absent.placement), absent.why);
  return text;
}

/// Whether descent may start from a placement: what it ends in is one of the search's then.
bool may_start_from(const RankOptions& options, Placement placement) {
  const auto has = [&](Placement one) {
    return std::find(options.placements.begin(), options.placements.end(), one) != options.placements.end();
  };
  return options.placements.empty() || has(placement) || has(Placement::searched);
}

/// The starts of the named placements.
std::vector<std::pair<Placement, Picks>> starts_of(const SearchSpace& space, const RankOptions& options) {
  std::vector<std::pair<Placement, Picks>> starts;
  for (const Placement placement : named_placements) {
    if (!may_start_from(options, placement)) continue;
    for (Picks& picks : picks_of(space, placement)) starts.emplace_back(placement, std::move(picks));
  }
  return starts;
}

RankedPlan ranked_plan(const SearchSpace& space, const std::pair<Placement, Picks>& of) {
  RankedPlan ranked{of.first, plan_of(space, of.second, std::string(name_of(of.first))), {}};
  ranked.estimate = predict::estimate(*space.ground, ranked.plan);
  return ranked;
}

std::int64_t least_margin(const RankedPlan& ranked) {
  const std::vector<predict::TaskMemory>& memory = ranked.estimate.memory;
  return memory[fullest_task(memory)].margin();
}

/// The fastest plan that descent finds to fit on the meshes of the named placements.
std::optional<RankedPlan> fitting_plan(const predict::Ground& ground, const RankOptions& options) {
  const SearchSpace space = make_search_space(ground, outer_meshes(ground.job), {options.means}, options.search.threads);
  if (impossible_task(space)) return std::nullopt;
  Trial trial(space);
  std::optional<RankedPlan> fastest;
  for (auto& start : starts_of(space, options)) {
    if (ground.is_stopped()) break;
    // What the descent to the least cost left, where that fits; else whatever does.
    if (trial.score(start.second).excess > 0 && improve_choices(space, trial, start.second, Aim::excess).excess > 0) continue;
    RankedPlan ranked = ranked_plan(space, start);
    if (ranked.estimate.keeps_margin() && (!fastest || ranked.estimate.iteration_seconds < fastest->estimate.iteration_seconds))
      fastest = std::move(ranked);
  }
  return fastest;
}

/// The same job on another cluster.
plan::Job on_cluster(const plan::Job& job, cluster::Cluster cluster) {
  plan::Job other = job;
  other.cluster = std::move(cluster);
  return other;
}

/// Tries clusters of one kind, each with the software of the job.
class ClusterTrial {
 public:
  ClusterTrial(const predict::Ground& ground, const RankOptions& options) : ground_(ground), options_(options) {}

  /// Whether a plan fits on it; if so it is the smallest so far.
  bool fits(const cluster::Cluster& cluster) {
    const plan::Job job = on_cluster(ground_.job, cluster);
    if (is_stopped() || !has_what_is_fixed(job)) return false;
    const predict::Ground ground = predict::ground_of(job, ground_.software, ground_.cancellation);
    auto ranked = fitting_plan(ground, options_);
    if (!ranked) return false;
    smallest_ = FittingCluster{cluster, std::move(*ranked)};
    return true;
  }

  /// What did not fit may then not have been looked at.
  bool is_stopped() const { return ground_.is_stopped(); }

  std::optional<FittingCluster> take() { return std::move(smallest_); }

 private:
  const predict::Ground& ground_;
  const RankOptions& options_;
  std::optional<FittingCluster> smallest_;
};

/// The first node with fewer devices, the fewest first.
std::vector<cluster::Cluster> parts_of_node(const cluster::Cluster& cluster) {
  const cluster::Cluster node = with_nodes(cluster, 1);
  const int devices = node.groups.front().devices_per_node;
  std::vector<cluster::Cluster> parts;
  for (int count = 1; count < devices; ++count) {
    if ((count & (count - 1)) != 0 && devices % count != 0) continue;
    parts.push_back(node);
    parts.back().groups.front().devices_per_node = count;
  }
  return parts;
}

GrownLengths grown(const predict::Ground& ground, const plan::Plan& plan, std::optional<std::int64_t> length) {
  plan::Job job = ground.job;
  const double mean = job.workload.response_length.mean();
  if (length) job.workload.response_length = workflow::LengthDistribution::fixed(*length);
  const predict::Estimate estimate = predict::estimate(predict::ground_of(job, ground.software), plan);
  GrownLengths row{length, length ? static_cast<double>(*length) / mean : 1, estimate.fit(), 0, 0, estimate.iteration_seconds};
  bool first = true;
  for (std::size_t task = 0; task < estimate.memory.size(); ++task) {
    const predict::TaskMemory& memory = estimate.memory[task];
    if (memory.usable == 0) continue;
    const std::int64_t margin =
        memory.host > memory.host_memory ? std::min(memory.margin(), memory.host_memory - memory.host) : memory.margin();
    if (!first && margin >= row.margin) continue;
    first = false;
    row.task = task;
    row.margin = margin;
  }
  return row;
}

}  // namespace

predict::Fit JobFit::fit() const {
  if (fastest() != nullptr) return predict::Fit::fits;
  return ranking.nearest ? ranking.nearest->fit : predict::Fit::does_not_fit;
}

std::vector<GrownLengths> grow_lengths(const predict::Ground& ground, const plan::Plan& plan) {
  const workflow::LengthDistribution& lengths = ground.job.workload.response_length;
  const std::int64_t longest = lengths.longest();
  std::vector<GrownLengths> rows{grown(ground, plan, std::nullopt)};
  if (lengths.shortest() == longest) return rows;
  // 1.5, 2, 3, 4, 6, ...
  for (double factor = 1.5, next = 2; factor * lengths.mean() < static_cast<double>(longest); factor = std::exchange(next, 2 * factor))
    rows.push_back(grown(ground, plan, std::llround(factor * lengths.mean())));
  rows.push_back(grown(ground, plan, longest));
  return rows;
}

std::optional<RankedPlan> roomiest_plan(const predict::Ground& ground, const RankOptions& options) {
  SearchSpace space = make_search_space(ground, search_meshes(ground.job), {options.means}, options.search.threads);
  if (impossible_task(space)) return std::nullopt;
  std::vector<std::pair<Placement, Picks>> starts = starts_of(space, options);
  // With all but a byte of the smallest device taken, what is missing is what is needed.
  plan::Job job = ground.job;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const cluster::NodeGroup& group : job.cluster.groups) smallest = std::min(smallest, group.gpu.usable_memory);
  for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.usable_memory -= smallest - 1;
  job.limits.margin = plan::MinMargin{};
  const predict::Ground scarce = predict::ground_of(job, ground.software, ground.cancellation);
  std::optional<RankedPlan> roomiest;
  for (auto& start : starts) {
    if (ground.is_stopped()) break;
    space.ground = &scarce;
    Trial trial(space);
    improve_choices(space, trial, start.second, Aim::excess);
    space.ground = &ground;
    RankedPlan ranked = ranked_plan(space, start);
    if (ranked.estimate.keeps_margin() && (!roomiest || least_margin(ranked) > least_margin(*roomiest))) roomiest = std::move(ranked);
  }
  return roomiest;
}

bool has_what_is_fixed(const plan::Job& job) {
  for (std::size_t task = 0; task < job.fixed.size(); ++task)
    if (job.workflow.role_of[task] && plan::find_fault(job.fixed[task], plan::model_of(job, workflow::TaskId(task)), job.cluster))
      return false;
  return true;
}

cluster::Cluster with_nodes(const cluster::Cluster& cluster, int nodes) {
  cluster::Cluster other = cluster;
  other.groups.clear();
  for (const cluster::NodeGroup& group : cluster.groups) {
    if (nodes <= 0) break;
    other.groups.push_back(group);
    other.groups.back().nodes = std::min(nodes, group.nodes);
    nodes -= other.groups.back().nodes;
  }
  other.groups.back().nodes += std::max(0, nodes);
  return other;
}

std::optional<FittingCluster> smallest_cluster(const predict::Ground& ground, const RankOptions& options) {
  const cluster::Cluster& cluster = ground.job.cluster;
  ClusterTrial trial(ground, options);
  const int own = cluster::node_count(cluster);
  int enough = own;
  int short_of = 0;  // so many nodes are too few
  const auto fits = [&](int nodes) { return trial.fits(with_nodes(cluster, nodes)); };
  while (!fits(enough)) {
    short_of = enough;
    enough *= 2;
    if (trial.is_stopped() || enough > own * most_times || cluster::device_count(with_nodes(cluster, enough)) > most_devices)
      return std::nullopt;
  }
  while (enough - short_of > 1 && !trial.is_stopped()) {
    const int middle = short_of + (enough - short_of) / 2;
    (fits(middle) ? enough : short_of) = middle;
  }
  if (enough > 1) return trial.take();
  for (const cluster::Cluster& part : parts_of_node(cluster))
    if (trial.fits(part)) break;
  return trial.take();
}

base::Result<JobFit> fit_job(const predict::Ground& given, const RankOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.search.time_limit_seconds);
  const predict::Ground ground = predict::stopped_by(given, limit);
  JobFit fit;
  const RankOptions half = with_share_of_time(options, ground, 2);
  const parallel::Cancellation in_half(&limit, half.search.time_limit_seconds);
  auto ranking = rank_plans(predict::stopped_by(ground, in_half), half);
  if (ranking.ok())
    fit.ranking = std::move(ranking).value();
  else if (ranking.error().failure == base::Failure::infeasible && !in_half.requested())
    fit.impossible = ranking.error().message;
  else
    return ranking.error();
  if (fit.impossible.empty() && fit.fastest() == nullptr && !fit.ranking.nearest) fit.impossible = none_can_be_had(fit.ranking);
  if (fit.fastest() != nullptr) fit.roomiest = roomiest_plan(ground, options);
  fit.smallest = smallest_cluster(ground, options);
  // The search may find what descent does not.
  if (const RankedPlan* fastest = fit.fastest();
      fastest != nullptr && (!fit.smallest || cluster::device_count(fit.smallest->cluster) > cluster::device_count(ground.job.cluster)))
    fit.smallest = FittingCluster{ground.job.cluster, *fastest};
  if (!fit.ranking.cut_short) fit.ranking.cut_short = limit.ended_by();
  for (const RankedPlan& ranked : fit.ranking.plans)
    if (!fit.roomiest || least_margin(ranked) > least_margin(*fit.roomiest)) fit.roomiest = ranked;
  return fit;
}

}  // namespace dovetail::planner
