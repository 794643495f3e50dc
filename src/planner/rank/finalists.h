// The last steps of ranking: evaluates candidates for the best plan exactly, chooses their fusions with real schedules,
// and simulates them event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/rank/fusion_choice.h"
#include "planner/search/placements.h"

namespace dovetail::planner {

/// A selection that may be the best plan of its placement.
struct Finalist {
  Placement placement = Placement::searched;
  Selection selection;
};

/// A plan with its prediction.
struct RankedPlan {
  Placement placement = Placement::searched;  ///< family in which it was found
  plan::Plan plan;
  predict::Estimate estimate;
  /// Seconds of an iteration in predict::Simulator; nullopt if it was not simulated.
  std::optional<double> simulated = std::nullopt;
};

/// Returns the candidates that keep the margin, as plans without fusion, in the same order. Omits candidates that
/// repeat an earlier one of their placement. If stopped, includes at least the first candidate of each placement that
/// keeps the margin.
std::vector<RankedPlan> evaluate(const SearchSpace& space, const std::vector<Finalist>& candidates);

/// Sets the best fusion of each searched plan, or of all plans if the job requires a fusion. Drops plans that cannot
/// have a required fusion. Makes real schedules for at most `schedules` plans, those with the smallest lower bounds on
/// the iteration, and leaves the trainings of the other plans unfused. If the job requires fused trainings, makes
/// schedules for all plans. If stopped, the remaining plans stay as they are except for required fusions. `threads`
/// does not affect the result.
void fuse(const predict::Scenario& scenario, FusionChooser& chooser, std::vector<RankedPlan>& plans,
          std::size_t schedules, int threads);

/// Sorts the plans by the iteration time of the closed form, the fastest first.
void sort(std::vector<RankedPlan>& plans);

/// Removes searched plans that take almost the same time as a faster searched plan, then the slowest searched plans
/// until at most `shown` plans are left. Keeps the best searched plan and all plans of other placements. REQUIRES:
/// `plans` is sorted by sort().
void keep_different(std::vector<RankedPlan>& plans, std::size_t shown);

/// Removes searched plans with the same tasks and fusion as a plan of another placement or an earlier searched plan.
void drop_repeated(std::vector<RankedPlan>& plans);

/// Maximum number of samples that simulate_first simulates, over all plans.
inline constexpr std::int64_t max_simulated_samples = std::int64_t{1} << 20;

/// Returns how many of `max_plans` plans can be simulated within max_simulated_samples. 0 if that is only one of
/// several, which leaves nothing to compare.
std::size_t max_simulated_plans(const plan::Job& job, std::size_t max_plans);

/// Simulates the first plans and sorts them by simulated seconds. Simulates those whose time exceeds the first plan's
/// by at most a fraction `error`, up to max_simulated_plans(job, max_plans) of them. Draws lengths from `seed`. Plans
/// that cannot be simulated follow in their old order. If stopped, no plan counts as simulated, because the simulated
/// plans would precede better ones that were not simulated. `threads` does not affect the result. REQUIRES: `plans` is
/// sorted by sort().
void simulate_first(const predict::Scenario& scenario, std::vector<RankedPlan>& plans, std::size_t max_plans,
                    double error, std::uint64_t seed, int threads);

}  // namespace dovetail::planner
