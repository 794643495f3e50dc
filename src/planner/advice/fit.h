// Whether a job fits, with what margin, how far its responses may grow, and on how few devices it runs: what `dovetail
// fit` answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/rank/rank.h"

namespace dovetail::planner {

/// What a plan holds and takes where all responses are as long, or where they are as the job says.
struct GrownLengths {
  std::optional<std::int64_t> length;  ///< tokens of every response; nothing: as the job says
  double factor = 1;                   ///< of the mean response
  predict::Fit fit = predict::Fit::does_not_fit;
  std::size_t task = 0;  ///< the one with the least left, or with the most missing
  std::int64_t margin =
      0;  ///< bytes that its device has left, or of host memory where that is what is missing; negative: missing
  double iteration_seconds = 0;
};

/// The plan with the job's lengths, then with every response at 1.5, 2, 3, 4, 6, ... times their mean, last at the
/// longest. Prompts stay as they are. Once the scenario is stopped, no more of them. REQUIRES: the plan has no fault.
std::vector<GrownLengths> grow_lengths(const predict::Scenario& scenario, const plan::Plan& plan);

/// A plan with the most memory left on its fullest device that descent finds from every named placement that may be
/// looked at (all, where the search may); nothing where none fits.
std::optional<RankedPlan> max_margin_plan(const predict::Scenario& scenario, const RankOptions& options);

/// A cluster of the same kind with a plan that fits on it.
struct FittingCluster {
  cluster::Cluster cluster;
  RankedPlan ranked;
};

/// The first so many nodes of a cluster; of more than it has, the last group gets more. REQUIRES: nodes >= 1.
cluster::Cluster with_nodes(const cluster::Cluster& cluster, int nodes);

/// Whether what the job fixes of its tasks can be had on its cluster (plan::find_fault of a pin).
bool has_what_is_fixed(const plan::Job& job);

/// The fewest nodes, and if one will do, the fewest devices of it, on which descent finds a plan that fits: by
/// bisection, as if what fits on some nodes did on more; what does not fit on the job's own is tried on up to 64 times
/// as many, or 8192 devices. Pins stay: of what they ask for, there must be enough. Nothing where no plan was found.
/// The smallest so far where it is stopped.
std::optional<FittingCluster> min_cluster(const predict::Scenario& scenario, const RankOptions& options);

struct JobFit {
  Ranking ranking;
  std::string impossible;                ///< why no plan at all can be had; empty: some was looked at
  std::optional<RankedPlan> max_margin;  ///< where one fits
  std::optional<FittingCluster> smallest;

  /// The fastest plan that fits, nothing where none does.
  const RankedPlan* fastest() const { return ranking.plans.empty() ? nullptr : &ranking.plans.front(); }
  /// Of the fastest plan; where none keeps the margin, of the nearest.
  predict::Fit fit() const;
};

/// Searches all of it, within the time limit of `options`. Where it is stopped, what was not looked at is missing, the
/// smallest cluster may be larger than it needs to be, and ranking.cut_short says so. Errors as rank_plans.
base::Result<JobFit> fit_job(const predict::Scenario& scenario, const RankOptions& options);

}  // namespace dovetail::planner
