#include "planner/advice/fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plan/pin.h"
#include "planner/advice/changes.h"

namespace dovetail::planner {
namespace {

constexpr int max_times = 64;
constexpr int max_devices = 8192;

/// Returns the meshes that named placements use: pinned ones, and those that start or end where the cluster does.
std::vector<cluster::Mesh> outer_meshes(const plan::Job& job) {
  std::vector<cluster::Mesh> meshes = search_meshes(job);
  const int devices = cluster::device_count(job.cluster);
  std::erase_if(meshes, [&](const cluster::Mesh& mesh) {
    const bool pinned =
        std::any_of(job.fixed.begin(), job.fixed.end(), [&](const plan::TaskPin& pin) { return pin.mesh == mesh; });
    return mesh.first != 0 && mesh.first + mesh.count != devices && !pinned;
  });
  return meshes;
}

/// Returns the error text for a ranking without any plan.
std::string no_placement_text(const Ranking& ranking) {
  std::string text = "none of the requested placements is possible on this cluster";
  for (const AbsentPlacement& absent : ranking.absent)
    text += fmt::format("; {} {}", name_of(absent.placement), absent.why);
  return text;
}

/// Returns whether descent may start from a placement. If the search is requested, all placements are allowed.
bool may_start_from(const RankOptions& options, Placement placement) {
  const auto has = [&](Placement one) {
    return std::find(options.placements.begin(), options.placements.end(), one) != options.placements.end();
  };
  return options.placements.empty() || has(placement) || has(Placement::searched);
}

/// Returns the starts of the named placements.
std::vector<std::pair<Placement, Selection>> starts_of(const SearchSpace& space, const RankOptions& options) {
  std::vector<std::pair<Placement, Selection>> starts;
  for (const Placement placement : named_placements) {
    if (!may_start_from(options, placement)) continue;
    for (Selection& selection : selection_of(space, placement)) starts.emplace_back(placement, std::move(selection));
  }
  return starts;
}

RankedPlan ranked_plan(const SearchSpace& space, const std::pair<Placement, Selection>& of) {
  RankedPlan ranked{of.first, plan_of(space, of.second, std::string(name_of(of.first))), {}};
  ranked.estimate = predict::estimate(*space.scenario, ranked.plan);
  return ranked;
}

std::int64_t min_margin(const RankedPlan& ranked) {
  const std::vector<predict::TaskMemory>& memory = ranked.estimate.memory;
  return memory[min_margin_task(memory)].margin();
}

/// Returns the fastest plan that fits among the plans that descent finds on the meshes of the named placements.
std::optional<RankedPlan> fitting_plan(const predict::Scenario& scenario, const RankOptions& options) {
  const SearchSpace space =
      make_search_space(scenario, outer_meshes(scenario.job), {options.option_set}, options.search.threads);
  if (impossible_task(space)) return std::nullopt;
  Trial trial(space);
  std::optional<RankedPlan> fastest;
  for (auto& start : starts_of(space, options)) {
    if (scenario.is_stopped()) break;
    // If the result of descent by cost does not fit, continue with the aim of fitting.
    if (trial.score(start.second).excess > 0 &&
        improve_choices(space, trial, start.second, DescentObjective::excess).excess > 0)
      continue;
    RankedPlan ranked = ranked_plan(space, start);
    if (ranked.estimate.keeps_margin() &&
        (!fastest || ranked.estimate.iteration_seconds < fastest->estimate.iteration_seconds))
      fastest = std::move(ranked);
  }
  return fastest;
}

/// Returns the job on another cluster.
plan::Job on_cluster(const plan::Job& job, cluster::Cluster cluster) {
  plan::Job other = job;
  other.cluster = std::move(cluster);
  return other;
}

/// Tries clusters of one kind with the job's software.
class ClusterTrial {
 public:
  ClusterTrial(const predict::Scenario& scenario, const RankOptions& options)
      : scenario_(scenario), options_(options) {}

  /// Returns whether a plan fits on the cluster. If so, records the cluster as the smallest so far.
  bool fits(const cluster::Cluster& cluster) {
    const plan::Job job = on_cluster(scenario_.job, cluster);
    if (is_stopped() || !has_fixed_meshes(job)) return false;
    const predict::Scenario scenario = predict::scenario_of(job, scenario_.software, scenario_.cancellation);
    auto ranked = fitting_plan(scenario, options_);
    if (!ranked) return false;
    smallest_ = FittingCluster{cluster, std::move(*ranked)};
    return true;
  }

  /// If stopped, a cluster without a fitting plan may not have been evaluated.
  bool is_stopped() const { return scenario_.is_stopped(); }

  std::optional<FittingCluster> take() { return std::move(smallest_); }

 private:
  const predict::Scenario& scenario_;
  const RankOptions& options_;
  std::optional<FittingCluster> smallest_;
};

/// Returns clusters of one node with fewer devices, the fewest first.
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

GrownLengths grown(const predict::Scenario& scenario, const plan::Plan& plan, std::optional<std::int64_t> length) {
  plan::Job job = scenario.job;
  const double mean = job.workload.response_length.mean();
  if (length) workflow::set_responses(job.workload, workflow::LengthDistribution::fixed(*length));
  const predict::Estimate estimate =
      predict::estimate(predict::scenario_of(job, scenario.software, scenario.cancellation), plan);
  GrownLengths row{
      length, length ? static_cast<double>(*length) / mean : 1, estimate.fit(), 0, 0, estimate.iteration_seconds};
  bool first = true;
  for (std::size_t task = 0; task < estimate.memory.size(); ++task) {
    const predict::TaskMemory& memory = estimate.memory[task];
    if (memory.usable == 0) continue;
    const std::int64_t margin = memory.host > memory.host_memory
                                    ? std::min(memory.margin(), memory.host_memory - memory.host)
                                    : memory.margin();
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

std::vector<GrownLengths> grow_lengths(const predict::Scenario& scenario, const plan::Plan& plan) {
  const workflow::LengthDistribution& lengths = scenario.job.workload.response_length;
  const std::int64_t longest = lengths.longest();
  std::vector<GrownLengths> rows;
  const auto add = [&](std::optional<std::int64_t> length) {
    GrownLengths row = grown(scenario, plan, length);
    if (!scenario.is_stopped()) rows.push_back(row);
  };
  add(std::nullopt);
  if (lengths.shortest() == longest) return rows;
  // 1.5, 2, 3, 4, 6, ...
  for (double factor = 1.5, next = 2; std::llround(factor * lengths.mean()) < longest && !scenario.is_stopped();
       factor = std::exchange(next, 2 * factor))
    add(std::llround(factor * lengths.mean()));
  if (!scenario.is_stopped()) add(longest);
  return rows;
}

std::optional<RankedPlan> max_margin_plan(const predict::Scenario& scenario, const RankOptions& options) {
  SearchSpace space =
      make_search_space(scenario, search_meshes(scenario.job), {options.option_set}, options.search.threads);
  if (impossible_task(space)) return std::nullopt;
  std::vector<std::pair<Placement, Selection>> starts = starts_of(space, options);
  // Pretend that one byte of the smallest device is usable. The missing memory then equals the needed memory.
  plan::Job job = scenario.job;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const cluster::NodeGroup& group : job.cluster.groups) smallest = std::min(smallest, group.gpu.usable_memory);
  for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.usable_memory -= smallest - 1;
  job.limits.margin = plan::MinMargin{};
  const predict::Scenario scarce = predict::scenario_of(job, scenario.software, scenario.cancellation);
  std::optional<RankedPlan> max_margin;
  for (auto& start : starts) {
    if (scenario.is_stopped()) break;
    space.scenario = &scarce;
    Trial trial(space);
    improve_choices(space, trial, start.second, DescentObjective::excess);
    space.scenario = &scenario;
    RankedPlan ranked = ranked_plan(space, start);
    if (ranked.estimate.keeps_margin() && (!max_margin || min_margin(ranked) > min_margin(*max_margin)))
      max_margin = std::move(ranked);
  }
  return max_margin;
}

bool has_fixed_meshes(const plan::Job& job) {
  for (std::size_t task = 0; task < job.fixed.size(); ++task)
    if (job.workflow.role_of[task] &&
        plan::find_fault(job.fixed[task], plan::model_of(job, workflow::TaskId(task)), job.cluster))
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

std::optional<FittingCluster> min_cluster(const predict::Scenario& scenario, const RankOptions& options) {
  const cluster::Cluster& cluster = scenario.job.cluster;
  ClusterTrial trial(scenario, options);
  const int own = cluster::node_count(cluster);
  int enough = own;
  int short_of = 0;  // this number of nodes is too few
  const auto fits = [&](int nodes) { return trial.fits(with_nodes(cluster, nodes)); };
  while (!fits(enough)) {
    short_of = enough;
    enough *= 2;
    if (trial.is_stopped() || enough > own * max_times ||
        cluster::device_count(with_nodes(cluster, enough)) > max_devices)
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

base::Result<JobFit> fit_job(const predict::Scenario& given, const RankOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.search.time_limit_seconds);
  const predict::Scenario scenario = predict::stopped_by(given, limit);
  JobFit fit;
  const RankOptions half = with_share_of_time(options, scenario, 2);
  const parallel::Cancellation in_half(&limit, half.search.time_limit_seconds);
  auto ranking = rank_plans(predict::stopped_by(scenario, in_half), half);
  if (ranking.ok())
    fit.ranking = std::move(ranking).value();
  else if (ranking.error().failure == base::Failure::infeasible && !in_half.requested())
    fit.impossible = ranking.error().message;
  else
    return ranking.error();
  if (fit.impossible.empty() && fit.fastest() == nullptr && !fit.ranking.nearest)
    fit.impossible = no_placement_text(fit.ranking);
  if (fit.fastest() != nullptr) fit.max_margin = max_margin_plan(scenario, options);
  fit.smallest = min_cluster(scenario, options);
  // The search may find a plan that descent misses.
  if (const RankedPlan* fastest = fit.fastest();
      fastest != nullptr &&
      (!fit.smallest || cluster::device_count(fit.smallest->cluster) > cluster::device_count(scenario.job.cluster)))
    fit.smallest = FittingCluster{scenario.job.cluster, *fastest};
  if (!fit.ranking.cut_short) fit.ranking.cut_short = limit.ended_by();
  for (const RankedPlan& ranked : fit.ranking.plans)
    if (!fit.max_margin || min_margin(ranked) > min_margin(*fit.max_margin)) fit.max_margin = ranked;
  return fit;
}

}  // namespace dovetail::planner
