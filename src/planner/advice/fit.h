// Whether a job fits and with what margin, how far its responses may grow, and how few devices it needs. Implements
// `dovetail fit`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/rank/rank.h"

namespace dovetail::planner {

/// Memory and time of a plan with the job's lengths, or with one length for all responses.
struct GrownLengths {
  std::optional<std::int64_t> length;  ///< tokens of every response; nullopt: the job's lengths
  double factor = 1;                   ///< `length` relative to the job's mean response length
  predict::Fit fit = predict::Fit::does_not_fit;
  std::size_t task = 0;  ///< task with the most memory missing or, if it fits, the least left
  /// Bytes left on the device of `task`. Negative: bytes missing there or in host memory, whichever is larger.
  std::int64_t margin = 0;
  double iteration_seconds = 0;
};

/// Evaluates the plan with the job's lengths, then with every response at 1.5, 2, 3, 4, 6, ... times the mean length,
/// and finally at the maximum length. If all responses have one length, evaluates only that. Prompts do not change.
/// Ends early if stopped. REQUIRES: the plan has no fault.
std::vector<GrownLengths> grow_lengths(const predict::Scenario& scenario, const plan::Plan& plan);

/// Returns the plan with the most memory left among those that coordinate descent finds from the requested placements,
/// or from all named ones if the search, or no placement, is requested. nullopt if none fits.
std::optional<RankedPlan> max_margin_plan(const predict::Scenario& scenario, const RankOptions& options);

/// A cluster like the job's, of any size, with a plan that fits on it.
struct FittingCluster {
  cluster::Cluster cluster;
  RankedPlan ranked;
};

/// Returns `cluster` with only its first `nodes` nodes. If it has fewer, nodes are added to its last group. REQUIRES:
/// nodes >= 1.
cluster::Cluster with_nodes(const cluster::Cluster& cluster, int nodes);

/// Returns whether all pins of the job are possible on its cluster (plan::find_fault of a pin).
bool has_fixed_meshes(const plan::Job& job);

/// Returns the smallest cluster on which coordinate descent finds a plan that fits. Bisects over the number of nodes,
/// assuming that a plan that fits on some nodes also fits on more. If one node is enough, tries fewer devices of it. If
/// the job's cluster is too small, tries larger ones, with at most 64 times its nodes and at most 8192 devices. Pins
/// still apply, so the cluster must have the devices they name. nullopt if no plan was found. If stopped, the result
/// may be larger than necessary.
std::optional<FittingCluster> min_cluster(const predict::Scenario& scenario, const RankOptions& options);

struct JobFit {
  Ranking ranking;
  std::string impossible;                  ///< why no plan is possible; empty if some plan is
  std::optional<RankedPlan> max_margin;    ///< plan with the most memory left; nullopt if none fits
  std::optional<FittingCluster> smallest;  ///< nullopt if no cluster was found

  /// Returns the fastest plan that fits. Null if none fits.
  const RankedPlan* fastest() const { return ranking.plans.empty() ? nullptr : &ranking.plans.front(); }
  /// Returns `fits` if a plan fits, otherwise the fit of ranking.nearest, or does_not_fit without a nearest plan.
  predict::Fit fit() const;
};

/// Runs all searches within the time limit of `options`. If stopped, the result is partial, the smallest cluster may be
/// larger than necessary, and ranking.cut_short is set. Errors as in rank_plans, except that JobFit::impossible reports
/// an infeasible job.
base::Result<JobFit> fit_job(const predict::Scenario& scenario, const RankOptions& options);

}  // namespace dovetail::planner
