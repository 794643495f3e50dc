// Trade-off between makespan and peak activation: the Pareto front of the schedules found, and the bounds proven for
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Returns the Pareto front of makespan and peak activation: schedules of `problem` by increasing makespan and
/// decreasing peak. No other schedule that was found matches or beats one of them in both.
///
/// The front begins with options.start and the constructions. Both ends are searched first, each with a quarter of the
/// iterations: minimum makespan, then minimum peak. Then up to sixteen searches for the minimum peak at a deadline get
/// a 32nd of the iterations each. Each deadline is in the largest interval between neighbors on the front in which a
/// peak below the left neighbor's may be possible. The size of an interval is its length times the difference of the
/// neighbors' peaks. Every search runs solve_auto: the ends from options.start, the others from the left neighbor of
/// the interval.
///
/// `options.iterations` and `time_limit_seconds` cover the whole front and are divided in the same proportions. If
/// `iterations` is absent, the first search that chooses a number determines the total. `objective`, `deadline` and
/// `robustness_percent` are ignored. `on_better` is called for each schedule that joins the front.
///
/// If a search used iterations, all schedules carry the record of the whole front: solver "pareto" with the iterations
/// that reproduce it, and the reason why the search stopped. The reason is `bound` if every search met its bounds and
/// no remaining interval can contain another schedule. If no schedule found fits, the result holds only the one with
/// the least excess.
std::vector<Solution> solve_pareto(const pipeline::Problem& problem, const SolveOptions& options);

/// Lower bounds for schedules that match or beat one schedule of the front in one of the two objectives.
struct PointBounds {
  base::Ticks makespan;  ///< lower bound for schedules with at most the same peak
  base::Memory peak;     ///< lower bound for schedules with at most the same makespan
};

/// Returns the best bounds for `solution` from these sources: `bounds` (of solution.problem), solution.proven_makespan
/// and solution.proven_peak, and peak_activation_bound and makespan_bound, each within the limits of `proof`. The
/// makespan bound also excludes deadlines for which peak_activation_bound without a search (work 0) proves a larger
/// peak.
PointBounds point_bounds(const Solution& solution, const Bounds& bounds, const BoundOptions& proof);

/// One step of a curve of lower bounds on the peak. Schedules that end before the makespan of the next step have a peak
/// of at least `peak`. For the last step, this holds up to the end of the curve.
struct PeakBoundStep {
  base::Ticks makespan;  ///< makespan at which the step begins
  base::Memory peak;
};

/// Returns lower bounds on the peak for makespans from `from` to `to` as a decreasing step function that starts at
/// `from`. Uses peak_activation_bound without a search (work 0). Between two makespans that are at most 1/`resolution`
/// of the range apart, uses the bound for the later one, which is weaker but valid.
std::vector<PeakBoundStep> peak_bound_curve(const pipeline::Problem& problem, base::Ticks from, base::Ticks to,
                                            int resolution);

/// Raises the curve with a known bound: schedules that end by `deadline` have a peak of at least `peak`. REQUIRES: the
/// curve has at least one step.
void raise_curve(std::vector<PeakBoundStep>& curve, base::Ticks deadline, base::Memory peak);

}  // namespace dovetail::fuse
